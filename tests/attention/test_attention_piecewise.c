/* SPDX-License-Identifier: Apache-2.0
 *
 * Piecewise-linear biases against the reference in double, forward and backward, on every instruction set of
 * this machine: one segment and many, tables that end before the distances and positions of a call, both
 * directions, bounded scores and unbounded ones, with other terms. Then what must be equal to the bit: any
 * number of threads, packed sequences and those alone; and decoding, to rounding.
 */
#include "attention/piecewise_case.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void try_case(struct reference_case c, const struct piecewise_shape *shape, uint64_t seed)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    c.scale = (double)(float)(1 / sqrt((double)c.head_dim));
    c.rope = (struct reference_rotation){.present = true, .dim = c.head_dim};
    rotary_attention_piecewise_bias bias = piecewise_case_make(&c, shape, seed);
    c.piecewise_bias = &bias;
    struct trial_results results = trial_results_make(&c, seed + 5, 2);
    trial_results_expect(&c, &results, true);
    for (int i = 0; i < count; i++) {
        check_about(
            "%s %s segments %lld of %g, %lld distances from %lld, %lld positions, heads %lld/%lld dim "
            "%lld queries %lld at %lld keys %lld%s window %lld cap %g",
            rotary_isa_name(isas[i]), c.bf16 ? "bf16" : "f32", (long long)shape->segments, shape->size,
            (long long)shape->distances, (long long)shape->first, (long long)shape->positions,
            (long long)c.heads, (long long)c.key_value_heads, (long long)c.head_dim, (long long)c.queries,
            (long long)c.first_query, (long long)c.keys, c.causal ? " causal" : "", (long long)c.window,
            c.softcap);
        struct trial_plan plan = trial_plan_make(&c, isas[i], 1 + i % 3);
        trial_run(&c, &plan, &results.got, true);
        trial_compare_all(&c, &results, true);
        piecewise_case_check(&c, &results);
        trial_plan_free(&plan);
    }
    trial_results_free(&results);
    piecewise_case_free(&bias);
}

/* All distances and positions of a call; few of both; one of each. */
static struct piecewise_shape shape_of(const struct reference_case *c, int range)
{
    int64_t first = c->first_key - c->first_query - (c->queries - 1), all = c->queries + c->keys - 1;
    const struct piecewise_shape shapes[] = {
        {17, all + 40, first - 20, c->first_query + c->queries, 0.25, 30},
        {6, all / 2 + 3, first / 2 - 2, c->first_query + c->queries / 2 + 1, 0.25, 10},
        {33, all, first, c->first_query + c->queries + 9, 12, 100},
        {1, 1, -3, 1, 0.5, 5},
        {2, 9, -6, 4, 0.5, 2}};
    return shapes[range];
}

static void try_cases(void)
{
    static const int64_t lengths[3] = {230, 0, 77};
    static const double zeros[4 * 40];
    /* batch, heads, key_value_heads, head_dim, queries, keys, first_query, first_key */
    static const struct reference_case sizes[] = {
        {2, 2, 2, 24, 7, 19, 12, 0, .causal = true},
        {2, 4, 2, 16, 37, 70, 0, 0, .causal = false},
        {1, 2, 1, 32, 33, 230, 197, 0, .causal = true, .softcap = 3},
        {1, 2, 2, 8, 66, 600, 5, 11, .causal = false},
        {1, 2, 1, 16, 100, 300, 200, 0, .causal = true, .window = 37},
        {1, 1, 1, 8, 1100, 1100, 0, 0, .causal = true},
        {3, 2, 1, 22, 40, 230, 0, 0, .key_lengths = lengths},
        {3, 4, 2, 8, 40, 230, 190, 0, .causal = true, .window = 50, .key_lengths = lengths,
         .distance_bias = {zeros, 40, -20, 40}},
    };
    uint64_t seed = 7200000;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int range = 0; range < 5; range++)
            for (int bf16 = 0; bf16 < 2; bf16++) {
                struct reference_case c = sizes[i];
                c.bf16 = bf16;
                struct piecewise_shape shape = shape_of(&c, range);
                if (c.queries < trial_tokens(1000, 100) ||
                    (range == 0 && c.queries < trial_tokens(2000, 200)))
                    try_case(c, &shape, seed += 10);
            }
}

/* ---- equal to the bit ---- */

enum { HEADS = 4, SHARED = 2, DIM = 16, LONGEST = 2100 };

struct tensors {
    float *query, *key, *value, *output, *output_gradient, *log_sum_exp;
    float *query_gradient, *key_gradient, *value_gradient;
    rotary_attention_piecewise_bias bias;
};

static const struct piecewise_shape table = {19, 1500, -1300, 1900, 0.25, 64};

static float *make(int64_t count, uint64_t seed)
{
    float *made = trial_memory((size_t)count * sizeof *made);
    for (int64_t i = 0; i < count; i++)
        made[i] = seed ? check_random(seed, (uint64_t)i, 0) : 0;
    return made;
}

static struct tensors make_tensors(void)
{
    const struct reference_case heads = {.heads = HEADS};
    int64_t of_query = LONGEST * HEADS * DIM, of_key = LONGEST * SHARED * DIM;
    return (struct tensors){.query = make(of_query, 1),
                            .key = make(of_key, 2),
                            .value = make(of_key, 3),
                            .output = make(of_query, 0),
                            .output_gradient = make(of_query, 4),
                            .log_sum_exp = make(HEADS * LONGEST, 0),
                            .query_gradient = make(of_query, 0),
                            .key_gradient = make(of_key, 0),
                            .value_gradient = make(of_key, 0),
                            .bias = piecewise_case_make(&heads, &table, 5)};
}

static void free_tensors(struct tensors *t)
{
    float *all[] = {t->query,       t->key,          t->value,          t->output,        t->output_gradient,
                    t->log_sum_exp, t->key_gradient, t->query_gradient, t->value_gradient};
    for (int i = 0; i < 9; i++)
        free(all[i]);
    piecewise_case_free(&t->bias);
}

static rotary_attention_view view(float *data, int64_t token, int64_t heads)
{
    return (rotary_attention_view){data + token * heads * DIM, LONGEST * heads * DIM, heads * DIM, DIM};
}

static rotary_attention_const_view given(const float *data, int64_t token, int64_t heads)
{
    return (rotary_attention_const_view){data + token * heads * DIM, LONGEST * heads * DIM, heads * DIM, DIM};
}

static rotary_attention *make_attention(rotary_isa isa, int threads, bool causal)
{
    rotary_attention_config config;
    rotary_attention *attention = NULL;
    rotary_attention_config_default(&config);
    config.heads = HEADS;
    config.key_value_heads = SHARED;
    config.head_dim = DIM;
    config.causal = causal;
    config.threads = threads;
    config.isa = isa;
    CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_OK);
    return attention;
}

/* Forward and backward of `queries` and `keys` tokens from tokens `query` and `key` on. */
struct tokens {
    int64_t query, queries, key, keys;
    rotary_attention_packed_sequences packed_sequences;
};

static void run(const rotary_attention *attention, struct tensors *t, const struct tokens *tokens)
{
    rotary_error error = {0};
    rotary_attention_forward_call forward = {
        .struct_size = sizeof forward,
        .shape = {1, tokens->queries, tokens->keys, tokens->keys - tokens->queries, 0},
        .query = given(t->query, tokens->query, HEADS),
        .key = given(t->key, tokens->key, SHARED),
        .value = given(t->value, tokens->key, SHARED),
        .output = view(t->output, tokens->query, HEADS),
        .log_sum_exp = t->log_sum_exp,
        .packed_sequences = tokens->packed_sequences,
        .piecewise_bias = t->bias,
    };
    forward.workspace = trial_memory(rotary_attention_forward_call_bytes(attention, &forward));
    if (!CHECK_INT(rotary_attention_forward(attention, &forward, &error), ROTARY_OK))
        printf("%s\n", error.message);
    free(forward.workspace);
    rotary_attention_backward_call backward = {
        .struct_size = sizeof backward,
        .shape = forward.shape,
        .query = forward.query,
        .key = forward.key,
        .value = forward.value,
        .output = given(t->output, tokens->query, HEADS),
        .output_gradient = given(t->output_gradient, tokens->query, HEADS),
        .log_sum_exp = t->log_sum_exp,
        .query_gradient = view(t->query_gradient, tokens->query, HEADS),
        .key_gradient = view(t->key_gradient, tokens->key, SHARED),
        .value_gradient = view(t->value_gradient, tokens->key, SHARED),
        .packed_sequences = tokens->packed_sequences,
        .piecewise_bias = t->bias,
    };
    backward.workspace = trial_memory(rotary_attention_backward_call_bytes(attention, &backward));
    if (!CHECK_INT(rotary_attention_backward(attention, &backward, &error), ROTARY_OK))
        printf("%s\n", error.message);
    free(backward.workspace);
}

static void check_equal(const char *name, const float *a, const float *b, int64_t count)
{
    bool some = false;
    for (int64_t i = 0; i < count; i++)
        some = some || a[i] != 0;
    CHECK(some);
    if (!CHECK(memcmp(a, b, (size_t)count * sizeof *a) == 0))
        printf("  %s differs\n", name);
}

static void check_alike(const struct tensors *a, const struct tensors *b, int64_t queries, int64_t keys)
{
    check_equal("output", a->output, b->output, queries * HEADS * DIM);
    check_equal("query gradient", a->query_gradient, b->query_gradient, queries * HEADS * DIM);
    check_equal("key gradient", a->key_gradient, b->key_gradient, keys * SHARED * DIM);
    check_equal("value gradient", a->value_gradient, b->value_gradient, keys * SHARED * DIM);
    check_equal("intercepts' gradient", a->bias.intercept_gradient, b->bias.intercept_gradient,
                HEADS * table.segments);
    check_equal("slopes' gradient", a->bias.slope_gradient, b->bias.slope_gradient, HEADS * table.segments);
    check_equal("inputs' gradient", a->bias.input_gradient, b->bias.input_gradient, table.distances);
    check_equal("scales' gradient", a->bias.scale_gradient, b->bias.scale_gradient, table.positions);
}

/* Several blocks of queries and of keys, and more than one round of work items. */
static void try_threads(rotary_isa isa, bool causal)
{
    const struct tokens tokens = {.queries = trial_tokens(1100, 130), .keys = trial_tokens(LONGEST, 200)};
    struct tensors one = make_tensors(), three = make_tensors();
    rotary_attention *attention = make_attention(isa, 1, causal);
    run(attention, &one, &tokens);
    rotary_attention_destroy(attention);
    attention = make_attention(isa, 3, causal);
    run(attention, &three, &tokens);
    rotary_attention_destroy(attention);
    check_alike(&one, &three, tokens.queries, tokens.keys);
    free_tensors(&one);
    free_tensors(&three);
}

/* Packed sequences get the gradient of the sequences alone. */
static void try_packed(rotary_isa isa)
{
    enum { SEQUENCES = 5, TOTAL = 150 };
    const int32_t starts[SEQUENCES + 1] = {0, 8, 8, 39, 140, TOTAL};
    const struct tokens all = {0, TOTAL, 0, TOTAL, {starts, NULL, SEQUENCES}};
    rotary_attention *attention = make_attention(isa, 3, true);
    struct tensors packed = make_tensors(), alone = make_tensors();
    run(attention, &packed, &all);
    for (int i = 0; i < SEQUENCES; i++) {
        int64_t count = starts[i + 1] - starts[i];
        const struct tokens one = {starts[i], count, starts[i], count, {0}};
        run(attention, &alone, &one);
    }
    check_alike(&packed, &alone, TOTAL, TOTAL);
    rotary_attention_destroy(attention);
    free_tensors(&packed);
    free_tensors(&alone);
}

/* A prompt, then a few tokens at a time, then one at a time, with the results of the forward pass. */
static void try_decode(rotary_isa isa)
{
    enum { TIME = 190 };
    rotary_attention *attention = make_attention(isa, 2, true);
    struct tensors t = make_tensors();
    const struct tokens tokens = {.queries = TIME, .keys = TIME};
    run(attention, &t, &tokens);
    float *keys = make(LONGEST * SHARED * DIM, 0), *values = make(LONGEST * SHARED * DIM, 0),
          *output = make(LONGEST * HEADS * DIM, 0);
    void *workspace = trial_memory(rotary_attention_decode_bytes(attention, 1, TIME, TIME));
    for (int64_t length = 0, queries = 170; length < TIME;
         length += queries, queries = length < 180 ? 3 : 1) {
        rotary_error error = {0};
        rotary_attention_decode_call call = {
            .struct_size = sizeof call,
            .batch = 1,
            .queries = queries,
            .capacity = TIME,
            .lengths = &length,
            .query = given(t.query, length, HEADS),
            .key = given(t.key, length, SHARED),
            .value = given(t.value, length, SHARED),
            .key_cache = view(keys, 0, SHARED),
            .value_cache = view(values, 0, SHARED),
            .output = view(output, length, HEADS),
            .workspace = workspace,
            .piecewise_bias = t.bias,
        };
        if (!CHECK_INT(rotary_attention_decode(attention, &call, &error), ROTARY_OK))
            printf("%s\n", error.message);
    }
    for (int i = 0; i < TIME * HEADS * DIM; i++)
        CHECK_NEAR(output[i], t.output[i], 2e-6);
    free(keys);
    free(values);
    free(output);
    free(workspace);
    rotary_attention_destroy(attention);
    free_tensors(&t);
}

int main(void)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    try_cases();
    for (int i = 0; i < count; i++) {
        check_about("%s", rotary_isa_name(isas[i]));
        try_threads(isas[i], true);
        try_threads(isas[i], false);
        try_packed(isas[i]);
        try_decode(isas[i]);
    }
    return check_report();
}
