/* SPDX-License-Identifier: Apache-2.0
 *
 * Biases by distance against the reference in double, on every instruction set of this machine: tables that
 * cover all distances and tables that end before, entries for each head and shared ones, bounded scores and
 * unbounded ones, masks.
 */
#include "attention/trial.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>

enum pattern { SMALL, LARGE, MASKS, PATTERNS };

/* SMALL: entries up to 2. LARGE: up to 20, and one of -60, so that no score is bounded; with more, the error
 * of the log-sum-exp would hide others. MASKS: some mask. */
static double entry_of(enum pattern pattern, uint64_t seed, int64_t index)
{
    double random = (double)check_random(seed, (uint64_t)index, 0);
    if (pattern == MASKS && fabs((double)check_random(seed + 1, (uint64_t)index, 0)) < 0.2)
        return index % 2 ? -HUGE_VAL : -1e38;
    if (pattern == LARGE)
        return index == 0 ? -60 : 10 * random;
    return 2 * random;
}

static void make_table(struct reference_case *c, enum pattern pattern, bool shared, uint64_t seed)
{
    int64_t stride = shared ? 0 : c->distance_bias.distances + 3,
            count = (c->heads - 1) * stride + c->distance_bias.distances;
    double *data = malloc((size_t)count * sizeof *data);
    if (!data)
        abort();
    for (int64_t i = 0; i < count; i++)
        data[i] =
            stride && i % stride >= c->distance_bias.distances ? -HUGE_VAL * 0 : entry_of(pattern, seed, i);
    c->distance_bias.data = data;
    c->distance_bias.head_stride = stride;
}

/* sum(output_gradient * output) with the table moved along a direction. */
static double moved(const struct reference_case *c, struct reference_tensors *t, const double *table,
                    const double *direction, double step)
{
    struct reference_case other = *c;
    int64_t count = reference_distance_size(c);
    double *to = malloc((size_t)count * sizeof *to), sum = 0;
    if (!to)
        abort();
    for (int64_t i = 0; i < count; i++)
        to[i] = table[i] + step * direction[i];
    other.distance_bias.data = to;
    reference_run(&other, t, false, false);
    for (int64_t i = 0; i < reference_query_size(c); i++)
        sum += t->output_gradient[i] * t->output[i];
    free(to);
    return sum;
}

/* The library's gradient along a random direction against central differences of the forward reference. */
static void check_derivative(const struct reference_case *c, struct reference_tensors *t, uint64_t seed)
{
    int64_t count = reference_distance_size(c);
    double *direction = malloc((size_t)count * sizeof *direction), inner = 0, size = 0, step = 1e-5;
    if (!direction)
        abort();
    for (int64_t i = 0; i < count; i++) {
        bool gap =
            c->distance_bias.head_stride && i % c->distance_bias.head_stride >= c->distance_bias.distances;
        direction[i] = gap ? 0 : (double)check_random(seed, (uint64_t)i, 0);
        inner += gap ? 0 : direction[i] * t->distance_gradient[i];
        size += gap ? 0 : t->distance_gradient[i] * t->distance_gradient[i];
    }
    double derivative = (moved(c, t, c->distance_bias.data, direction, step) -
                         moved(c, t, c->distance_bias.data, direction, -step)) /
                        (2 * step);
    CHECK_NEAR(inner, derivative,
               1e-5 * sqrt(size * (double)count) + 1e-7 * (double)(c->batch * c->heads * c->queries));
    free(direction);
}

static void try_case(struct reference_case c, enum pattern pattern, bool shared, uint64_t seed)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    c.scale = (double)(float)(1 / sqrt((double)c.head_dim));
    make_table(&c, pattern, shared, seed + 5);
    struct trial_results results = trial_results_make(&c, seed, 2);
    trial_results_expect(&c, &results, true);
    for (int i = 0; i < count; i++) {
        check_about(
            "%s %s pattern %d%s distances %lld from %lld heads %lld/%lld dim %lld queries %lld at %lld "
            "keys %lld%s window %lld cap %g",
            rotary_isa_name(isas[i]), c.bf16 ? "bf16" : "f32", (int)pattern, shared ? " shared" : "",
            (long long)c.distance_bias.distances, (long long)c.distance_bias.first, (long long)c.heads,
            (long long)c.key_value_heads, (long long)c.head_dim, (long long)c.queries,
            (long long)c.first_query, (long long)c.keys, c.causal ? " causal" : "", (long long)c.window,
            c.softcap);
        struct trial_plan plan = trial_plan_make(&c, isas[i], 2);
        trial_run(&c, &plan, &results.got, true);
        trial_compare_all(&c, &results, true);
        if (!c.bf16 && pattern == SMALL && c.distance_bias.distances > 1) /* of one entry it is 0 */
            check_derivative(&c, &results.got, seed + 3);
        trial_plan_free(&plan);
    }
    trial_results_free(&results);
    free((void *)(uintptr_t)c.distance_bias.data);
}

/* A table of all distances of a call, of a few around 0, of one end only, and of a single entry. */
static struct reference_distance_bias range_of(const struct reference_case *c, int range)
{
    int64_t first = c->first_key - c->first_query - (c->queries - 1), all = c->queries + c->keys - 1;
    const struct reference_distance_bias ranges[] = {{NULL, all + 40, first - 20, 0},
                                                     {NULL, 9, -6, 0},
                                                     {NULL, all / 2 + 1, first - 2, 0},
                                                     {NULL, 1, 1000, 0}};
    return ranges[range];
}

int main(void)
{
    static const int64_t lengths[3] = {230, 0, 77};
    /* batch, heads, key_value_heads, head_dim, queries, keys, first_query, first_key */
    static const struct reference_case sizes[] = {
        {2, 2, 2, 24, 7, 19, 12, 0, .causal = true},
        {2, 4, 2, 16, 37, 70, 0, 0, .causal = false},
        {1, 2, 1, 32, 33, 230, 197, 0, .causal = true, .softcap = 3},
        {1, 1, 1, 40, 70, 1100, 1030, 0, .causal = true},
        {1, 2, 2, 8, 66, 600, 5, 11, .causal = false},
        {1, 2, 1, 16, 100, 300, 200, 0, .causal = true, .window = 37},
        {1, 4, 1, 8, 20, 650, 630, 0, .causal = true, .window = 600, .softcap = 2.5},
        {1, 1, 1, 8, 1100, 40, 0, 0, .causal = false},
        {3, 2, 1, 22, 40, 230, 0, 0, .key_lengths = lengths},
        {3, 2, 2, 8, 40, 230, 190, 0, .causal = true, .window = 50, .key_lengths = lengths},
    };
    uint64_t seed = 900000;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int range = 0; range < 4; range++)
            for (int bf16 = 0; bf16 < 2; bf16++) {
                struct reference_case c = sizes[i];
                c.bf16 = bf16;
                c.rope = (struct reference_rotation){.present = true, .dim = c.head_dim};
                c.distance_bias = range_of(&c, range);
                enum pattern pattern = range == 3 ? SMALL : (enum pattern)((i + range) % PATTERNS);
                try_case(c, pattern, (i + range) % 2, seed += 10);
                if (range == 0 && pattern != SMALL)
                    try_case(c, SMALL, i % 2, seed += 10);
            }
    return check_report();
}
