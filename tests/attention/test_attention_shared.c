/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys that are the values, on every instruction set: forward and backward against the reference in double,
 * and to the same bits as separate tensors; decoding, shifts and reordering with one cache.
 *
 * test_attention_shared long: with caches of several blocks and parts.
 */
#include "attention/trial.h"
#include "base/element.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape {
    int64_t heads, key_value_heads, head_dim, queries, keys, window;
    struct reference_rotation rope;
    bool back; /* outputs are rotated back */
    int64_t value_start, value_channels;
    float softcap;
};
static const struct shape shapes[] = {
    {4, 4, 24, 50, 50, 0, {true, false, 0, 24}, true, 0, 0, 0},
    {4, 2, 24, 37, 61, 0, {true, true, 8, 16}, true, 0, 0, 0},  /* rotated at the back */
    {4, 1, 24, 50, 50, 11, {true, false, 0, 8}, true, 0, 0, 0}, /* at the front */
    {4, 2, 24, 50, 50, 0, {true, false, 8, 16}, false, 0, 0, 0},
    {4, 1, 40, 37, 41, 0, {true, true, 0, 40}, false, 7, 20, 0},
    {2, 1, 16, 30, 30, 0, {false, false, 0, 0}, false, 0, 0, 0},
    {2, 1, 72, 20, 30, 0, {true, true, 32, 40}, true, 0, 0, 3},
    {3, 1, 512, 9, 20, 0, {true, true, 448, 64}, true, 0, 0, 0},
    {4, 2, 24, 37, 41, 0, {true, false, 8, 8}, true, 5, 14, 0},
    {2, 1, 576, 7, 20, 0, {true, false, 512, 64}, false, 0, 512, 0}, /* DeepSeek-V2's latent */
    {4, 2, 24, 37, 41, 0, {true, false, 8, 16}, true, 8, 16, 2},
    {4, 2, 24, 37, 41, 0, {true, false, 16, 8}, true, 3, 9, 0},
    {2, 1, 128, 9, 20, 0, {true, false, 0, 64}, true, 0, 0, 0},
    {2,
     1,
     576,
     7,
     20,
     0,
     {true, false, 0, 64},
     false,
     64,
     512,
     0}, /* the same with the rotated part at the front */
};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static const struct shape long_shapes[] = {
    {16, 16, 512, 0, 0, 0, {true, true, 448, 64}, true, 0, 0, 0},
    {32, 32, 512, 0, 0, 0, {true, false, 0, 64}, false, 64, 448, 0},
};

static struct reference_case case_of(const struct shape *shape, rotary_dtype dtype, bool shared)
{
    struct reference_case c = {.batch = 2,
                               .heads = shape->heads,
                               .key_value_heads = shape->key_value_heads,
                               .head_dim = shape->head_dim,
                               .queries = shape->queries,
                               .keys = shape->keys,
                               .first_query = shape->keys - shape->queries,
                               .causal = true,
                               .window = shape->window,
                               .bf16 = dtype == ROTARY_BF16,
                               .f16 = dtype == ROTARY_F16,
                               .softcap = (double)shape->softcap,
                               .scale = (double)(float)(1 / sqrt((double)shape->head_dim)),
                               .rope = shape->rope,
                               .key_is_value = shared,
                               .value_start = shape->value_start,
                               .value_channels = shape->value_channels};
    if (shape->back)
        c.value_rope = shape->rope;
    return c;
}

/* The same queries, keys and values apart. */
static void check_apart(const struct reference_case *c, const struct trial_results *results, rotary_isa isa)
{
    struct reference_case apart = *c;
    struct reference_tensors t = reference_tensors_make(c);
    apart.key_is_value = false;
    memcpy(t.query, results->got.query, (size_t)reference_query_size(c) * sizeof(double));
    memcpy(t.key, results->got.key, (size_t)reference_key_size(c) * sizeof(double));
    memcpy(t.value, results->got.key, (size_t)reference_key_size(c) * sizeof(double));
    struct trial_plan plan = trial_plan_make(&apart, isa, 1);
    trial_run(&apart, &plan, &t, false);
    CHECK(memcmp(t.output, results->got.output, (size_t)reference_query_size(c) * sizeof(double)) == 0);
    CHECK(memcmp(t.log_sum_exp, results->got.log_sum_exp,
                 (size_t)(c->batch * c->heads * c->queries) * sizeof(double)) == 0);
    trial_plan_free(&plan);
    reference_tensors_free(&t);
}

static void try_passes(const struct shape *shape, rotary_dtype dtype)
{
    static const double sinks[] = {1, -2, 0.5, 3};
    rotary_isa isas[6];
    const int count = trial_isas(isas);
    struct reference_case c = case_of(shape, dtype, true);
    c.sinks = shape->window > 0 ? sinks : NULL;
    if (!trial_can_plan(&c))
        return;
    struct trial_results results = trial_results_make(&c, 91, 1);
    trial_results_expect(&c, &results, true);
    for (int i = 0; i < count; i++) {
        check_about("%s %s heads %lld/%lld of %lld%s", rotary_isa_name(isas[i]), trial_type(&c),
                    (long long)c.heads, (long long)c.key_value_heads, (long long)c.head_dim,
                    shape->back ? " rotated back" : "");
        struct trial_plan plan = trial_plan_make(&c, isas[i], 1 + i % 3);
        trial_run(&c, &plan, &results.got, true);
        trial_compare_all(&c, &results, true);
        if ((shape->back || !shape->rope.present) && shape->value_channels == 0)
            check_apart(&c, &results, isas[i]);
        trial_plan_free(&plan);
    }
    trial_results_free(&results);
}

/* ---- one cache ---- */

/* Rows of a cache beyond its tokens. */
enum { MORE = 34 };

/* Two sequences of tokens and their caches. */
struct scene {
    const struct reference_case *c;
    const struct trial_plan *plan;
    int64_t capacity, element;
    char *query, *key, *output, *key_cache, *value_cache; /* value_cache NULL: keys are the values */
    int64_t lengths[2];
};

static rotary_attention_view cache_of(const struct scene *scene, char *data)
{
    int64_t row = scene->c->key_value_heads * scene->c->head_dim;
    return (rotary_attention_view){data, data ? scene->capacity * row : 0, data ? row : 0,
                                   data ? scene->c->head_dim : 0};
}

static struct scene make_scene(const struct reference_case *c, const struct trial_plan *plan,
                               const struct reference_tensors *t)
{
    const rotary_dtype dtype = reference_dtype(c);
    const int64_t queries = reference_query_size(c), keys = reference_key_size(c), capacity = c->keys + MORE,
                  element = (int64_t)rotary_dtype_size(dtype);
    const size_t cache = (size_t)(2 * capacity * c->key_value_heads * c->head_dim * element);
    struct scene scene = {.c = c,
                          .plan = plan,
                          .capacity = capacity,
                          .element = element,
                          .query = trial_memory((size_t)(queries * element)),
                          .key = trial_memory((size_t)(keys * element)),
                          .output = trial_memory((size_t)(queries * element)),
                          .key_cache = trial_memory(cache),
                          .value_cache = c->key_is_value ? NULL : trial_memory(cache)};
    for (int64_t i = 0; i < queries; i++)
        rotary_set_element(scene.query, i, dtype, (float)t->query[i]);
    for (int64_t i = 0; i < keys; i++)
        rotary_set_element(scene.key, i, dtype, (float)t->key[i]);
    return scene;
}

static void free_scene(struct scene *scene)
{
    char *const all[] = {scene->query, scene->key, scene->output, scene->key_cache, scene->value_cache};
    for (int i = 0; i < 5; i++)
        free(all[i]);
}

/* Decodes the next `step` tokens of both sequences. */
static void decode(struct scene *scene, int64_t step)
{
    const struct reference_case *c = scene->c;
    int64_t d = c->head_dim, query_row = c->heads * d, key_row = c->key_value_heads * d,
            at = scene->lengths[0];
    void *workspace =
        trial_memory(rotary_attention_decode_bytes(scene->plan->attention, 2, step, scene->capacity));
    rotary_error error = {0};
    rotary_attention_decode_call call = {
        .struct_size = sizeof call,
        .batch = 2,
        .queries = step,
        .capacity = scene->capacity,
        .lengths = scene->lengths,
        .query = {scene->query + at * query_row * scene->element, c->queries * query_row, query_row, d},
        .key = {scene->key + at * key_row * scene->element, c->keys * key_row, key_row, d},
        .key_cache = cache_of(scene, scene->key_cache),
        .value_cache = cache_of(scene, scene->value_cache),
        .output = {scene->output + at * query_row * scene->element, c->queries * query_row, query_row, d},
        .workspace = workspace,
    };
    if (!c->key_is_value)
        call.value = call.key;
    if (!CHECK_INT(rotary_attention_decode(scene->plan->attention, &call, &error), ROTARY_OK))
        printf("%s\n", error.message);
    scene->lengths[0] += step;
    scene->lengths[1] += step;
    free(workspace);
}

static void shift_and_reorder(struct scene *scene)
{
    static const int64_t keep[] = {3, 0}, discard[] = {10, 5};
    static const int32_t source[] = {1, 0};
    rotary_attention_shift_call shift = {.struct_size = sizeof shift,
                                         .batch = 2,
                                         .capacity = scene->capacity,
                                         .lengths = scene->lengths,
                                         .keep = keep,
                                         .discard = discard,
                                         .key_cache = cache_of(scene, scene->key_cache),
                                         .value_cache = cache_of(scene, scene->value_cache)};
    CHECK_INT(rotary_attention_shift(scene->plan->attention, &shift, NULL), ROTARY_OK);
    for (int i = 0; i < 2; i++)
        scene->lengths[i] -= discard[i];
    void *workspace = trial_memory(rotary_attention_reorder_bytes(scene->plan->attention, 2));
    rotary_attention_reorder_call reorder = {.struct_size = sizeof reorder,
                                             .batch = 2,
                                             .capacity = scene->capacity,
                                             .lengths = scene->lengths,
                                             .source = source,
                                             .key_cache = shift.key_cache,
                                             .value_cache = shift.value_cache,
                                             .workspace = workspace};
    CHECK_INT(rotary_attention_reorder(scene->plan->attention, &reorder, NULL), ROTARY_OK);
    free(workspace);
}

/* A cache after a shift and a reordering is that of separate caches. */
static void check_shifted(struct scene *scene, struct scene *separate)
{
    const int64_t row = scene->c->key_value_heads * scene->c->head_dim * scene->element;
    shift_and_reorder(scene);
    shift_and_reorder(separate);
    for (int64_t s = 0; s < 2; s++)
        CHECK(memcmp(scene->key_cache + s * scene->capacity * row,
                     separate->key_cache + s * scene->capacity * row,
                     (size_t)((scene->c->keys - 10) * row)) == 0);
}

/* `tokens` tokens in steps of several sizes, against the reference. */
static void try_cache(const struct shape *shape, rotary_dtype dtype, int64_t tokens)
{
    const int64_t steps[] = {1, 3, tokens - 6, 1, 1};
    rotary_isa isas[6];
    const int count = trial_isas(isas);
    struct reference_case c = case_of(shape, dtype, true);
    c.queries = c.keys = tokens;
    c.first_query = 0;
    if (!trial_can_plan(&c))
        return;
    struct reference_case apart = c;
    apart.key_is_value = false;
    apart.value_channels = apart.value_start = 0;
    struct trial_results results = trial_results_make(&c, 95, 1);
    trial_results_expect(&c, &results, false);
    for (int i = 0; i < count; i++) {
        check_about("%s %s cache, heads of %lld", rotary_isa_name(isas[i]), trial_type(&c),
                    (long long)c.head_dim);
        struct trial_plan plan = trial_plan_make(&c, isas[i], 2), other = trial_plan_make(&apart, isas[i], 1);
        struct scene scene = make_scene(&c, &plan, &results.got),
                     separate = make_scene(&apart, &other, &results.got);
        for (int s = 0; s < 5; s++) {
            decode(&scene, steps[s]);
            decode(&separate, steps[s]);
        }
        for (int64_t j = 0; j < reference_query_size(&c); j++)
            results.got.output[j] = (double)rotary_element(scene.output, j, dtype);
        trial_hold(&c, "output", results.got.output, results.wanted.output, results.bound.output,
                   reference_query_size(&c), 0);
        check_shifted(&scene, &separate);
        free_scene(&scene);
        free_scene(&separate);
        trial_plan_free(&plan);
        trial_plan_free(&other);
    }
    trial_results_free(&results);
}

/* ---- what is refused ---- */

static void try_errors(void)
{
    rotary_rope_config plain, yarn;
    rotary_rope *rope = NULL, *other = NULL, *scaled = NULL;
    rotary_attention_config config;
    rotary_attention *attention = NULL;
    rotary_error error = {0};
    rotary_rope_config_default(&plain);
    plain.head_dim = 16;
    yarn = plain;
    yarn.attention_factor = 1.25;
    CHECK_INT(rotary_rope_create(&rope, &plain, NULL), ROTARY_OK);
    CHECK_INT(rotary_rope_create(&other, &plain, NULL), ROTARY_OK);
    CHECK_INT(rotary_rope_create(&scaled, &yarn, NULL), ROTARY_OK);
    rotary_attention_config_default(&config);
    config.heads = config.key_value_heads = 1;
    config.head_dim = 16;
    config.key_is_value = true;
    config.rope = rope;
    config.value_rope = other;
    CHECK_INT(rotary_attention_create(&attention, &config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "value_rope is not rope|the same plan, or NULL");
    config.rope = config.value_rope = scaled;
    CHECK_INT(rotary_attention_create(&attention, &config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "an attention factor of 1.25");
    config.rope = config.value_rope = rope;
    config.value_start = 4;
    config.value_channels = 13;
    CHECK_INT(rotary_attention_create(&attention, &config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "value_start is 4 and value_channels 13 of 16 channels");
    config.value_channels = 12;
    CHECK_INT(rotary_attention_create(&attention, &config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "channels 4 ... 15 of keys are values|all of them or none");
    config.value_start = config.value_channels = 0;
    if (CHECK_INT(rotary_attention_create(&attention, &config, &error), ROTARY_OK)) {
        float numbers[16] = {0}, cache[16] = {0};
        const int64_t length = 0;
        rotary_attention_forward_call forward = {.struct_size = sizeof forward,
                                                 .shape = {1, 1, 1, 0, 0},
                                                 .query = {numbers, 16, 16, 16},
                                                 .key = {numbers, 16, 16, 16},
                                                 .value = {numbers, 16, 16, 16},
                                                 .output = {cache, 16, 16, 16}};
        CHECK_INT(rotary_attention_forward(attention, &forward, &error), ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, "value has data, but the plan's keys are its values; wanted none");
        rotary_attention_append_call append = {.struct_size = sizeof append,
                                               .batch = 1,
                                               .tokens = 1,
                                               .capacity = 1,
                                               .lengths = &length,
                                               .key = {numbers, 16, 16, 16},
                                               .key_cache = {cache, 16, 16, 16},
                                               .value_cache = {cache, 16, 16, 16}};
        CHECK_INT(rotary_attention_append(attention, &append, &error), ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, "value_cache has data");
    }
    rotary_attention_destroy(attention);
    rotary_rope_destroy(rope);
    rotary_rope_destroy(other);
    rotary_rope_destroy(scaled);
}

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "long") == 0) {
        try_cache(&long_shapes[0], ROTARY_F32, 70);
        try_cache(&long_shapes[1], ROTARY_BF16, 70);
        return check_report();
    }
    for (int s = 0; s < SHAPES; s++) {
        if (!trial_takes(s, 2))
            continue;
        try_passes(&shapes[s], ROTARY_F32);
        try_passes(&shapes[s], ROTARY_BF16);
        if (s % 3 == 1)
            try_passes(&shapes[s], ROTARY_F16);
        try_cache(&shapes[s], ROTARY_F32, 30);
        if (s % 3 != 2)
            try_cache(&shapes[s], s % 3 ? ROTARY_F16 : ROTARY_BF16, 30);
    }
    try_errors();
    return check_report();
}
