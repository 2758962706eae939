/* SPDX-License-Identifier: Apache-2.0
 *
 * Cross-attention over caches of rotated keys and values: appended without attending, decoded without new
 * keys, and attended to by a forward call, against the reference in double.
 */
#include "attention/trial.h"
#include "base/element.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, STEP = 70 /* the position of all queries of sentence 0 */ };

struct scene {
    struct reference_case c;
    struct trial_results results;
    struct trial_plan plan;
    size_t element;
    char *query, *key, *value, *key_cache, *value_cache, *output;
};

static char *make_tensor(const struct scene *scene, const double *from, int64_t count)
{
    char *made = trial_memory((size_t)count * scene->element);
    memset(made, 0xff, (size_t)count * scene->element); /* NaN in every type */
    for (int64_t i = 0; i < count && from; i++)
        rotary_set_element(made, i, reference_dtype(&scene->c), (float)from[i]);
    return made;
}

/* [BATCH, time, heads, head_dim] from token `first` on. */
static rotary_attention_view view(const struct scene *scene, char *data, int64_t time, int64_t heads,
                                  int64_t first)
{
    int64_t row = heads * scene->c.head_dim;
    return (rotary_attention_view){data + (size_t)(first * row) * scene->element, time * row, row,
                                   scene->c.head_dim};
}

static rotary_attention_const_view given(const struct scene *scene, char *data, int64_t time, int64_t heads,
                                         int64_t first)
{
    rotary_attention_view v = view(scene, data, time, heads, first);
    return (rotary_attention_const_view){v.data, v.batch_stride, v.time_stride, v.head_stride};
}

/* Appends tokens begin ... end - 1 of every sentence. Those that a sentence lacks are NaN. */
static void append(const struct scene *scene, int64_t begin, int64_t end)
{
    const struct reference_case *c = &scene->c;
    const int64_t lengths[BATCH] = {begin, begin, begin};
    rotary_error error = {0};
    rotary_attention_append_call call = {
        .struct_size = sizeof call,
        .batch = BATCH,
        .tokens = end - begin,
        .capacity = c->keys,
        .lengths = lengths,
        .key = given(scene, scene->key, c->keys, c->key_value_heads, begin),
        .value = given(scene, scene->value, c->keys, c->key_value_heads, begin),
        .key_cache = view(scene, scene->key_cache, c->keys, c->key_value_heads, 0),
        .value_cache = view(scene, scene->value_cache, c->keys, c->key_value_heads, 0),
        .workspace = trial_memory(rotary_attention_append_bytes(scene->plan.attention, BATCH, end - begin)),
    };
    if (!CHECK_INT(rotary_attention_append(scene->plan.attention, &call, &error), ROTARY_OK))
        printf("%s\n", error.message);
    free(call.workspace);
}

static void decode(const struct scene *scene)
{
    const struct reference_case *c = &scene->c;
    rotary_error error = {0};
    rotary_attention_decode_call call = {
        .struct_size = sizeof call,
        .batch = BATCH,
        .queries = c->queries,
        .capacity = c->keys,
        .lengths = c->key_lengths,
        .query = given(scene, scene->query, c->queries, c->heads, 0),
        .key_cache = view(scene, scene->key_cache, c->keys, c->key_value_heads, 0),
        .value_cache = view(scene, scene->value_cache, c->keys, c->key_value_heads, 0),
        .output = view(scene, scene->output, c->queries, c->heads, 0),
        .positions = c->query_positions,
        .workspace =
            trial_memory(rotary_attention_decode_bytes(scene->plan.attention, BATCH, c->queries, c->keys)),
    };
    if (!CHECK_INT(rotary_attention_decode(scene->plan.attention, &call, &error), ROTARY_OK))
        printf("%s\n", error.message);
    free(call.workspace);
}

static void forward(const struct scene *scene)
{
    const struct reference_case *c = &scene->c;
    rotary_error error = {0};
    rotary_attention_forward_call call = {
        .struct_size = sizeof call,
        .shape = {BATCH, c->queries, c->keys, 0, 0},
        .query = given(scene, scene->query, c->queries, c->heads, 0),
        .key = given(scene, scene->key_cache, c->keys, c->key_value_heads, 0),
        .value = given(scene, scene->value_cache, c->keys, c->key_value_heads, 0),
        .output = view(scene, scene->output, c->queries, c->heads, 0),
        .keys_rotated = true,
        .key_lengths = c->key_lengths,
        .query_positions = c->query_positions,
    };
    call.workspace = trial_memory(rotary_attention_forward_call_bytes(scene->plan.attention, &call));
    if (!CHECK_INT(rotary_attention_forward(scene->plan.attention, &call, &error), ROTARY_OK))
        printf("%s\n", error.message);
    free(call.workspace);
}

/* Compares the output, then spoils it. */
static void check_output(struct scene *scene, const char *name)
{
    struct trial_results *r = &scene->results;
    int64_t count = reference_query_size(&scene->c);
    for (int64_t i = 0; i < count; i++)
        r->got.output[i] = (double)rotary_element(scene->output, i, reference_dtype(&scene->c));
    trial_compare(&scene->c, name, r->got.output, r->wanted.output, r->naive.output, count, 0);
    trial_hold(&scene->c, name, r->got.output, r->wanted.output, r->bound.output, count, 0);
    memset(scene->output, 0xff, (size_t)count * scene->element);
}

static void attend(struct scene *scene, rotary_isa isa, int threads)
{
    const struct reference_case *c = &scene->c;
    const struct reference_tensors *t = &scene->results.got;
    int64_t queries = reference_query_size(c), keys = reference_key_size(c);
    check_about("%s %s heads %lld/%lld dim %lld keys %lld beams %lld rotation %d", rotary_isa_name(isa),
                trial_type(c), (long long)c->heads, (long long)c->key_value_heads, (long long)c->head_dim,
                (long long)c->keys, (long long)c->queries, c->rope.present);
    scene->plan = trial_plan_make(c, isa, threads);
    scene->query = make_tensor(scene, t->query, queries);
    scene->key = make_tensor(scene, t->key, keys);
    scene->value = make_tensor(scene, t->value, keys);
    int64_t token = c->key_value_heads * c->head_dim;
    for (int64_t b = 0; b < BATCH; b++) {
        size_t from = (size_t)((b * c->keys + c->key_lengths[b]) * token) * scene->element,
               bytes = (size_t)((c->keys - c->key_lengths[b]) * token) * scene->element;
        memset(scene->key + from, 0xff, bytes);
        memset(scene->value + from, 0xff, bytes);
    }
    scene->key_cache = make_tensor(scene, NULL, keys);
    scene->value_cache = make_tensor(scene, NULL, keys);
    scene->output = make_tensor(scene, NULL, queries);
    append(scene, 0, 5);
    append(scene, 5, c->keys);
    decode(scene);
    check_output(scene, "decoded");
    forward(scene);
    check_output(scene, "forward");
    char *all[] = {scene->query,     scene->key,         scene->value,
                   scene->key_cache, scene->value_cache, scene->output};
    for (int i = 0; i < 6; i++)
        free(all[i]);
    trial_plan_free(&scene->plan);
}

static void try_scene(struct reference_case c, uint64_t seed)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    int32_t *positions = trial_memory((size_t)(BATCH * c.queries) * sizeof *positions);
    for (int64_t i = 0; i < BATCH * c.queries; i++)
        positions[i] = (int32_t)(STEP + i / c.queries * 3);
    c.batch = BATCH;
    c.query_positions = positions;
    c.scale = (double)(float)(1 / sqrt((double)c.head_dim));
    struct scene scene = {.c = c, .element = rotary_dtype_size(reference_dtype(&c))};
    scene.results = trial_results_make(&c, seed, 2);
    trial_results_expect(&c, &scene.results, false);
    for (int i = 0; i < count; i++)
        attend(&scene, isas[i], 1 + i % 3);
    trial_results_free(&scene.results);
    free(positions);
}

/* A cache without rows: outputs are 0, for few queries and for many. */
static void try_empty_cache(int64_t queries)
{
    struct reference_case c = {.heads = 2, .key_value_heads = 1, .head_dim = 8, .scale = 1};
    struct trial_plan plan = trial_plan_make(&c, ROTARY_ISA_AUTO, 2);
    float query[20 * 16], output[20 * 16];
    const int64_t lengths[1] = {0};
    rotary_error error = {0};
    for (int64_t i = 0; i < 16 * queries; i++)
        query[i] = output[i] = 1;
    rotary_attention_decode_call call = {
        .struct_size = sizeof call,
        .batch = 1,
        .queries = queries,
        .lengths = lengths,
        .query = {query, 16 * queries, 16, 8},
        .output = {output, 16 * queries, 16, 8},
        .workspace = trial_memory(rotary_attention_decode_bytes(plan.attention, 1, queries, 0)),
    };
    check_about("an empty cache and %lld queries", (long long)queries);
    CHECK_INT(rotary_attention_decode(plan.attention, &call, &error), ROTARY_OK);
    for (int64_t i = 0; i < 16 * queries; i++)
        CHECK(output[i] == 0);
    free(call.workspace);
    trial_plan_free(&plan);
}

/* Invalid steps are refused. */
static void try_refusals(void)
{
    struct reference_case c = {.heads = 2, .key_value_heads = 1, .head_dim = 8, .scale = 1};
    const int64_t lengths[1] = {2}, many[1] = {5};
    const int32_t source[2] = {0, 2};
    float data[64] = {0};
    rotary_error error = {0};
    rotary_attention_view cache = {data, 32, 8, 8};
    rotary_attention_decode_call call = {.struct_size = sizeof call,
                                         .batch = 1,
                                         .queries = 1,
                                         .capacity = 4,
                                         .lengths = lengths,
                                         .query = {data, 16, 16, 8},
                                         .key_cache = cache,
                                         .value_cache = cache,
                                         .output = {data, 16, 16, 8}};
    check_about("refusals");
    c.causal = true;
    struct trial_plan causal = trial_plan_make(&c, ROTARY_ISA_AUTO, 1);
    CHECK_INT(rotary_attention_decode(causal.attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message,
                "key and value have no data|wanted new keys and values, or a plan without causal");
    call.key = call.query;
    CHECK_INT(rotary_attention_decode(causal.attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "value has no data");
    trial_plan_free(&causal);
    call.key.data = NULL;
    c.causal = false;
    c.rope = (struct reference_rotation){.present = true, .dim = 8};
    struct trial_plan plan = trial_plan_make(&c, ROTARY_ISA_AUTO, 1);
    CHECK_INT(rotary_attention_decode(plan.attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "positions are missing in a step without new keys; wanted those of 1 queries");
    call.positions = source;
    call.distance_bias = (rotary_attention_distance_bias){.data = data, .distances = 1};
    CHECK_INT(rotary_attention_decode(plan.attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "distance_bias is given in a step without new keys");
    call.distance_bias.data = NULL;
    call.distance_keys = (rotary_attention_distance_vectors){.data = data, .distances = 1};
    CHECK_INT(rotary_attention_decode(plan.attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "distance_keys is given in a step without new keys");
    call.distance_keys.data = NULL;
    call.distance_values = (rotary_attention_distance_vectors){.data = data, .distances = 1};
    CHECK_INT(rotary_attention_decode(plan.attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "distance_values is given in a step without new keys");
    call.distance_values.data = NULL;
    call.distance_queries = (rotary_attention_distance_vectors){.data = data, .distances = 1};
    CHECK_INT(rotary_attention_decode(plan.attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "distance_queries is given in a step without new keys");
    call.distance_queries.data = NULL;
    call.lengths = many;
    CHECK_INT(rotary_attention_decode(plan.attention, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "sequence 0 has 5 tokens in a cache of 4");
    rotary_attention_append_call append_call = {.struct_size = sizeof append_call,
                                                .batch = 1,
                                                .tokens = 3,
                                                .capacity = 4,
                                                .lengths = lengths,
                                                .key = {data, 24, 8, 8},
                                                .value = {data, 24, 8, 8},
                                                .key_cache = cache,
                                                .value_cache = cache};
    CHECK_INT(rotary_attention_append(plan.attention, &append_call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "sequence 0 has 2 tokens in a cache of 4, and 3 more do not fit");
    append_call.tokens = 2;
    append_call.key.data = NULL;
    CHECK_INT(rotary_attention_append(plan.attention, &append_call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "key has no data");
    append_call.key.data = data;
    CHECK_INT(rotary_attention_append(plan.attention, &append_call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "there is no workspace");
    rotary_attention_forward_call forward_call = {.struct_size = sizeof forward_call,
                                                  .shape = {1, 1, 4, 0, 0},
                                                  .query = call.query,
                                                  .key = {data, 32, 8, 8},
                                                  .value = {data, 32, 8, 8},
                                                  .output = {data, 16, 16, 8},
                                                  .keys_rotated = true,
                                                  .key_positions = source};
    CHECK_INT(rotary_attention_forward(plan.attention, &forward_call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "key_positions are given with keys_rotated");
    forward_call.key_positions = NULL;
    forward_call.distance_queries = (rotary_attention_distance_vectors){.data = data, .distances = 1};
    CHECK_INT(rotary_attention_forward(plan.attention, &forward_call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "distance_queries are given with keys that are rotated");
    trial_plan_free(&plan);
}

int main(void)
{
    static const int64_t lengths[][BATCH] = {{17, 0, 40}, {300, 1, 260}};
    static const struct reference_case cases[] = {
        {0, 4, 4, 32, 1, 40, 0, 0, .causal = false},   {0, 4, 2, 24, 4, 40, 0, 0, .causal = false},
        {0, 4, 2, 40, 13, 40, 0, 0, .causal = false},  {0, 16, 16, 64, 5, 300, 0, 0, .softcap = 3},
        {0, 2, 1, 64, 40, 300, 0, 0, .causal = false},
    };
    for (int i = 0; i < 5; i++)
        for (int bits = 0; bits < 4; bits++) {
            struct reference_case c = cases[i];
            c.bf16 = bits & 1;
            c.f16 = i == 2 && !c.bf16;
            c.key_lengths = lengths[i >= 3];
            if (bits & 2) {
                c.rope = (struct reference_rotation){.present = true, .dim = c.head_dim};
                c.value_rope = (struct reference_rotation){.present = true, .dim = 16, .interleaved = true};
            }
            try_scene(c, (uint64_t)(1000 + 100 * i + 10 * bits));
        }
    try_empty_cache(1);
    try_empty_cache(20);
    try_refusals();
    return check_report();
}
