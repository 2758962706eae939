/* SPDX-License-Identifier: Apache-2.0
 *
 * decay.json: written and read back, absent, and damaged in every key.
 */
#include "records/measured_decay.h"
#include "records/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 2, HEADS = 3, DISTANCES = 7, QUERIES = 5 };
static const int64_t points[DECAY_AXES] = {DISTANCES, QUERIES};

/* Signed numbers over many sizes, and gaps. */
static double mean_of(int64_t i, int measure)
{
    return i % 11 == 3 ? (double)NAN
                       : sin((double)(3 * i + measure + 1)) * exp2((double)((i * 7 + measure) % 40 - 20));
}

static void make_kind(struct decay_kind *kind, int64_t first)
{
    rotary_error error = {0};
    const struct decay_kind sizes = {
        .layers = LAYERS, .heads = HEADS, .axes = {{first, DISTANCES, NULL}, {0, QUERIES, NULL}}};
    CHECK_INT(decay_kind_create(kind, &sizes, &error), ROTARY_OK);
    for (int axis = 0; axis < DECAY_AXES; axis++)
        for (int64_t i = 0; i < LAYERS * points[axis]; i++)
            kind->axes[axis].counts[i] = (i + axis) * i * 1000003;
    for (int measure = 0; measure < DECAY_MEASURES; measure++)
        for (int64_t i = 0; i < LAYERS * HEADS * points[decay_axis_of((enum decay_measure)measure)]; i++)
            kind->means[measure][i] = mean_of(i + first, measure);
}

static void check_kind(const struct decay_kind *found, int64_t first)
{
    CHECK_INT(found->layers, LAYERS);
    CHECK_INT(found->heads, HEADS);
    for (int axis = 0; axis < DECAY_AXES; axis++) {
        CHECK_INT(found->axes[axis].first, axis == DECAY_BY_DISTANCE ? first : 0);
        CHECK_INT(found->axes[axis].count, points[axis]);
        for (int64_t i = 0; i < LAYERS * points[axis]; i++)
            CHECK_INT(found->axes[axis].counts[i], (i + axis) * i * 1000003);
    }
    for (int measure = 0; measure < DECAY_MEASURES; measure++) {
        const int64_t count = points[decay_axis_of((enum decay_measure)measure)];
        for (int64_t i = 0; i < LAYERS * HEADS * count; i++) {
            const double wanted = mean_of(i + first, measure),
                         got = decay_means(found, (enum decay_measure)measure, i / count / HEADS,
                                           i / count % HEADS)[i % count];
            CHECK_INT(isnan(got), isnan(wanted));
            if (!isnan(wanted))
                CHECK_NEAR(got, wanted, 5e-7 * fabs(wanted));
        }
    }
}

static void test_round_trip(const char *folder)
{
    struct measured_decay made = {.position = "rope \"x\"",
                                  .checkpoint = "best",
                                  .step = 600,
                                  .seed = 9007199254740991,
                                  .sequences = 16,
                                  .length = 2048,
                                  .scaling = "yarn"},
                          read;
    rotary_error error = {0};
    synthetic_write(folder, "config.json", "{}");
    CHECK_INT(measured_decay_read(&read, folder, &error), ROTARY_OK);
    CHECK_INT(read.sequences, 0);
    CHECK_INT(read.kinds[ATTENTION_DECODER].layers, 0);
    make_kind(&made.kinds[ATTENTION_ENCODER], -3);
    make_kind(&made.kinds[ATTENTION_DECODER], 0);
    CHECK_INT(measured_decay_write(&made, folder, &error), ROTARY_OK);
    CHECK_INT(measured_decay_read(&read, folder, &error), ROTARY_OK);
    CHECK_TEXT(read.position, made.position);
    CHECK_TEXT(read.checkpoint, made.checkpoint);
    CHECK_INT(read.step, 600);
    CHECK_INT(read.seed, made.seed);
    CHECK_INT(read.sequences, 16);
    CHECK_INT(read.length, 2048);
    CHECK_TEXT(read.scaling, "yarn");
    check_kind(&read.kinds[ATTENTION_ENCODER], -3);
    check_kind(&read.kinds[ATTENTION_DECODER], 0);
    CHECK_INT(read.kinds[ATTENTION_CROSS].layers, 0);
    measured_decay_free(&read);
    measured_decay_free(&made);
}

/* A whole file of one layer, one head and two distances, of which a part is replaced. */
static const char whole[] =
    "{\"format\": 2, \"position\": \"rope\", \"step\": 5, \"checkpoint\": \"last\", \"seed\": 1, "
    "\"sequences\": 2, \"length\": 0, \"scaling\": \"none\", "
    "\"kinds\": [{\"kind\": \"decoder\", \"distance\": [0, 1], \"pairs\": [[4, 2]], \"score\": [[[0.5, "
    "-1]]], \"weight\": [[[1, null]]], \"bias\": [[[0, 0]]], \"query\": [0], \"queries\": [[6]], "
    "\"entropy\": [[[0.25]]], \"output_norm\": [[[3]]]}]}";

static const struct {
    const char *part, *instead, *words;
} damages[] = {
    {"\"format\": 2", "\"format\": 1", "format"},
    {"\"rope\"", "3", "position"},
    {"\"step\": 5", "\"step\": -5", "step"},
    {"\"last\"", "null", "checkpoint"},
    {"\"seed\": 1", "\"seed\": 1.5", "seed"},
    {"\"sequences\": 2", "\"sequences\": []", "sequences"},
    {"\"length\": 0", "\"length\": -1", "length"},
    {"\"none\"", "4", "scaling"},
    {"\"kinds\": [{", "\"kinds\": [], \"x\": [{", "kinds"},
    {"\"decoder\"", "\"cross\"", "kind"},
    {"[0, 1]", "[0, 2]", "distance"},
    {"[0, 1]", "[]", "distance"},
    {"[0, 1]", "[0.5, 1.5]", "distance"},
    {"[0, 1]", "[99999999999, 100000000000]", "distance"},
    {"[0, 1]", "[0, 1, 2]", "pairs"},
    {"[[4, 2]]", "[[4, -2]]", "pairs"},
    {"[[4, 2]]", "[[4, 2], [4, 2]]", "pairs"},
    {"[[4, 2]]", "[[4, 2, 1]]", "pairs"},
    {"[[[0.5, -1]]]", "[]", "score"},
    {"[[[0.5, -1]]]", "[[[0.5]]]", "score"},
    {"[[[0.5, -1]]]", "[[[0.5, \"x\"]]]", "score"},
    {"[[[0.5, -1]]]", "[[[0.5, -1], [0.5, -1]]]", "weight"},
    {"[[[1, null]]]", "[[[1, null], 3]]", "weight"},
    {"[[[0, 0]]]", "null", "bias"},
    {"\"query\": [0]", "\"query\": []", "query"},
    {"\"query\": [0]", "\"query\": [0, 1]", "queries"},
    {"[[6]]", "[[6.5]]", "queries"},
    {"[[[0.25]]]", "[[[0.25, 1]]]", "entropy"},
    {"[[[3]]]", "[[3]]", "output_norm"},
};

static void test_damages(const char *folder)
{
    struct measured_decay read;
    rotary_error error = {0};
    synthetic_write(folder, "decay.json", whole);
    CHECK_INT(measured_decay_read(&read, folder, &error), ROTARY_OK);
    CHECK_INT(read.kinds[ATTENTION_DECODER].axes[DECAY_BY_DISTANCE].counts[1], 2);
    CHECK_NEAR(decay_means(&read.kinds[ATTENTION_DECODER], DECAY_OUTPUT_NORM, 0, 0)[0], 3, 0);
    measured_decay_free(&read);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        char text[1024];
        const char *at = strstr(whole, damages[i].part);
        if (!CHECK(at))
            continue;
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, damages[i].instead,
                 at + strlen(damages[i].part));
        check_about("%s for %s", damages[i].instead, damages[i].part);
        synthetic_write(folder, "decay.json", text);
        CHECK_INT(measured_decay_read(&read, folder, &error), ROTARY_BAD_FILE);
        CHECK_WORDS(error.message, "decay.json");
        CHECK_WORDS(error.message, damages[i].words);
    }
    check_about("%s", "");
}

static void test_limit(void)
{
    struct measured_decay decay = {.kinds = {{0}}};
    rotary_error error = {0};
    /* 3 means for each distance and 2 for each place of a query, 314 for each of 10,000 heads. */
    struct decay_kind sizes = {.layers = 100, .heads = 100, .axes = {{0, 62, NULL}, {0, 65, NULL}}};
    CHECK_INT(decay_kind_create(&decay.kinds[ATTENTION_DECODER], &sizes, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "62 distances and 65 places|3160000 means|at most 3145728");
    measured_decay_free(&decay);
    sizes.axes[DECAY_BY_QUERY].count = 64;
    CHECK_INT(decay_kind_create(&decay.kinds[ATTENTION_DECODER], &sizes, &error), ROTARY_OK);
    measured_decay_free(&decay);
}

int main(void)
{
    const char *folder = synthetic_path(scratch_folder(), "run");
    test_round_trip(folder);
    test_damages(folder);
    test_limit();
    return check_report();
}
