/* SPDX-License-Identifier: Apache-2.0
 *
 * Key lengths and positions of single tokens, against the reference in double. Keys that a sequence does not
 * have are NaN. Consecutive positions give the same bits as none.
 */
#include "attention/trial.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3 };

/* How positions are given, and which. */
enum given { NONE, OF_QUERIES, OF_KEYS, OF_BOTH, KINDS };
enum range { IN_TABLE /* of the rotation's plan */, BEYOND_TABLE };

/* Positions of [BATCH, time] tokens, in no order. The caller frees them. */
static int32_t *make_positions(int64_t time, enum range range, uint64_t seed)
{
    int32_t *made = trial_memory((size_t)(BATCH * time) * sizeof *made);
    for (int64_t i = 0; i < BATCH * time; i++) {
        double random = fabs((double)check_random(seed, (uint64_t)i, 0));
        made[i] = (int32_t)fmod(1000 * random, 64);
        if (range == BEYOND_TABLE)
            made[i] = (int32_t)(900 * (double)check_random(seed, (uint64_t)i, 0));
    }
    return made;
}

static void try_case(struct reference_case c, enum given given, enum range range, uint64_t seed)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    int32_t *queries = make_positions(c.queries, range, seed),
            *keys = make_positions(c.keys, range, seed + 1);
    c.batch = BATCH;
    c.scale = (double)(float)(1 / sqrt((double)c.head_dim));
    c.query_positions = given == OF_QUERIES || given == OF_BOTH ? queries : NULL;
    c.key_positions = given == OF_KEYS || given == OF_BOTH ? keys : NULL;
    struct trial_results results = trial_results_make(&c, seed, 2);
    trial_results_expect(&c, &results, true);
    for (int i = 0; i < count; i++) {
        check_about("%s %s dim %lld queries %lld keys %lld%s window %lld positions %d%s%s",
                    rotary_isa_name(isas[i]), c.bf16 ? "bf16" : "f32", (long long)c.head_dim,
                    (long long)c.queries, (long long)c.keys, c.causal ? " causal" : "", (long long)c.window,
                    (int)given, range == IN_TABLE ? " in the table" : "", c.key_lengths ? " lengths" : "");
        struct trial_plan plan = trial_plan_make(&c, isas[i], 1 + i % 3);
        trial_run(&c, &plan, &results.got, true);
        trial_compare_all(&c, &results, true);
        trial_plan_free(&plan);
    }
    trial_results_free(&results);
    free(queries);
    free(keys);
}

/* Small shapes with every kind of positions; half of them have lengths. */
static void try_combinations(void)
{
    static const int64_t lengths[BATCH] = {19, 0, 11};
    uint64_t seed = 1000;
    for (int bits = 0; bits < 8; bits++)
        for (int given = NONE; given < KINDS; given++)
            for (int range = IN_TABLE; range <= (given == NONE ? IN_TABLE : BEYOND_TABLE); range++) {
                bool rotated = bits & 4;
                struct reference_case c = {
                    .heads = 4,
                    .key_value_heads = 2,
                    .head_dim = 24,
                    .queries = 7,
                    .keys = 19,
                    .first_query = 12,
                    .causal = bits & 1,
                    .bf16 = bits & 2,
                    .rope = {.present = true, .dim = 24, .interleaved = rotated},
                    .value_rope = {.present = rotated, .dim = 16, .start = 8},
                    .key_lengths = (bits / 2 + given) % 2 ? lengths : NULL,
                };
                try_case(c, (enum given)given, (enum range)range, seed += 10);
            }
}

/* Several blocks of queries and keys, packed keys, and backward in rounds. */
static void try_sizes(void)
{
    static const int64_t lengths[][BATCH] = {{0, 500, 193}, {512, 511, 200}, {1300, 1030, 7}, {60, 0, 33}};
    static const struct reference_case sizes[] = {
        {0, 2, 1, 32, 300, 500, 200, 0, .causal = true},
        {0, 1, 1, 64, 520, 512, 0, 0, .causal = false},
        {0, 1, 1, 8, 1100, 1300, 200, 0, .causal = true, .window = 400},
        {0, 2, 2, 40, 60, 60, 0, 0, .causal = true, .window = 9, .softcap = 4},
    };
    for (int i = 0; i < 4; i++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            struct reference_case c = sizes[i];
            c.bf16 = bf16;
            c.key_lengths = lengths[i];
            c.rope = (struct reference_rotation){.present = true, .dim = c.head_dim};
            c.value_rope = c.rope;
            try_case(c, i % 2 ? OF_BOTH : NONE, IN_TABLE, (uint64_t)(70000 + 100 * i));
        }
}

/* Positions as they would be without any, which begin in the plan's table and leave it. */
static void try_consecutive(rotary_isa isa, bool bf16)
{
    struct reference_case c = {
        .batch = BATCH,
        .heads = 2,
        .key_value_heads = 1,
        .head_dim = 40,
        .queries = 50,
        .keys = 70,
        .first_query = 20,
        .causal = true,
        .bf16 = bf16,
        .scale = (double)(float)(1 / sqrt(40.0)),
        .rope = {.present = true, .dim = 40},
        .value_rope = {.present = true, .dim = 40, .interleaved = true},
    };
    int32_t queries[BATCH * 50], keys[BATCH * 70];
    for (int i = 0; i < BATCH * 50; i++)
        queries[i] = 20 + i % 50;
    for (int i = 0; i < BATCH * 70; i++)
        keys[i] = i % 70;
    struct trial_results results = trial_results_make(&c, 5, 2), other = trial_results_make(&c, 5, 2);
    struct trial_plan plan = trial_plan_make(&c, isa, 2);
    check_about("%s %s consecutive positions", rotary_isa_name(isa), bf16 ? "bf16" : "f32");
    trial_run(&c, &plan, &results.got, true);
    c.query_positions = queries;
    c.key_positions = keys;
    trial_run(&c, &plan, &other.got, true);
    const struct reference_tensors *a = &results.got, *b = &other.got;
    size_t query_bytes = (size_t)reference_query_size(&c) * sizeof(double),
           key_bytes = (size_t)reference_key_size(&c) * sizeof(double);
    CHECK(memcmp(a->output, b->output, query_bytes) == 0);
    CHECK(memcmp(a->query_gradient, b->query_gradient, query_bytes) == 0);
    CHECK(memcmp(a->key_gradient, b->key_gradient, key_bytes) == 0);
    CHECK(memcmp(a->value_gradient, b->value_gradient, key_bytes) == 0);
    CHECK(a->query_gradient[0] != 0 && a->key_gradient[0] != 0);
    trial_plan_free(&plan);
    trial_results_free(&results);
    trial_results_free(&other);
}

int main(void)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    for (int i = 0; i < 2 * count; i++)
        try_consecutive(isas[i / 2], i % 2);
    try_combinations();
    try_sizes();
    return check_report();
}
