/* SPDX-License-Identifier: Apache-2.0
 *
 * What terms of attention must keep: the same bits for any number of threads; gradients of a distance bias,
 * of keys by distance and of a bias of queries that accumulate, and are those of the sequences alone where
 * sequences are packed; masks of packed sequences that are those of a batch; decoding that equals the forward
 * pass.
 */
#include "attention/trial.h"
#include "base/half.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, SHARED = 2, DIM = 16, DISTANCES = 61, FIRST = -45 };

struct tensors {
    int64_t batch, queries, keys;
    float *query, *key, *value, *output, *output_gradient, *log_sum_exp;
    float *query_gradient, *key_gradient, *value_gradient;
    float *table, *table_gradient;
    bool backwards; /* the vectors lie from the last distance to the first */
    float *vectors, *vectors_gradient, *query_bias, *query_bias_gradient; /* [DISTANCES, HEADS, DIM] */
    float *queries_gradient, *values_gradient; /* likewise: the vectors are those of queries and values too */
};

static float *make(int64_t count, uint64_t seed)
{
    float *made = trial_memory((size_t)count * sizeof *made);
    for (int64_t i = 0; i < count; i++)
        made[i] = seed ? check_random(seed, (uint64_t)i, 0) : 0;
    return made;
}

static struct tensors make_tensors(int64_t batch, int64_t queries, int64_t keys)
{
    int64_t of_query = batch * queries * HEADS * DIM, of_key = batch * keys * SHARED * DIM;
    return (struct tensors){
        .batch = batch,
        .queries = queries,
        .keys = keys,
        .query = make(of_query, 1),
        .key = make(of_key, 2),
        .value = make(of_key, 3),
        .output = make(of_query, 0),
        .output_gradient = make(of_query, 4),
        .log_sum_exp = make(batch * HEADS * queries, 0),
        .query_gradient = make(of_query, 0),
        .key_gradient = make(of_key, 0),
        .value_gradient = make(of_key, 0),
        .table = make(HEADS * DISTANCES, 5),
        .table_gradient = make(HEADS * DISTANCES, 0),
        .vectors = make(DISTANCES * HEADS * DIM, 6),
        .vectors_gradient = make(DISTANCES * HEADS * DIM, 0),
        .query_bias = make(HEADS * DIM, 7),
        .query_bias_gradient = make(HEADS * DIM, 0),
        .queries_gradient = make(DISTANCES * HEADS * DIM, 0),
        .values_gradient = make(DISTANCES * HEADS * DIM, 0),
    };
}

static void free_tensors(struct tensors *t)
{
    float *all[] = {t->query,
                    t->key,
                    t->value,
                    t->output,
                    t->output_gradient,
                    t->log_sum_exp,
                    t->query_gradient,
                    t->key_gradient,
                    t->value_gradient,
                    t->table,
                    t->table_gradient,
                    t->vectors,
                    t->vectors_gradient,
                    t->query_bias,
                    t->query_bias_gradient,
                    t->values_gradient,
                    t->queries_gradient};
    for (int i = 0; i < 17; i++)
        free(all[i]);
}

static rotary_attention_view view(void *data, int64_t time, int64_t heads)
{
    return (rotary_attention_view){data, time * heads * DIM, heads * DIM, DIM};
}

static rotary_attention_const_view given(const void *data, int64_t time, int64_t heads)
{
    return (rotary_attention_const_view){data, time * heads * DIM, heads * DIM, DIM};
}

static rotary_attention *make_attention(rotary_isa isa, rotary_dtype dtype, int threads)
{
    rotary_attention_config config;
    rotary_attention *attention = NULL;
    rotary_attention_config_default(&config);
    config.heads = HEADS;
    config.key_value_heads = SHARED;
    config.head_dim = DIM;
    config.causal = true;
    config.dtype = dtype;
    config.threads = threads;
    config.isa = isa;
    CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_OK);
    return attention;
}

static rotary_attention_distance_vectors vectors_of(const struct tensors *t, float *gradient)
{
    int64_t stride = HEADS * DIM, last = (DISTANCES - 1) * stride;
    if (t->backwards)
        return (rotary_attention_distance_vectors){
            t->vectors + last, DISTANCES, FIRST, DIM, -stride, gradient ? gradient + last : NULL};
    return (rotary_attention_distance_vectors){t->vectors, DISTANCES, FIRST, DIM, stride, gradient};
}

/* Forward and backward with a distance bias, keys by distance and, if wanted, dropout. */
static void run(const rotary_attention *attention, struct tensors *t, float probability,
                rotary_attention_packed_sequences packed_sequences)
{
    rotary_error error = {0};
    rotary_attention_shape shape = {t->batch, t->queries, t->keys, t->keys - t->queries, 0};
    rotary_attention_distance_bias bias = {t->table, DISTANCES, FIRST, DISTANCES, t->table_gradient};
    rotary_attention_dropout dropout = {.probability = probability, .seed = 7, .step = 1, .site = 4};
    rotary_attention_forward_call forward = {
        .struct_size = sizeof forward,
        .shape = shape,
        .query = given(t->query, t->queries, HEADS),
        .key = given(t->key, t->keys, SHARED),
        .value = given(t->value, t->keys, SHARED),
        .output = view(t->output, t->queries, HEADS),
        .log_sum_exp = t->log_sum_exp,
        .packed_sequences = packed_sequences,
        .distance_bias = bias,
        .dropout = dropout,
        .distance_keys = vectors_of(t, NULL),
        .query_bias = t->query_bias,
        .distance_queries = vectors_of(t, NULL),
        .distance_values = vectors_of(t, NULL),
    };
    forward.workspace = trial_memory(rotary_attention_forward_call_bytes(attention, &forward));
    if (!CHECK_INT(rotary_attention_forward(attention, &forward, &error), ROTARY_OK))
        printf("%s\n", error.message);
    free(forward.workspace);
    rotary_attention_backward_call backward = {
        .struct_size = sizeof backward,
        .shape = shape,
        .query = forward.query,
        .key = forward.key,
        .value = forward.value,
        .output = given(t->output, t->queries, HEADS),
        .output_gradient = given(t->output_gradient, t->queries, HEADS),
        .log_sum_exp = t->log_sum_exp,
        .query_gradient = view(t->query_gradient, t->queries, HEADS),
        .key_gradient = view(t->key_gradient, t->keys, SHARED),
        .value_gradient = view(t->value_gradient, t->keys, SHARED),
        .packed_sequences = packed_sequences,
        .distance_bias = bias,
        .dropout = dropout,
        .distance_keys = vectors_of(t, t->vectors_gradient),
        .query_bias = t->query_bias,
        .query_bias_gradient = t->query_bias_gradient,
        .distance_queries = vectors_of(t, t->queries_gradient),
        .distance_values = vectors_of(t, t->values_gradient),
    };
    backward.workspace = trial_memory(rotary_attention_backward_call_bytes(attention, &backward));
    if (!CHECK_INT(rotary_attention_backward(attention, &backward, &error), ROTARY_OK))
        printf("%s\n", error.message);
    free(backward.workspace);
}

static void check_equal(const char *name, const float *a, const float *b, int64_t count)
{
    if (!CHECK(memcmp(a, b, (size_t)count * sizeof *a) == 0))
        printf("  %s differs\n", name);
}

/* These are added to the caller's part by part, so that the second time rounds differently. */
static void check_twice(const float *once, const float *twice, int64_t count)
{
    double size = 0;
    for (int64_t i = 0; i < count; i++)
        size = fmax(size, fabs((double)once[i]));
    CHECK(size > 0);
    for (int64_t i = 0; i < count; i++)
        CHECK(fabs((double)twice[i] - 2 * (double)once[i]) <= 1e-5 * size);
}

/* Several blocks of queries and of keys, and more than one round of work items. */
static void try_threads(rotary_isa isa)
{
    const int64_t queries = trial_tokens(1100, 130), keys = trial_tokens(2100, 200);
    struct tensors one = make_tensors(1, queries, keys), three = make_tensors(1, queries, keys);
    rotary_attention *attention = make_attention(isa, ROTARY_F32, 1);
    run(attention, &one, 0.125f, (rotary_attention_packed_sequences){0});
    rotary_attention_destroy(attention);
    attention = make_attention(isa, ROTARY_F32, 3);
    run(attention, &three, 0.125f, (rotary_attention_packed_sequences){0});
    check_equal("output", one.output, three.output, queries * HEADS * DIM);
    check_equal("query gradient", one.query_gradient, three.query_gradient, queries * HEADS * DIM);
    check_equal("key gradient", one.key_gradient, three.key_gradient, keys * SHARED * DIM);
    check_equal("value gradient", one.value_gradient, three.value_gradient, keys * SHARED * DIM);
    check_equal("distance gradient", one.table_gradient, three.table_gradient, HEADS * DISTANCES);
    check_equal("vectors' gradient", one.vectors_gradient, three.vectors_gradient, DISTANCES * HEADS * DIM);
    check_equal("queries' gradient", one.queries_gradient, three.queries_gradient, DISTANCES * HEADS * DIM);
    check_equal("values' gradient", one.values_gradient, three.values_gradient, DISTANCES * HEADS * DIM);
    check_equal("query bias' gradient", one.query_bias_gradient, three.query_bias_gradient, HEADS * DIM);
    /* Once more adds the same again. */
    run(attention, &three, 0.125f, (rotary_attention_packed_sequences){0});
    bool some = false;
    for (int i = 0; i < HEADS * DISTANCES; i++) {
        CHECK(three.table_gradient[i] == 2 * one.table_gradient[i]);
        some = some || one.table_gradient[i] != 0;
    }
    CHECK(some);
    check_twice(one.vectors_gradient, three.vectors_gradient, DISTANCES * HEADS * DIM);
    check_twice(one.queries_gradient, three.queries_gradient, DISTANCES * HEADS * DIM);
    check_twice(one.values_gradient, three.values_gradient, DISTANCES * HEADS * DIM);
    check_twice(one.query_bias_gradient, three.query_bias_gradient, HEADS * DIM);
    rotary_attention_destroy(attention);
    free_tensors(&one);
    free_tensors(&three);
}

/* Packed sequences get the gradient of the sequences alone, to the bit. */
static void try_packed(rotary_isa isa)
{
    enum { SEQUENCES = 5, TOTAL = 150 };
    const int32_t starts[SEQUENCES + 1] = {0, 8, 8, 39, 140, TOTAL};
    rotary_attention *attention = make_attention(isa, ROTARY_F32, 3);
    struct tensors packed = make_tensors(1, TOTAL, TOTAL), all = make_tensors(1, TOTAL, TOTAL);
    run(attention, &packed, 0, (rotary_attention_packed_sequences){starts, NULL, SEQUENCES});
    for (int i = 0; i < SEQUENCES; i++) {
        struct tensors one = all;
        int64_t query = starts[i] * HEADS * DIM, key = starts[i] * SHARED * DIM;
        one.queries = one.keys = starts[i + 1] - starts[i];
        one.query += query, one.output += query, one.output_gradient += query, one.query_gradient += query;
        one.key += key, one.value += key, one.key_gradient += key, one.value_gradient += key;
        run(attention, &one, 0, (rotary_attention_packed_sequences){0});
    }
    check_equal("packed output", packed.output, all.output, TOTAL * HEADS * DIM);
    check_equal("packed key gradient", packed.key_gradient, all.key_gradient, TOTAL * SHARED * DIM);
    check_equal("packed distance gradient", packed.table_gradient, all.table_gradient, HEADS * DISTANCES);
    check_equal("packed vectors' gradient", packed.vectors_gradient, all.vectors_gradient,
                DISTANCES * HEADS * DIM);
    check_equal("packed queries' gradient", packed.queries_gradient, all.queries_gradient,
                DISTANCES * HEADS * DIM);
    check_equal("packed values' gradient", packed.values_gradient, all.values_gradient,
                DISTANCES * HEADS * DIM);
    check_equal("packed query bias' gradient", packed.query_bias_gradient, all.query_bias_gradient,
                HEADS * DIM);
    rotary_attention_destroy(attention);
    free_tensors(&packed);
    free_tensors(&all);
}

static void reverse(float *vectors)
{
    for (int64_t low = 0, high = DISTANCES - 1; low < high; low++, high--)
        for (int64_t i = 0; i < HEADS * DIM; i++) {
            float kept = vectors[low * HEADS * DIM + i];
            vectors[low * HEADS * DIM + i] = vectors[high * HEADS * DIM + i];
            vectors[high * HEADS * DIM + i] = kept;
        }
}

/* Vectors that lie backwards, at a negative stride, are the same vectors, to the bit. */
static void try_backwards(rotary_isa isa)
{
    enum { TIME = 90 };
    rotary_attention *attention = make_attention(isa, ROTARY_F32, 1);
    struct tensors forwards = make_tensors(1, TIME, TIME), backwards = make_tensors(1, TIME, TIME);
    run(attention, &forwards, 0, (rotary_attention_packed_sequences){0});
    backwards.backwards = true;
    reverse(backwards.vectors);
    run(attention, &backwards, 0, (rotary_attention_packed_sequences){0});
    float *const gradients[][2] = {{forwards.vectors_gradient, backwards.vectors_gradient},
                                   {forwards.queries_gradient, backwards.queries_gradient},
                                   {forwards.values_gradient, backwards.values_gradient}};
    check_equal("backwards output", forwards.output, backwards.output, TIME * HEADS * DIM);
    check_equal("backwards key gradient", forwards.key_gradient, backwards.key_gradient, TIME * SHARED * DIM);
    for (int i = 0; i < 3; i++) {
        reverse(gradients[i][1]);
        check_equal("backwards gradient", gradients[i][0], gradients[i][1], DISTANCES * HEADS * DIM);
    }
    rotary_attention_destroy(attention);
    free_tensors(&forwards);
    free_tensors(&backwards);
}

/* The mask of a packed sequence whose first query is token 6 is that of sequence 6 of a batch. */
static void try_packed_mask(rotary_isa isa)
{
    enum { START = 6, TIME = 40, TOTAL = START + TIME, BATCH = START + 1 };
    const int32_t starts[3] = {0, START, TOTAL};
    rotary_attention *attention = make_attention(isa, ROTARY_F32, 2);
    struct tensors packed = make_tensors(1, TOTAL, TOTAL), batch = make_tensors(BATCH, TIME, TIME);
    int64_t query = TIME * HEADS * DIM, key = TIME * SHARED * DIM;
    for (int i = 0; i < BATCH; i++) {
        memcpy(batch.query + i * query, packed.query + START * HEADS * DIM, (size_t)query * sizeof(float));
        memcpy(batch.output_gradient + i * query, packed.output_gradient + START * HEADS * DIM,
               (size_t)query * sizeof(float));
        memcpy(batch.key + i * key, packed.key + START * SHARED * DIM, (size_t)key * sizeof(float));
        memcpy(batch.value + i * key, packed.value + START * SHARED * DIM, (size_t)key * sizeof(float));
    }
    run(attention, &packed, 0.5f, (rotary_attention_packed_sequences){starts, NULL, 2});
    run(attention, &batch, 0.5f, (rotary_attention_packed_sequences){0});
    check_equal("masked output", packed.output + START * HEADS * DIM, batch.output + START * query, query);
    check_equal("masked gradient", packed.key_gradient + START * SHARED * DIM,
                batch.key_gradient + START * key, key);
    CHECK(memcmp(batch.output, batch.output + query, (size_t)query * sizeof(float)) != 0);
    rotary_attention_destroy(attention);
    free_tensors(&packed);
    free_tensors(&batch);
}

/* Rounds numbers to bf16 where they are, and copies them. */
static uint16_t *round_to_halves(float *numbers, int64_t count)
{
    uint16_t *halves = trial_memory((size_t)count * sizeof *halves);
    for (int64_t i = 0; i < count; i++) {
        halves[i] = rotary_bf16_from_float(numbers[i]);
        numbers[i] = rotary_bf16_to_float(halves[i]);
    }
    return halves;
}

/* A prompt, then a few tokens at a time, then one at a time, beside the forward pass in f32. In bf16 weights have a
 * relative error of 2^-9, and scores, sums of 16 products, one of some hundredths. */
static void try_decode(rotary_isa isa, rotary_dtype dtype)
{
    enum { TIME = 90 };
    bool half = dtype == ROTARY_BF16;
    int64_t size = half ? 2 : 4;
    struct tensors t = make_tensors(1, TIME, TIME);
    uint16_t *queries16 = round_to_halves(t.query, half ? TIME * HEADS * DIM : 0),
             *keys16 = round_to_halves(t.key, half ? TIME * SHARED * DIM : 0),
             *values16 = round_to_halves(t.value, half ? TIME * SHARED * DIM : 0);
    rotary_attention *exact = make_attention(isa, ROTARY_F32, 2), *attention = make_attention(isa, dtype, 2);
    run(exact, &t, 0, (rotary_attention_packed_sequences){0});
    float *keys = make(TIME * SHARED * DIM, 0), *values = make(TIME * SHARED * DIM, 0),
          *output = make(TIME * HEADS * DIM, 0);
    const char *query = half ? (char *)queries16 : (char *)t.query,
               *key = half ? (char *)keys16 : (char *)t.key,
               *value = half ? (char *)values16 : (char *)t.value;
    void *workspace = trial_memory(rotary_attention_decode_bytes(attention, 1, TIME, TIME));
    for (int64_t length = 0, queries = 70; length < TIME; length += queries, queries = length < 80 ? 3 : 1) {
        rotary_error error = {0};
        rotary_attention_decode_call call = {
            .struct_size = sizeof call,
            .batch = 1,
            .queries = queries,
            .capacity = TIME,
            .lengths = &length,
            .query = given(query + length * HEADS * DIM * size, queries, HEADS),
            .key = given(key + length * SHARED * DIM * size, queries, SHARED),
            .value = given(value + length * SHARED * DIM * size, queries, SHARED),
            .key_cache = view(keys, TIME, SHARED),
            .value_cache = view(values, TIME, SHARED),
            .output = view((char *)output + length * HEADS * DIM * size, queries, HEADS),
            .workspace = workspace,
            .distance_bias = {t.table, DISTANCES, FIRST, DISTANCES, NULL},
            .distance_keys = vectors_of(&t, NULL),
            .query_bias = t.query_bias,
            .distance_queries = vectors_of(&t, NULL),
            .distance_values = vectors_of(&t, NULL),
        };
        if (!CHECK_INT(rotary_attention_decode(attention, &call, &error), ROTARY_OK))
            printf("%s\n", error.message);
    }
    for (int i = 0; i < TIME * HEADS * DIM; i++) {
        float got = half ? rotary_bf16_to_float(((uint16_t *)(void *)output)[i]) : output[i];
        CHECK(fabsf(got - t.output[i]) <= (half ? 0.08f : 4e-6f));
    }
    void *all[] = {queries16, keys16, values16, keys, values, output, workspace};
    for (int i = 0; i < 7; i++)
        free(all[i]);
    rotary_attention_destroy(exact);
    rotary_attention_destroy(attention);
    free_tensors(&t);
}

int main(void)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    for (int i = 0; i < count; i++) {
        check_about("%s", rotary_isa_name(isas[i]));
        try_threads(isas[i]);
        try_packed(isas[i]);
        try_packed_mask(isas[i]);
        try_backwards(isas[i]);
        try_decode(isas[i], ROTARY_F32);
        try_decode(isas[i], ROTARY_BF16);
    }
    return check_report();
}
