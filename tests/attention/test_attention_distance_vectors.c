/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys and values by distance against the reference in double, on every instruction set of this machine: each
 * alone and both, tables that cover all distances and tables that are clipped, vectors for each head and
 * shared ones in both layouts, with and without a bias of queries, beside other terms; and every gradient
 * along random directions against central differences of the reference.
 */
#include "attention/term_inputs.h"
#include "attention/trial.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>

/* The inputs of one case that can be moved. */
enum input { QUERY, KEY, KEYS, BIAS, QUERIES, VALUES, INPUTS };

/* An input: what it is, its gradient, and how many numbers there are. */
struct moving {
    const double *from, *gradient;
    int64_t count;
};

static struct moving moving_of(const struct reference_case *c, const struct reference_tensors *t,
                               enum input input)
{
    const struct moving all[] = {
        {t->query, t->query_gradient, reference_query_size(c)},
        {t->key, t->key_gradient, reference_key_size(c)},
        {c->distance_keys.data, t->distance_keys_gradient, reference_vectors_size(c, &c->distance_keys)},
        {c->query_bias, t->query_bias_gradient, reference_query_bias_size(c)},
        {c->distance_queries.data, t->distance_queries_gradient,
         reference_vectors_size(c, &c->distance_queries)},
        {c->distance_values.data, t->distance_values_gradient,
         reference_vectors_size(c, &c->distance_values)}};
    return all[input];
}

/* sum(output_gradient * output) with an input moved along a direction. */
static double moved(const struct reference_case *c, struct reference_tensors *t, enum input input,
                    const double *direction, double step)
{
    struct reference_case other = *c;
    struct moving moving = moving_of(c, t, input);
    double *to = malloc((size_t)moving.count * sizeof *to), *query = t->query, *key = t->key, sum = 0;
    if (!to)
        abort();
    for (int64_t i = 0; i < moving.count; i++)
        to[i] = moving.from[i] + step * direction[i];
    const double **const places[] = {NULL,
                                     NULL,
                                     &other.distance_keys.data,
                                     &other.query_bias,
                                     &other.distance_queries.data,
                                     &other.distance_values.data};
    if (input == QUERY)
        t->query = to;
    else if (input == KEY)
        t->key = to;
    else
        *places[input] = to;
    reference_run(&other, t, false, false);
    t->query = query;
    t->key = key;
    for (int64_t i = 0; i < reference_query_size(c); i++)
        sum += t->output_gradient[i] * t->output[i];
    free(to);
    return sum;
}

/* The library's gradients along a random direction against central differences of the forward reference. */
static void check_derivatives(const struct reference_case *c, struct reference_tensors *t, uint64_t seed)
{
    for (enum input input = QUERY; input < INPUTS; input++) {
        struct moving moving = moving_of(c, t, input);
        if (moving.count == 0)
            continue;
        double *direction = term_numbers(moving.count, 1, seed + (uint64_t)input), inner = 0, size = 0,
               step = 1e-5;
        for (int64_t i = 0; i < moving.count; i++) {
            inner += direction[i] * moving.gradient[i];
            size += moving.gradient[i] * moving.gradient[i];
        }
        CHECK_NEAR(
            inner, (moved(c, t, input, direction, step) - moved(c, t, input, direction, -step)) / (2 * step),
            1e-5 * sqrt(size * (double)moving.count) + 1e-7 * (double)(c->batch * c->heads * c->queries));
        free(direction);
    }
}

/* With keys by distance, with values, with queries: a sum of these. */
enum terms { WITH_KEYS = 1, WITH_VALUES = 2, WITH_QUERIES = 4, WITH_ALL = 7 };

static struct reference_case with_terms(struct reference_case c, enum terms terms, enum term_layout layout,
                                        struct reference_distance_vectors range, uint64_t seed)
{
    if (terms & WITH_KEYS) {
        c.distance_keys = range;
        term_vectors(&c, &c.distance_keys, layout, layout == TERM_SHARED ? 1 : 0.5, seed + 5);
    }
    if (terms & WITH_KEYS && seed / 20 % 2 == 0)
        c.query_bias = term_numbers(c.heads * c.head_dim, 1, seed + 6);
    if (terms & WITH_QUERIES) {
        c.distance_queries = range;
        term_vectors(&c, &c.distance_queries, (layout + 2) % TERM_LAYOUTS, 0.5, seed + 12);
    }
    if (terms & WITH_VALUES) {
        c.distance_values = range;
        term_vectors(&c, &c.distance_values, (layout + 1) % TERM_LAYOUTS, 1, seed + 9);
    }
    if (seed / 40 % 2 == 0) {
        c.distance_bias =
            (struct reference_distance_bias){term_numbers(c.heads * 40, 0.25, seed + 8), 40, -20, 40};
        c.value_rope = (struct reference_rotation){.present = true, .dim = c.head_dim};
    }
    return c;
}

static void try_case(struct reference_case c, bool with_derivatives, uint64_t seed)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    struct trial_results results = trial_results_make(&c, seed, 1);
    trial_results_expect(&c, &results, true);
    const struct reference_distance_vectors *vectors = c.distance_keys.data      ? &c.distance_keys
                                                       : c.distance_queries.data ? &c.distance_queries
                                                                                 : &c.distance_values;
    for (int i = 0; i < count; i++) {
        check_about("%s %s%s%s%s%s distances %lld from %lld heads %lld/%lld dim %lld queries %lld at %lld "
                    "keys %lld%s window %lld cap %g",
                    rotary_isa_name(isas[i]), c.bf16 ? "bf16" : "f32", c.distance_keys.data ? " keys" : "",
                    c.query_bias ? " bias" : "", c.distance_queries.data ? " queries" : "",
                    c.distance_values.data ? " values" : "", (long long)vectors->distances,
                    (long long)vectors->first, (long long)c.heads, (long long)c.key_value_heads,
                    (long long)c.head_dim, (long long)c.queries, (long long)c.first_query, (long long)c.keys,
                    c.causal ? " causal" : "", (long long)c.window, c.softcap);
        struct trial_plan plan = trial_plan_make(&c, isas[i], 2);
        trial_run(&c, &plan, &results.got, true);
        trial_compare_all(&c, &results, true);
        if (with_derivatives && i == count - 1)
            check_derivatives(&c, &results.got, seed + 10);
        trial_plan_free(&plan);
    }
    trial_results_free(&results);
}

/* A table of all distances of a call, of a few around 0, of those down from 0, of a single vector, and tables
 * that lie beyond all distances on one side and on the other. */
static struct reference_distance_vectors range_of(const struct reference_case *c, int range)
{
    int64_t first = c->first_key - c->first_query - (c->queries - 1), all = c->queries + c->keys - 1;
    const struct reference_distance_vectors ranges[] = {
        {.distances = all + 40, .first = first - 20},    {.distances = 9, .first = -6},
        {.distances = all / 2 + 1, .first = -(all / 2)}, {.distances = 1, .first = 1000},
        {.distances = 5, .first = first + all + 3},      {.distances = 5, .first = first - 9}};
    return ranges[range];
}

/* Vectors so large that only the row's max keeps exponentials from overflowing: products with a query's, or a
 * key's, numbers below 1 exceed 100. The bounds of errors are too wide to tell anything here. */
static void try_large(enum terms terms, uint64_t seed)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    struct reference_case c = {1, 2, 1, 16, 37, 70, 0, 0, .causal = true, .scale = 0.25};
    c = with_terms(c, terms, TERM_HEAD_MAJOR,
                   (struct reference_distance_vectors){.distances = 70, .first = -69}, seed);
    const struct reference_distance_vectors *vectors =
        terms & WITH_KEYS ? &c.distance_keys : &c.distance_queries;
    double *data = (double *)(uintptr_t)vectors->data;
    for (int64_t i = 0; i < reference_vectors_size(&c, vectors); i++)
        data[i] *= 1024;
    struct trial_results results = trial_results_make(&c, seed, 1);
    trial_results_expect(&c, &results, false);
    for (int i = 0; i < count; i++) {
        check_about("%s, large vectors of %s", rotary_isa_name(isas[i]),
                    terms & WITH_KEYS ? "keys" : "queries");
        struct trial_plan plan = trial_plan_make(&c, isas[i], 2);
        trial_run(&c, &plan, &results.got, false);
        for (int64_t at = 0; at < reference_query_size(&c); at++)
            CHECK_NEAR(results.got.output[at], results.wanted.output[at], 2e-3);
        trial_plan_free(&plan);
    }
    trial_results_free(&results);
    term_inputs_free(&c);
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
        {1, 1, 1, 8, 1100, 40, 0, 0, .causal = false},
        {3, 2, 1, 22, 40, 230, 190, 0, .causal = true, .window = 50, .key_lengths = lengths},
    };
    uint64_t seed = 1900000;
    try_large(WITH_KEYS, 1800000);
    try_large(WITH_QUERIES, 1800020);
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int range = 0; range < 6; range++)
            /* Over a thousand queries' bf16 products, the bound of a value's gradient may exceed it. */
            for (int bf16 = 0; bf16 < (sizes[i].queries > 1000 ? 1 : 2); bf16++) {
                struct reference_case c = sizes[i];
                c.bf16 = bf16;
                c.rope = (struct reference_rotation){
                    .present = i % 2 == 0, .dim = c.head_dim, .interleaved = range % 2};
                c.scale = (double)(float)(1 / sqrt((double)c.head_dim));
                c = with_terms(c, (enum terms)(1 + (i + range + 3 * bf16) % WITH_ALL),
                               (enum term_layout)((i + range) % TERM_LAYOUTS), range_of(&c, range),
                               seed += 20);
                /* Where all keys of a query have one vector, the derivatives are 0 but for rounding. */
                try_case(c, range < 3 && !bf16, seed);
                term_inputs_free(&c);
            }
    return check_report();
}
