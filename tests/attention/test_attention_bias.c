/* SPDX-License-Identifier: Apache-2.0
 *
 * Biases: random numbers and masks of every shape, shared by sequences, heads or queries or not, with fully
 * masked rows and blocks, against the reference in double on every instruction set of this machine.
 */
#include "attention/trial.h"
#include "support/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { BATCH = 1, HEAD = 2, QUERY = 4 }; /* the axes that do not share biases */
enum { FEW, MANY, DISTANCE, LATE };

/* Biases of one row. FEW: a few keys masked, the rest spread widely. MANY: most keys masked. DISTANCE:
 * falling with the distance. LATE: all keys masked but the last, whose scores are so low that exp(score)
 * would vanish. */
static double bias_of(const struct reference_case *c, int pattern, uint64_t seed, int64_t row, int64_t key)
{
    uint64_t place = (uint64_t)(row * c->keys + key);
    double random = (double)check_random(seed, place, 0),
           hide = fabs((double)check_random(seed + 1, place, 0));
    /* Some rows are fully masked. */
    if (row % 7 == 3)
        return row % 2 ? -HUGE_VAL : -(double)FLT_MAX;
    switch (pattern) {
    case FEW:
        return hide < 0.2 ? -HUGE_VAL : 4 * random;
    case MANY:
        return hide < 0.9 ? (hide < 0.5 ? -HUGE_VAL : -(double)FLT_MAX) : random;
    case DISTANCE:
        return -0.0625 * fabs((double)(c->first_query + row % c->queries - c->first_key - key));
    default:
        /* In f32 the backward pass computes p from the log-sum-exp, whose error grows with its size. */
        return key < c->keys - 20 ? -HUGE_VAL : (c->bf16 ? -300 : -30) + random;
    }
}

/* Strides with gaps, which hold NaN. */
static void make_bias(struct reference_case *c, int pattern, int own, uint64_t seed)
{
    int64_t batch = own & BATCH ? c->batch : 1, heads = own & HEAD ? c->heads : 1,
            queries = own & QUERY ? c->queries : 1;
    int64_t row = c->keys + 3, head = queries * row + 1, sequence = heads * head + 2;
    double *data = malloc((size_t)(batch * sequence) * sizeof *data);
    if (!data)
        abort();
    c->bias = (struct reference_bias){.data = data,
                                      .batch_stride = own & BATCH ? sequence : 0,
                                      .head_stride = own & HEAD ? head : 0,
                                      .query_stride = own & QUERY ? row : 0,
                                      .elements = batch * sequence - 2 - 1 - 3};
    for (int64_t i = 0; i < batch * sequence; i++)
        data[i] = NAN;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t m = 0; m < queries; m++)
                for (int64_t n = 0; n < c->keys; n++)
                    data[b * sequence + h * head + m * row + n] =
                        (double)(float)bias_of(c, pattern, seed, (b * heads + h) * queries + m, n);
}

static void try_case(struct reference_case c, int pattern, int own, uint64_t seed)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    c.scale = (double)(float)(1 / sqrt((double)c.head_dim));
    make_bias(&c, pattern, own, seed + 5);
    struct trial_results results = trial_results_make(&c, seed, 2);
    trial_results_expect(&c, &results, true);
    for (int i = 0; i < count; i++) {
        check_about(
            "%s %s pattern %d own %d heads %lld/%lld dim %lld queries %lld keys %lld%s window %lld cap %g",
            rotary_isa_name(isas[i]), c.bf16 ? "bf16" : "f32", pattern, own, (long long)c.heads,
            (long long)c.key_value_heads, (long long)c.head_dim, (long long)c.queries, (long long)c.keys,
            c.causal ? " causal" : "", (long long)c.window, c.softcap);
        struct trial_plan plan = trial_plan_make(&c, isas[i], 2);
        trial_run(&c, &plan, &results.got, true);
        trial_compare_all(&c, &results, true);
        trial_plan_free(&plan);
    }
    trial_results_free(&results);
    free((void *)(uintptr_t)c.bias.data);
}

static void try_cases(void)
{
    /* batch, heads, key_value_heads, head_dim, queries, keys, first_query, first_key */
    static const struct reference_case sizes[] = {
        {2, 2, 2, 24, 7, 19, 12, 0, .causal = true},
        {2, 4, 2, 16, 37, 70, 0, 0, .causal = false},
        {1, 2, 1, 32, 33, 230, 197, 0, .causal = true, .softcap = 3},
        {1, 1, 1, 40, 70, 1100, 1030, 0, .causal = true},
        {1, 2, 2, 8, 66, 600, 0, 0, .causal = false},
        {1, 2, 1, 16, 100, 300, 200, 0, .causal = true, .window = 37},
        {1, 4, 1, 8, 20, 650, 630, 0, .causal = true, .window = 600, .softcap = 2.5},
        {2, 3, 1, 64, 9, 1, 0, 0, .causal = false},
    };
    uint64_t seed = 700000;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int pattern = FEW; pattern <= LATE; pattern++)
            for (int bf16 = 0; bf16 < 2; bf16++) {
                struct reference_case c = sizes[i];
                c.bf16 = bf16;
                c.rope = (struct reference_rotation){.present = true, .dim = c.head_dim};
                c.value_rope = (struct reference_rotation){.present = pattern % 2 == 0, .dim = c.head_dim};
                /* Each size without sharing and with one way of sharing. */
                try_case(c, pattern, BATCH | HEAD | QUERY, seed += 10);
                try_case(c, pattern, (i + 2 * pattern) % 8, seed += 10);
            }
}

int main(void)
{
    try_cases();
    return check_report();
}
