/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropout of attention weights: the mask of its definition, one random block at a time, in the reference in
 * double; the library against it, forward and backward, on every instruction set of this machine; the mask's
 * statistics; what it depends on.
 */
#include "attention/dropout_factors.h"
#include "attention/trial.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void try_case(struct reference_case c, uint64_t seed)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    double distances[40];
    c.scale = (double)(float)(1 / sqrt((double)c.head_dim));
    for (int i = 0; i < 40; i++)
        distances[i] = 2 * (double)check_random(seed + 7, (uint64_t)i, 0);
    c.distance_bias.data = c.distance_bias.distances ? distances : NULL;
    c.factors = dropout_factors(&c);
    struct trial_results results = trial_results_make(&c, seed, 2);
    trial_results_expect(&c, &results, true);
    for (int i = 0; i < count; i++) {
        check_about("%s %s dropout %g heads %lld/%lld dim %lld queries %lld keys %lld%s window %lld cap %g",
                    rotary_isa_name(isas[i]), c.bf16 ? "bf16" : "f32", (double)c.dropout.probability,
                    (long long)c.heads, (long long)c.key_value_heads, (long long)c.head_dim,
                    (long long)c.queries, (long long)c.keys, c.causal ? " causal" : "", (long long)c.window,
                    c.softcap);
        struct trial_plan plan = trial_plan_make(&c, isas[i], 1 + i % 3);
        trial_run(&c, &plan, &results.got, true);
        trial_compare_all(&c, &results, true);
        trial_plan_free(&plan);
    }
    trial_results_free(&results);
    free((void *)(uintptr_t)c.factors);
}

static void try_cases(void)
{
    static const int64_t lengths[3] = {230, 0, 77};
    /* batch, heads, key_value_heads, head_dim, queries, keys, first_query, first_key */
    static const struct reference_case sizes[] = {
        {2, 2, 2, 24, 7, 19, 12, 0, .causal = true},
        {2, 4, 2, 16, 37, 70, 0, 0, .causal = false, .distance_bias = {NULL, 40, -20, 0}},
        {1, 2, 1, 32, 33, 230, 197, 0, .causal = true, .softcap = 3, .distance_bias = {NULL, 40, -30, 0}},
        {1, 2, 2, 8, 66, 600, 0, 0, .causal = false, .softcap = 4},
        {1, 2, 1, 16, 100, 300, 200, 0, .causal = true, .window = 37},
        {1, 1, 1, 8, 1100, 40, 0, 0, .causal = false},
        {3, 2, 1, 22, 40, 230, 0, 0, .key_lengths = lengths, .distance_bias = {NULL, 40, -20, 0}},
    };
    uint64_t seed = 950000;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            struct reference_case c = sizes[i];
            c.bf16 = bf16;
            c.rope = (struct reference_rotation){.present = true, .dim = c.head_dim};
            c.value_rope = (struct reference_rotation){.present = i % 2, .dim = c.head_dim};
            c.dropout = (rotary_attention_dropout){.probability = i % 2 ? 0.1f : 0.5f,
                                                   .first_sequence = (uint32_t)i,
                                                   .seed = 0x123456789abcdefu + (uint64_t)i,
                                                   .step = 3,
                                                   .site = (uint32_t)i};
            try_case(c, seed += 10);
        }
}

/* Kept weights are as many as they should be, in every row, column and pair of neighbours, within five
 * standard deviations. */
static void try_statistics(void)
{
    enum { SIDE = 256 };
    static double kept[SIDE][SIDE];
    rotary_attention_dropout dropout = {.probability = 0.25f, .seed = 11, .step = 5, .site = 2};
    double row_worst = 0, column_worst = 0, all = 0, neighbours[3] = {0};
    for (int m = 0; m < SIDE; m++)
        for (int n = 0; n < SIDE; n++)
            kept[m][n] = dropout_factor(&dropout, 3, 1, m, n) > 0 ? 1 - 0.75 : -0.75;
    for (int i = 0; i < SIDE; i++) {
        double row = 0, column = 0;
        for (int j = 0; j < SIDE; j++) {
            row += kept[i][j];
            column += kept[j][i];
            all += kept[i][j];
            neighbours[0] += kept[i][j] * kept[i][(j + 1) % SIDE];
            neighbours[1] += kept[i][j] * kept[(i + 1) % SIDE][j];
            neighbours[2] += kept[i][j] * kept[i][(j + 16) % SIDE];
        }
        row_worst = fmax(row_worst, fabs(row));
        column_worst = fmax(column_worst, fabs(column));
    }
    double deviation = sqrt(0.25 * 0.75);
    CHECK(row_worst <= 5 * deviation * sqrt(SIDE));
    CHECK(column_worst <= 5 * deviation * sqrt(SIDE));
    CHECK(fabs(all) <= 5 * deviation * SIDE);
    for (int i = 0; i < 3; i++)
        CHECK(fabs(neighbours[i]) <= 5 * deviation * deviation * SIDE);
}

/* Another seed, step, site, sequence or head is another mask, which agrees by chance alone. */
static void try_dependence(void)
{
    enum { SIDE = 128 };
    const rotary_attention_dropout one = {.probability = 0.5f, .seed = 11, .step = 5, .site = 2};
    rotary_attention_dropout others[5] = {one, one, one, one, one};
    others[0].seed = 12;
    others[1].step = 6;
    others[2].site = 3;
    for (int i = 0; i < 5; i++) {
        double agree = 0;
        for (int m = 0; m < SIDE; m++)
            for (int n = 0; n < SIDE; n++)
                agree += (dropout_factor(&one, 4, 1, m, n) > 0) ==
                                 (dropout_factor(&others[i], i == 3 ? 5 : 4, i == 4 ? 2 : 1, m, n) > 0)
                             ? 0.5
                             : -0.5;
        CHECK(fabs(agree) <= 5 * 0.5 * SIDE);
    }
}

int main(void)
{
    try_cases();
    try_statistics();
    try_dependence();
    return check_report();
}
