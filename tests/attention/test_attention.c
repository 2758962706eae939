/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention and its gradients against the reference in double, for every instruction set this machine has.
 */
#include "attention/trial.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>

static void about(const struct reference_case *c, rotary_isa isa)
{
    check_about("%s %s batch %lld heads %lld/%lld dim %lld queries %lld at %lld keys %lld at %lld%s window "
                "%lld cap %g "
                "rope %d:%lld+%lld%s value %d:%lld+%lld%s",
                rotary_isa_name(isa), trial_type(c), (long long)c->batch, (long long)c->heads,
                (long long)c->key_value_heads, (long long)c->head_dim, (long long)c->queries,
                (long long)c->first_query, (long long)c->keys, (long long)c->first_key,
                c->causal ? " causal" : "", (long long)c->window, c->softcap, c->rope.present,
                (long long)c->rope.start, (long long)c->rope.dim, c->rope.interleaved ? "i" : "h",
                c->value_rope.present, (long long)c->value_rope.start, (long long)c->value_rope.dim,
                c->value_rope.interleaved ? "i" : "h");
}

static double inner(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Moves one input along a direction, by `step`, and returns sum(output_gradient * output). */
static double moved(const struct reference_case *c, struct reference_tensors *t, double *input,
                    const double *direction, int64_t count, double step)
{
    for (int64_t i = 0; i < count; i++)
        input[i] += step * direction[i];
    reference_run(c, t, false, false);
    double sum = inner(t->output_gradient, t->output, reference_query_size(c));
    for (int64_t i = 0; i < count; i++)
        input[i] -= step * direction[i];
    return sum;
}

/* The derivative along a random direction by central differences of the forward reference, which has no code
 * of its own for gradients. */
static void check_derivative(const struct reference_case *c, struct reference_tensors *t, double *input,
                             const double *gradient, int64_t count, uint64_t seed, double allowed)
{
    double *direction = calloc((size_t)count, sizeof *direction), step = 1e-5;
    for (int64_t i = 0; i < count; i++)
        direction[i] = (double)check_random(seed, (uint64_t)i, 0);
    double derivative =
        (moved(c, t, input, direction, count, step) - moved(c, t, input, direction, count, -step)) /
        (2 * step);
    double size = sqrt(inner(gradient, gradient, count)) * sqrt(inner(direction, direction, count));
    CHECK_NEAR(inner(gradient, direction, count), derivative, allowed * size);
    free(direction);
}

static void check_derivatives(const struct reference_case *c, struct reference_tensors *t, uint64_t seed)
{
    double allowed =
        c->bf16 ? 2e-2 : 1e-5; /* of what the derivative could be; rounding errors do not line up with it */
    check_derivative(c, t, t->query, t->query_gradient, reference_query_size(c), seed, allowed);
    check_derivative(c, t, t->key, t->key_gradient, reference_key_size(c), seed + 1, allowed);
    check_derivative(c, t, t->value, t->value_gradient, reference_key_size(c), seed + 2, allowed);
}

/* The standard deviation of scores, and the key that is ten times as long as the others, or -1. */
struct numbers {
    double spread;
    int64_t long_key;
};

static void lengthen(const struct reference_case *c, double *keys, int64_t which)
{
    int64_t token = c->key_value_heads * c->head_dim;
    for (int64_t i = 0; i < c->batch * token && which >= 0; i++) {
        double *key = keys + (i / token * c->keys + which) * token + i % token;
        *key = reference_round(c, 10 * *key);
    }
}

static void try_numbers(struct reference_case *c, struct numbers numbers, uint64_t seed, bool derivatives)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    if (!trial_can_plan(c))
        return;
    if (c->scale == 0)
        c->scale = 1 / sqrt((double)c->head_dim);
    c->scale = (double)(float)c->scale;
    struct trial_results results = trial_results_make(c, seed, numbers.spread);
    lengthen(c, results.got.key, numbers.long_key);
    trial_results_expect(c, &results, true);
    for (int i = 0; i < count; i++) {
        about(c, isas[i]);
        struct trial_plan plan = trial_plan_make(c, isas[i], derivatives ? 1 : 2);
        trial_run(c, &plan, &results.got, true);
        trial_compare_all(c, &results, true);
        if (derivatives)
            check_derivatives(c, &results.got, seed);
        trial_plan_free(&plan);
    }
    trial_results_free(&results);
}

static void try_case(struct reference_case *c, uint64_t seed, bool derivatives)
{
    try_numbers(c, (struct numbers){.spread = 2, .long_key = -1}, seed, derivatives);
}

/* Every combination of options. */
static void try_combinations(void)
{
    const struct reference_rotation rotations[] = {
        {0},
        {.present = true, .dim = 24},
        {.present = true, .dim = 10, .start = 3},
        {.present = true, .interleaved = true, .dim = 24},
        {.present = true, .interleaved = true, .dim = 16, .start = 8},
    };
    uint64_t seed = 1000;
    for (int bits = 0; bits < 8; bits++)
        for (int rope = 0; rope < 5; rope++)
            for (int value = 0; value < 5; value++) {
                struct reference_case c = {
                    .batch = 2,
                    .heads = 4,
                    .key_value_heads = bits & 1 ? 2 : 4,
                    .head_dim = 24,
                    .queries = 7,
                    .keys = 19,
                    .first_query = 12,
                    .causal = bits & 2,
                    .bf16 = bits & 4,
                    .rope = rotations[rope],
                    .value_rope = rotations[value],
                };
                seed += 10;
                if (trial_takes(bits + rope + value, 3))
                    try_case(&c, seed, true);
            }
}

static void try_sizes(void)
{
    /* batch, heads, key_value_heads, head_dim, queries, keys, first_query, first_key */
    static const struct reference_case sizes[] = {
        {1, 1, 1, 8, 1, 1, 0, 0, .causal = true},
        {1, 1, 1, 64, 3, 3, 0, 0, .causal = true},
        {1, 2, 1, 32, 63, 63, 0, 0, .causal = true},
        {1, 2, 2, 64, 65, 65, 0, 0, .causal = true},
        {2, 1, 1, 40, 113, 203, 90, 0, .causal = true},
        {1, 3, 1, 72, 113, 203, 0, 0, .causal = false},
        {1, 8, 1, 16, 61, 130, 69, 0, .causal = true, .scale = 0.5},
        {1, 2, 1, 128, 200, 257, 57, 0, .causal = true},
        {1, 1, 1, 100, 97, 33, 0, 0, .causal = false},
        {1, 2, 2, 32, 512, 512, 0, 0, .causal = true},
        {1, 1, 1, 64, 390, 390, 0, 0, .causal = true},
        {1, 2, 2, 32, 300, 300, 0, 0, .causal = true, .window = 37},
        {1, 2, 2, 32, 70, 500, 430, 0, .causal = true, .window = 1},
        {1, 2, 1, 48, 90, 400, 310, 0, .causal = true, .window = 200},
        {1, 2, 1, 64, 110, 110, 0, 0, .causal = true, .softcap = 5},
        {1, 2, 1, 24, 110, 150, 0, 0, .causal = false, .scale = 0.25, .softcap = 3},
        {1, 1, 1, 32, 50, 50, 100000, 100000, .causal = true},
        {1, 1, 1, 32, 50, 60, 5000, 100, .causal = true},
        {1, 1, 1, 32, 60, 60, -20, 0, .causal = true},               /* the first 20 are fully masked */
        {1, 1, 1, 32, 60, 60, 100, 0, .causal = true, .window = 50}, /* the last 50 are fully masked */
        {3, 1, 1, 1, 5, 5, 0, 0, .causal = true},
        {1, 1, 1, 200, 20, 20, 0, 0, .causal = true},
    };
    uint64_t seed = 50000;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int type = 0; type < (i % 3 ? 2 : 3); type++) {
            struct reference_case c = sizes[i];
            int64_t dim = c.head_dim / 2 * 2;
            c.bf16 = type == 1;
            c.f16 = type == 2;
            c.rope = (struct reference_rotation){
                .present = dim > 0 && i % 4 != 3, .dim = dim, .interleaved = i % 3 == 1};
            c.value_rope = (struct reference_rotation){
                .present = dim > 0 && i % 2 == 0, .dim = dim, .interleaved = i % 3 == 2};
            seed += type == 2 ? 0 : 10;
            if (trial_takes(i + type, 2))
                try_case(&c, seed + (type == 2 ? 5 : 0), false);
        }
}

/* Long enough for several bands and rounds in backward. */
static void try_long(void)
{
    uint64_t seed = 90000;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        struct reference_case c = {
            .batch = 1,
            .heads = bf16 ? 1 : 2,
            .key_value_heads = 1,
            .head_dim = 8,
            .queries = 1100,
            .keys = 1300,
            .first_query = 200,
            .causal = true,
            .bf16 = bf16,
            .rope = {.present = true, .dim = 8},
            .value_rope = {.present = true, .dim = 8},
        };
        seed += 10;
        if (trial_takes(bf16, 2))
            try_case(&c, seed, false);
    }
}

/* Scores that are bounded, so that a kernel does not search the row max; scores near that limit; rows and
 * keys of both kinds. In bf16 the error bounds of large scores are too wide to test anything. */
static void try_sizes_of_scores(void)
{
    const struct numbers numbers[] = {{4, -1}, {30, -1}, {2, 20}, {2, 290}, {2, 650}};
    uint64_t seed = 95000;
    for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers); i++)
        for (int windowed = 0; windowed < 2; windowed++) {
            struct reference_case c = {
                .batch = 1,
                .heads = 2,
                .key_value_heads = 1,
                .head_dim = 32,
                .queries = 130,
                .keys = 700,
                .first_query = 570,
                .causal = true,
                .window = windowed ? 300 : 0,
            };
            seed += 10;
            if (trial_takes(i + windowed, 2))
                try_numbers(&c, numbers[i], seed, false);
        }
}

int main(void)
{
    try_combinations();
    try_sizes();
    try_long();
    try_sizes_of_scores();
    return check_report();
}
