/* SPDX-License-Identifier: Apache-2.0
 *
 * Each of several packed sequences gives the same bits as alone, forward and backward, with any number of
 * threads. Invalid starts are refused.
 */
#include "attention/trial.h"
#include "base/half.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, SHARED = 2, DIM = 40, MAX_SEQUENCES = 10 };

/* Tensors of a call with packed sequences; row s of a tensor is token s. */
struct scene {
    rotary_attention *attention;
    bool bf16, biased;
    int64_t sequences, queries, keys, first_query;
    int32_t query_starts[MAX_SEQUENCES + 1], key_starts[MAX_SEQUENCES + 1];
    char *query, *key, *value, *output_gradient; /* given */
    float *bias;                                 /* [HEADS, queries, keys] */
    int32_t *query_positions, *key_positions;    /* of all tokens, or NULL */
};
struct results {
    char *output, *query_gradient, *key_gradient, *value_gradient;
    float *log_sum_exp;
    size_t query_bytes, key_bytes, log_bytes;
};

static void *random_tensor(bool bf16, int64_t count, uint64_t seed)
{
    char *made = trial_memory((size_t)count * 4);
    for (int64_t i = 0; i < count; i++) {
        float value = check_random(seed, (uint64_t)i, 2);
        uint16_t half = rotary_bf16_from_float(value);
        if (bf16)
            memcpy(made + 2 * i, &half, 2);
        else
            memcpy(made + 4 * i, &value, 4);
    }
    return made;
}

/* Positions of `count` tokens in no order, inside and beyond the table of the rotation's plan. */
static int32_t *random_positions(int64_t count, uint64_t seed)
{
    int32_t *made = trial_memory((size_t)count * sizeof *made);
    for (int64_t i = 0; i < count; i++)
        made[i] = (int32_t)(90 * (double)check_random(seed, (uint64_t)i, 0));
    return made;
}

static struct results make_results(const struct scene *s)
{
    size_t element = s->bf16 ? 2 : 4;
    struct results r = {.query_bytes = (size_t)(s->queries * HEADS * DIM) * element,
                        .key_bytes = (size_t)(s->keys * SHARED * DIM) * element,
                        .log_bytes = (size_t)(s->queries * HEADS) * sizeof(float)};
    r.output = trial_memory(r.query_bytes);
    r.query_gradient = trial_memory(r.query_bytes);
    r.key_gradient = trial_memory(r.key_bytes);
    r.value_gradient = trial_memory(r.key_bytes);
    r.log_sum_exp = trial_memory(r.log_bytes);
    memset(r.output, 0xff, r.query_bytes);
    memset(r.query_gradient, 0xff, r.query_bytes);
    memset(r.key_gradient, 0xff, r.key_bytes);
    memset(r.value_gradient, 0xff, r.key_bytes);
    memset(r.log_sum_exp, 0xff, r.log_bytes);
    return r;
}

static void free_results(struct results *r)
{
    void *all[] = {r->output, r->query_gradient, r->key_gradient, r->value_gradient, r->log_sum_exp};
    for (int i = 0; i < 5; i++)
        free(all[i]);
}

/* The view of `time` tokens from `token` on. */
static rotary_attention_view view(const struct scene *s, char *data, int64_t heads, int64_t token,
                                  int64_t time)
{
    int64_t row = heads * DIM;
    return (rotary_attention_view){data + token * row * (s->bf16 ? 2 : 4), trial_stride(1, 0),
                                   trial_stride(time, row), DIM};
}

static rotary_attention_const_view const_view(const struct scene *s, char *data, int64_t heads, int64_t token,
                                              int64_t time)
{
    rotary_attention_view v = view(s, data, heads, token, time);
    return (rotary_attention_const_view){v.data, v.batch_stride, v.time_stride, v.head_stride};
}

/* Forward and backward of the tokens from `query` and `key` on; log_sum_exp is [HEADS, shape.queries]. */
static void run(const struct scene *s, const rotary_attention *attention, rotary_attention_shape shape,
                int64_t query, int64_t key, rotary_attention_packed_sequences packing, struct results *r,
                float *log_sum_exp)
{
    rotary_error error = {0};
    rotary_attention_bias bias = {0};
    if (s->biased)
        bias = (rotary_attention_bias){s->bias + query * s->keys + key, 0, s->queries * s->keys, s->keys};
    rotary_attention_forward_call forward = {
        .struct_size = sizeof forward,
        .shape = shape,
        .query = const_view(s, s->query, HEADS, query, shape.queries),
        .key = const_view(s, s->key, SHARED, key, shape.keys),
        .value = const_view(s, s->value, SHARED, key, shape.keys),
        .output = view(s, r->output, HEADS, query, shape.queries),
        .log_sum_exp = log_sum_exp,
        .bias = bias,
        .packed_sequences = packing,
        .query_positions = s->query_positions ? s->query_positions + query : NULL,
        .key_positions = s->key_positions ? s->key_positions + key : NULL,
    };
    size_t bytes = s->key_positions
                       ? rotary_attention_forward_call_bytes(attention, &forward)
                       : rotary_attention_packed_sequences_forward_bytes(attention, shape, &packing);
    forward.workspace = trial_memory(bytes);
    if (!CHECK_INT(rotary_attention_forward(attention, &forward, &error), ROTARY_OK))
        printf("%s\n", error.message);
    free(forward.workspace);
    rotary_attention_backward_call backward = {
        .struct_size = sizeof backward,
        .shape = shape,
        .query = forward.query,
        .key = forward.key,
        .value = forward.value,
        .output = const_view(s, r->output, HEADS, query, shape.queries),
        .output_gradient = const_view(s, s->output_gradient, HEADS, query, shape.queries),
        .log_sum_exp = log_sum_exp,
        .query_gradient = view(s, r->query_gradient, HEADS, query, shape.queries),
        .key_gradient = view(s, r->key_gradient, SHARED, key, shape.keys),
        .value_gradient = view(s, r->value_gradient, SHARED, key, shape.keys),
        .bias = bias,
        .packed_sequences = packing,
        .query_positions = forward.query_positions,
        .key_positions = forward.key_positions,
    };
    bytes = s->key_positions ? rotary_attention_backward_call_bytes(attention, &backward)
                             : rotary_attention_packed_sequences_backward_bytes(attention, shape, &packing);
    backward.workspace = trial_memory(bytes);
    if (!CHECK_INT(rotary_attention_backward(attention, &backward, &error), ROTARY_OK))
        printf("%s\n", error.message);
    free(backward.workspace);
}

/* Each sequence by itself. */
static void run_alone(const struct scene *s, struct results *r)
{
    for (int64_t i = 0; i < s->sequences; i++) {
        int64_t query = s->query_starts[i], queries = s->query_starts[i + 1] - query;
        int64_t key = s->key_starts[i], keys = s->key_starts[i + 1] - key;
        rotary_attention_shape shape = {
            .batch = 1, .queries = queries, .keys = keys, .first_query = s->first_query};
        float *log_sum_exp = trial_memory((size_t)(queries * HEADS) * sizeof(float));
        run(s, s->attention, shape, query, key, (rotary_attention_packed_sequences){0}, r, log_sum_exp);
        for (int64_t head = 0; head < HEADS; head++)
            memcpy(r->log_sum_exp + head * s->queries + query, log_sum_exp + head * queries,
                   (size_t)queries * sizeof(float));
        free(log_sum_exp);
    }
}

static void check_same(const struct results *a, const struct results *b)
{
    CHECK(memcmp(a->output, b->output, a->query_bytes) == 0);
    CHECK(memcmp(a->log_sum_exp, b->log_sum_exp, a->log_bytes) == 0);
    CHECK(memcmp(a->query_gradient, b->query_gradient, a->query_bytes) == 0);
    CHECK(memcmp(a->key_gradient, b->key_gradient, a->key_bytes) == 0);
    CHECK(memcmp(a->value_gradient, b->value_gradient, a->key_bytes) == 0);
}

static rotary_attention *make_attention(const rotary_rope *rope, bool bf16, rotary_isa isa, int threads)
{
    rotary_attention_config config;
    rotary_attention *attention = NULL;
    rotary_attention_config_default(&config);
    config.heads = HEADS;
    config.key_value_heads = SHARED;
    config.head_dim = DIM;
    config.dtype = bf16 ? ROTARY_BF16 : ROTARY_F32;
    config.causal = true;
    config.rope = config.value_rope = rope;
    config.threads = threads;
    config.isa = isa;
    CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_OK);
    return attention;
}

static rotary_rope *make_rope(void)
{
    rotary_rope_config config;
    rotary_rope *rope = NULL;
    rotary_rope_config_default(&config);
    config.head_dim = DIM;
    config.table_positions = 64;
    CHECK_INT(rotary_rope_create(&rope, &config, NULL), ROTARY_OK);
    return rope;
}

/* What a scene has beside its tensors. */
enum given { NOTHING, BIAS, POSITIONS };

/* Every sequence has `more` keys more than queries, and its queries are at the last positions. */
static struct scene make_scene(const int64_t *lengths, int64_t sequences, int64_t more, bool bf16,
                               enum given given)
{
    struct scene s = {.bf16 = bf16, .biased = given == BIAS, .sequences = sequences, .first_query = more};
    for (int64_t i = 0; i < sequences; i++) {
        s.query_starts[i + 1] = s.query_starts[i] + (int32_t)lengths[i];
        s.key_starts[i + 1] = s.key_starts[i] + (int32_t)(lengths[i] + more);
    }
    s.queries = s.query_starts[sequences];
    s.keys = s.key_starts[sequences];
    s.query = random_tensor(bf16, s.queries * HEADS * DIM, 1);
    s.key = random_tensor(bf16, s.keys * SHARED * DIM, 2);
    s.value = random_tensor(bf16, s.keys * SHARED * DIM, 3);
    s.output_gradient = random_tensor(bf16, s.queries * HEADS * DIM, 4);
    s.bias = s.biased ? random_tensor(false, HEADS * s.queries * s.keys, 5) : NULL;
    s.query_positions = given == POSITIONS ? random_positions(s.queries, 6) : NULL;
    s.key_positions = given == POSITIONS ? random_positions(s.keys, 7) : NULL;
    return s;
}

static void try_scene(const int64_t *lengths, int64_t sequences, int64_t more, enum given given)
{
    static const char *const names[] = {"", ", biased", ", positions"};
    rotary_isa isas[6];
    int count = trial_isas(isas);
    rotary_rope *rope = make_rope();
    for (int at = 0; at < 2 * count; at++) {
        struct scene s = make_scene(lengths, sequences, more, at % 2, given);
        s.attention = make_attention(rope, s.bf16, isas[at / 2], 2);
        struct results alone = make_results(&s);
        run_alone(&s, &alone);
        for (int threads = 1; threads <= 3; threads += 2) {
            check_about("%s %s %lld sequences, %lld tokens, %lld keys more, %d threads%s",
                        rotary_isa_name(isas[at / 2]), s.bf16 ? "bf16" : "f32", (long long)sequences,
                        (long long)s.queries, (long long)more, threads, names[given]);
            rotary_attention *attention = make_attention(rope, s.bf16, isas[at / 2], threads);
            struct results together = make_results(&s);
            rotary_attention_shape shape = {
                .batch = 1, .queries = s.queries, .keys = s.keys, .first_query = s.first_query};
            rotary_attention_packed_sequences packing = {s.query_starts, more ? s.key_starts : NULL,
                                                         sequences};
            run(&s, attention, shape, 0, 0, packing, &together, together.log_sum_exp);
            check_same(&together, &alone);
            free_results(&together);
            rotary_attention_destroy(attention);
        }
        free_results(&alone);
        rotary_attention_destroy(s.attention);
        void *all[] = {s.query,           s.key,          s.value, s.output_gradient, s.bias,
                       s.query_positions, s.key_positions};
        for (int i = 0; i < 7; i++)
            free(all[i]);
    }
    rotary_rope_destroy(rope);
}

static void refuse(const rotary_attention *attention, rotary_attention_shape shape,
                   rotary_attention_packed_sequences packing, const char *words)
{
    float data[6 * HEADS * DIM] = {0}, output[6 * HEADS * DIM];
    rotary_error error = {0};
    memset(output, 0x55, sizeof output);
    rotary_attention_forward_call call = {.struct_size = sizeof call,
                                          .shape = shape,
                                          .query = {data, 0, HEADS * DIM, DIM},
                                          .key = {data, 0, SHARED * DIM, DIM},
                                          .value = {data, 0, SHARED * DIM, DIM},
                                          .output = {output, 6 * HEADS * DIM, HEADS * DIM, DIM},
                                          .packed_sequences = packing};
    CHECK_INT(rotary_attention_forward(attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    if (!CHECK(strstr(error.message, words) != NULL))
        printf("  got \"%s\", wanted \"%s\" in it\n", error.message, words);
    CHECK_INT((int64_t)rotary_attention_packed_sequences_forward_bytes(attention, shape, &packing), 0);
    CHECK_INT((int64_t)rotary_attention_packed_sequences_backward_bytes(attention, shape, &packing), 0);
    for (int i = 0; i < 6 * HEADS * DIM; i++)
        CHECK(memcmp(&output[i], "\x55\x55\x55\x55", 4) == 0);
}

static void try_refusals(void)
{
    const int32_t good[] = {0, 2, 6}, late[] = {1, 2, 6}, falls[] = {0, 7, 6}, ends[] = {0, 2, 5};
    rotary_attention *attention = make_attention(NULL, false, ROTARY_ISA_AUTO, 1);
    rotary_attention_shape shape = {.batch = 1, .queries = 6, .keys = 6}, two = shape;
    check_about("refusals");
    two.batch = 2;
    refuse(attention, two, (rotary_attention_packed_sequences){good, NULL, 2}, "batch is 2; wanted 1");
    refuse(attention, shape, (rotary_attention_packed_sequences){good, NULL, 0},
           "packed_sequences.sequences is 0");
    refuse(attention, shape, (rotary_attention_packed_sequences){late, NULL, 2},
           "packed_sequences.query_starts[0] is 1; wanted 0");
    refuse(attention, shape, (rotary_attention_packed_sequences){falls, NULL, 2},
           "packed_sequences.query_starts[2] is 6 after 7; wanted starts that do not decrease");
    refuse(attention, shape, (rotary_attention_packed_sequences){ends, NULL, 2},
           "packed_sequences.query_starts[2] is 5; wanted the number of tokens, 6");
    refuse(attention, shape, (rotary_attention_packed_sequences){good, ends, 2},
           "packed_sequences.key_starts[2] is 5; wanted the number of tokens, 6");
    refuse(attention, shape, (rotary_attention_packed_sequences){NULL, good, 2},
           "packed_sequences has key_starts but no query_starts");
    refuse(attention, shape, (rotary_attention_packed_sequences){NULL, NULL, 2},
           "packed_sequences has sequences but no query_starts");
    rotary_attention_destroy(attention);
}

int main(void)
{
    const int64_t lengths[] = {5, 0, 1, 130, 1, 64, 0, 33}, long_one[] = {3, 1100, 0, 40}, single[] = {1, 0};
    try_scene(lengths, 8, 0, NOTHING);
    try_scene(lengths, 8, 0, BIAS);
    try_scene(lengths, 8, 17, NOTHING);
    try_scene(lengths, 8, 17, POSITIONS);
    try_scene(long_one, 4, 0, NOTHING);
    try_scene(long_one, 4, 0, POSITIONS);
    try_scene(single, 2, 0, NOTHING);
    try_refusals();
    return check_report();
}
