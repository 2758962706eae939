/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of heads, against cases worked out by hand.
 */
#include "support/check.h"

#include "records/head_statistics.h"

#include <math.h>

enum { QUERIES = 3, KEYS = 3 };

/* Two heads of one causal layer: the first looks at the token before, the second at all alike. */
static float causal[2 * QUERIES * KEYS] = {1, 0, 0, 1,    0,    0, 0,        1,        0,
                                           1, 0, 0, 0.5f, 0.5f, 0, 1 / 3.0f, 1 / 3.0f, 1 / 3.0f};
static int32_t causal_visible[QUERIES] = {1, 2, 3};
static const struct attention_weights causal_layer = {
    .layers = 1, .heads = 2, .queries = QUERIES, .keys = KEYS, .weights = causal, .visible = causal_visible};

static void test_numbers(void)
{
    struct head_numbers before = head_numbers_of(&causal_layer, 0, 0),
                        even = head_numbers_of(&causal_layer, 0, 1);
    CHECK_NEAR(before.entropy, 0, 0);
    CHECK_NEAR(before.normalised, 0, 0);
    CHECK_NEAR(before.distance, 2 / 3.0, 1e-12); /* 0, 1, 1 */
    CHECK_NEAR(even.entropy, (log(2) + log(3)) / 3, 1e-7);
    CHECK_NEAR(even.normalised, 1, 1e-7);                 /* of the two queries that have a choice */
    CHECK_NEAR(even.distance, (0 + 0.5 + 1.0) / 3, 1e-7); /* 0; 1/2; (2 + 1 + 0)/3 */
}

/* A second layer, of two queries and three keys that all see: read at its own place. */
static void test_layers(void)
{
    float weights[2 * 2 * 3] = {1, 0, 0, 1, 0, 0, 0.25f, 0.75f, 0, 0, 0, 1};
    int32_t visible[4] = {3, 3, 3, 3};
    const struct attention_weights layers = {
        .layers = 2, .heads = 1, .queries = 2, .keys = 3, .weights = weights, .visible = visible};
    struct head_numbers numbers = head_numbers_of(&layers, 1, 0);
    double entropy = -0.25 * log(0.25) - 0.75 * log(0.75);
    CHECK_NEAR(numbers.entropy, entropy / 2, 1e-7);
    CHECK_NEAR(numbers.normalised, entropy / log(3) / 2, 1e-7);
    CHECK_NEAR(numbers.distance, (0.75 + 1) / 2, 1e-7);
}

/* A layer whose queries see one key each has no normalised entropy, and no offsets. */
static void test_one_key(void)
{
    float weights[2] = {1, 1};
    int32_t visible[2] = {1, 1};
    const struct attention_weights layer = {
        .layers = 1, .heads = 1, .queries = 2, .keys = 1, .weights = weights, .visible = visible};
    struct head_numbers numbers = head_numbers_of(&layer, 0, 0);
    CHECK_NEAR(numbers.entropy, 0, 0);
    CHECK_NEAR(numbers.distance, 0.5, 0);
    CHECK(isnan(numbers.normalised));
    static struct head_offsets offsets;
    head_offsets_add(&offsets, &layer, 0, 0);
    CHECK_INT(offsets.queries, 0);
    CHECK(isnan(head_position_of(&offsets).share));
}

static void test_offsets(void)
{
    static struct head_offsets before, even;
    head_offsets_add(&before, &causal_layer, 0, 0);
    head_offsets_add(&before, &causal_layer, 0, 0);
    head_offsets_add(&even, &causal_layer, 0, 1);
    CHECK_INT(before.queries, 4);
    struct head_position position = head_position_of(&before);
    CHECK_INT(position.offset, -1);
    CHECK_NEAR(position.share, 1, 0);
    /* Of equal weights the first is the largest: offsets -1 and -2, once each. */
    position = head_position_of(&even);
    CHECK_INT(position.offset, -1);
    CHECK_NEAR(position.share, 0.5, 0);
    even.counts[HEAD_MAX_OFFSET + 4] = 3;
    even.queries += 3;
    position = head_position_of(&even);
    CHECK_INT(position.offset, 4);
    CHECK_NEAR(position.share, 0.6, 1e-12);
}

int main(void)
{
    test_numbers();
    test_layers();
    test_one_key();
    test_offsets();
    return check_report();
}
