/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding in steps of any size over linear and ring-buffer caches, against the full sequence at once in
 * double.
 */
#include "attention/trial.h"
#include "base/element.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 3, GAP = 3, MAX = 240 /* tokens of a sequence, at most */ };

/* Three sequences of their own lengths, decoded together. */
struct scene {
    struct reference_case c[SEQUENCES]; /* one sequence each, all its tokens */
    struct trial_results results[SEQUENCES];
    int64_t lengths[SEQUENCES]; /* tokens decoded so far */
    int64_t capacity;
    double *bias;             /* [heads, MAX, MAX], the same for every sequence; NULL: none */
    const int32_t *positions; /* [MAX] of the tokens of every sequence; NULL: 0, 1, 2, ... */
    bool head_major; /* caches are [sequence, head, capacity, head_dim], with gaps between the vectors */
    size_t element;
    void *key_cache, *value_cache;
    struct trial_plan plan;
};

static void store(const struct scene *scene, void *to, const double *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        rotary_set_element(to, i, reference_dtype(&scene->c[0]), (float)from[i]);
}

static void load(const struct scene *scene, double *to, const void *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (double)rotary_element(from, i, reference_dtype(&scene->c[0]));
}

/* Biases of the next `queries` tokens, whose positions differ between sequences. */
static rotary_attention_bias place_bias(const struct scene *scene, int64_t first, int64_t batch,
                                        int64_t queries)
{
    int64_t heads = scene->c[0].heads;
    if (!scene->bias)
        return (rotary_attention_bias){0};
    float *to = trial_memory((size_t)(batch * heads * queries * MAX) * sizeof *to);
    for (int64_t row = 0; row < batch * heads * queries; row++) {
        int64_t query = scene->lengths[first + row / queries / heads] + row % queries;
        const double *from = scene->bias + (row / queries % heads * MAX + query) * MAX;
        for (int64_t n = 0; n < MAX; n++)
            to[row * MAX + n] = (float)from[n];
    }
    return (rotary_attention_bias){to, heads * queries * MAX, queries * MAX, MAX};
}

/* Positions of the next `queries` tokens. */
static int32_t *place_positions(const struct scene *scene, int64_t first, int64_t batch, int64_t queries)
{
    if (!scene->positions)
        return NULL;
    int32_t *to = trial_memory((size_t)(batch * queries) * sizeof *to);
    for (int64_t s = 0; s < batch; s++)
        memcpy(to + s * queries, scene->positions + scene->lengths[first + s], (size_t)queries * sizeof *to);
    return to;
}

/* Fills rows of a sequence's caches with NaN if no later query sees them. Rows without a token are NaN from
 * the beginning. */
static void spoil(struct scene *scene, int64_t sequence)
{
    const struct reference_case *c = &scene->c[0];
    int64_t heads = c->key_value_heads, row = scene->head_major ? c->head_dim + GAP : c->head_dim,
            length = scene->lengths[sequence], capacity = scene->capacity;
    int64_t position = length > capacity ? length - capacity : 0;
    for (; c->window > 0 && position <= length - c->window; position++) {
        int64_t at = position % capacity;
        for (int64_t head = 0; head < heads; head++) {
            int64_t place = scene->head_major ? head * capacity + at : at * heads + head;
            size_t from = (size_t)((sequence * heads * capacity + place) * row) * scene->element;
            memset((char *)scene->key_cache + from, 0xff, (size_t)c->head_dim * scene->element);
            memset((char *)scene->value_cache + from, 0xff, (size_t)c->head_dim * scene->element);
        }
    }
}

/* Decodes the next `queries` tokens of sequences first ... first + batch - 1. */
static void step(struct scene *scene, int64_t first, int64_t batch, int64_t queries)
{
    const struct reference_case *c = &scene->c[0];
    int64_t d = c->head_dim, query_row = c->heads * d, key_row = c->key_value_heads * d;
    char *query = trial_memory((size_t)(batch * queries * query_row) * scene->element);
    char *key = trial_memory((size_t)(batch * queries * key_row) * scene->element);
    char *value = trial_memory((size_t)(batch * queries * key_row) * scene->element);
    char *output = trial_memory((size_t)(batch * queries * query_row) * scene->element);
    for (int64_t s = 0; s < batch; s++) {
        const struct reference_tensors *t = &scene->results[first + s].got;
        int64_t length = scene->lengths[first + s];
        spoil(scene, first + s);
        store(scene, query + (size_t)(s * queries * query_row) * scene->element,
              t->query + length * query_row, queries * query_row);
        store(scene, key + (size_t)(s * queries * key_row) * scene->element, t->key + length * key_row,
              queries * key_row);
        store(scene, value + (size_t)(s * queries * key_row) * scene->element, t->value + length * key_row,
              queries * key_row);
    }
    int64_t shared = c->key_value_heads, capacity = scene->capacity;
    int64_t cache_row = scene->head_major ? d + GAP : key_row,
            cache_head = scene->head_major ? capacity * (d + GAP) : d,
            cache = shared * capacity * (scene->head_major ? d + GAP : d);
    rotary_attention_view key_cache = {NULL, trial_stride(batch, cache), trial_stride(capacity, cache_row),
                                       trial_stride(shared, cache_head)};
    rotary_attention_view value_cache = key_cache;
    size_t before = (size_t)(first * cache) * scene->element;
    key_cache.data = (char *)scene->key_cache + before;
    value_cache.data = (char *)scene->value_cache + before;
    int64_t query_time = trial_stride(queries, query_row), key_time = trial_stride(queries, key_row);
    int64_t query_batch = trial_stride(batch, queries * query_row),
            key_batch = trial_stride(batch, queries * key_row);
    int64_t query_head = trial_stride(c->heads, d), key_head = trial_stride(shared, d);
    rotary_attention_decode_call call = {
        .struct_size = sizeof call,
        .batch = batch,
        .queries = queries,
        .capacity = capacity,
        .lengths = scene->lengths + first,
        .query = {query, query_batch, query_time, query_head},
        .key = {key, key_batch, key_time, key_head},
        .value = {value, key_batch, key_time, key_head},
        .key_cache = key_cache,
        .value_cache = value_cache,
        .output = {output, query_batch, query_time, query_head},
        .workspace =
            trial_memory(rotary_attention_decode_bytes(scene->plan.attention, batch, queries, capacity)),
        .bias = place_bias(scene, first, batch, queries),
        .positions = place_positions(scene, first, batch, queries),
    };
    rotary_error error = {0};
    if (!CHECK_INT(rotary_attention_decode(scene->plan.attention, &call, &error), ROTARY_OK))
        printf("%s\n", error.message);
    for (int64_t s = 0; s < batch; s++) {
        load(scene, scene->results[first + s].got.output + scene->lengths[first + s] * query_row,
             output + (size_t)(s * queries * query_row) * scene->element, queries * query_row);
        scene->lengths[first + s] += queries;
    }
    free(query);
    free(key);
    free(value);
    free(output);
    free((void *)(uintptr_t)call.bias.data);
    free((void *)(uintptr_t)call.positions);
    free(call.workspace);
}

static const int64_t own[SEQUENCES] = {0, 3, 130}, steps[] = {1, 1, 5, 1, 33, 1, 64, 1, 2};
enum { STEPS = sizeof steps / sizeof *steps };

static void make_sequences(struct scene *scene, struct reference_case c)
{
    int64_t together = 0;
    for (int i = 0; i < STEPS; i++)
        together += steps[i];
    for (int s = 0; s < SEQUENCES; s++) {
        c.queries = c.keys = own[s] + together;
        CHECK(c.queries <= MAX);
        scene->c[s] = c;
        scene->results[s] = trial_results_make(&c, (uint64_t)(100 + 10 * s), 2);
        trial_results_expect(&c, &scene->results[s], false);
    }
}

/* All tokens of all sequences, some of them together. */
static void take_steps(struct scene *scene)
{
    if (scene->capacity == 1) { /* too small for larger steps */
        for (int s = 0; s < SEQUENCES; s++)
            while (scene->lengths[s] < scene->c[s].queries)
                step(scene, s, 1, 1);
        return;
    }
    step(scene, 1, 1, own[1]);
    for (int64_t left = own[2]; left > 0; left -= 64)
        step(scene, 2, 1, left < 64 ? left : 64);
    for (int i = 0; i < STEPS; i++)
        step(scene, 0, SEQUENCES, steps[i]);
}

static void decode_all(struct scene *scene, rotary_isa isa, int threads)
{
    const struct reference_case *c = &scene->c[0];
    size_t cache =
        (size_t)(SEQUENCES * scene->capacity * c->key_value_heads * (c->head_dim + GAP)) * scene->element;
    check_about("%s %s capacity %lld window %lld heads %lld/%lld dim %lld", rotary_isa_name(isa),
                trial_type(c), (long long)scene->capacity, (long long)c->window, (long long)c->heads,
                (long long)c->key_value_heads, (long long)c->head_dim);
    scene->plan = trial_plan_make(c, isa, threads);
    scene->key_cache = trial_memory(cache);
    scene->value_cache = trial_memory(cache);
    memset(scene->key_cache, 0xff, cache); /* NaN in every type */
    memset(scene->value_cache, 0xff, cache);
    memset(scene->lengths, 0, sizeof scene->lengths);
    take_steps(scene);
    for (int s = 0; s < SEQUENCES; s++) {
        const struct trial_results *r = &scene->results[s];
        int64_t count = reference_query_size(&scene->c[s]);
        trial_compare(&scene->c[s], "decoded", r->got.output, r->wanted.output, r->naive.output, count, 0);
        trial_hold(&scene->c[s], "decoded", r->got.output, r->wanted.output, r->bound.output, count, 0);
    }
    free(scene->key_cache);
    free(scene->value_cache);
    trial_plan_free(&scene->plan);
}

/* Decodes again with another number of threads, which must give the same bits. */
static void decode_again(struct scene *scene, rotary_isa isa, int threads)
{
    double *before[SEQUENCES];
    for (int s = 0; s < SEQUENCES; s++) {
        size_t bytes = (size_t)reference_query_size(&scene->c[s]) * sizeof(double);
        before[s] = trial_memory(bytes);
        memcpy(before[s], scene->results[s].got.output, bytes);
    }
    decode_all(scene, isa, threads);
    for (int s = 0; s < SEQUENCES; s++) {
        size_t bytes = (size_t)reference_query_size(&scene->c[s]) * sizeof(double);
        CHECK(memcmp(before[s], scene->results[s].got.output, bytes) == 0);
        free(before[s]);
    }
}

static void try_scene(struct reference_case c, int64_t capacity, bool head_major, bool biased)
{
    struct scene scene = {
        .capacity = capacity, .head_major = head_major, .element = rotary_dtype_size(reference_dtype(&c))};
    rotary_isa isas[6];
    int count = trial_isas(isas);
    if (biased) {
        /* Some keys masked, some rows fully, and for half of the queries the keys of a possible first part.
         */
        scene.bias = trial_memory((size_t)(c.heads * MAX * MAX) * sizeof(double));
        for (int64_t i = 0; i < c.heads * MAX * MAX; i++) {
            double random = (double)check_random(31, (uint64_t)i, 0);
            bool hidden = random < -0.5 || i / MAX % 11 == 4 || (i / MAX % 2 && i % MAX < 100);
            scene.bias[i] = hidden ? -HUGE_VAL : 3 * random;
        }
        c.bias = (struct reference_bias){.data = scene.bias, .head_stride = MAX * MAX, .query_stride = MAX};
    }
    scene.positions = c.query_positions;
    make_sequences(&scene, c);
    for (int i = 0; i < count; i++) {
        decode_all(&scene, isas[i], 1);
        decode_again(&scene, isas[i], 2 + i % 3);
    }
    for (int s = 0; s < SEQUENCES; s++)
        trial_results_free(&scene.results[s]);
    free(scene.bias);
}

/* Positions in no order; in steps of one token, some are in the table of the rotation's plan. */
static void try_positions(struct reference_case c, int64_t capacity, bool head_major)
{
    int32_t positions[MAX];
    for (int32_t i = 0; i < MAX; i++)
        positions[i] = 37 * i % 101 - 11;
    c.query_positions = c.key_positions = positions;
    try_scene(c, capacity, head_major, false);
}

int main(void)
{
    static const struct {
        int64_t heads, key_value_heads, head_dim, window, capacity;
        bool value_rope, interleaved;
        double softcap;
        bool head_major, biased;
    } scenes[] = {
        {2, 2, 32, 0, 300, true, false, 0, false, false},
        {4, 1, 64, 0, 260, true, true, 0, false, false},
        {4, 2, 24, 0, 300, false, false, 4, false, true},
        {2, 2, 32, 40, 103, true, false, 0, false, true},
        {6, 2, 72, 1, 64, true, true, 0, false, false},
        {1, 1, 40, 1, 1, true, false, 0, false, false},
        {8, 2, 128, 100, 163, false, false, 0, false, false},
        /* Caches that are cut into parts, the first of them in f32 only. */
        {16, 16, 64, 0, 300, false, true, 0, true, false},
        {20, 20, 70, 131, 194, false, false, 0, true, false},
        {20, 20, 64, 0, 300, true, false, 0, false, false},
        {28, 14, 100, 150, 213, true, false, 2, false, true},
        {24, 2, 40, 0, 300, true, true, 0, false, true}, /* more heads than rows that are few */
    };
    const int count = sizeof scenes / sizeof *scenes;
    for (int i = 0; i < count; i++)
        for (int type = 0; type < (i % 2 ? 3 : 2) && trial_takes(i + 1, 4); type++) {
            struct reference_rotation rotation = {
                .present = true, .dim = scenes[i].head_dim, .interleaved = scenes[i].interleaved};
            struct reference_case c = {
                .batch = 1,
                .heads = scenes[i].heads,
                .key_value_heads = scenes[i].key_value_heads,
                .head_dim = scenes[i].head_dim,
                .causal = true,
                .bf16 = type == 1,
                .f16 = type == 2,
                .window = scenes[i].window,
                .softcap = scenes[i].softcap,
                .scale = (double)(float)(1 / sqrt((double)scenes[i].head_dim)),
                .rope = rotation,
                .value_rope = rotation,
            };
            c.value_rope.present = scenes[i].value_rope;
            if (!trial_can_plan(&c))
                continue;
            try_scene(c, scenes[i].capacity, scenes[i].head_major, false);
            if (scenes[i].biased)
                try_scene(c, scenes[i].capacity, scenes[i].head_major, true);
            if (i == 3 || i == 7)
                try_positions(c, scenes[i].capacity, scenes[i].head_major);
        }
    return check_report();
}
