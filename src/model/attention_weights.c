/* SPDX-License-Identifier: Apache-2.0 */
#include "model/attention_weights.h"

#include "base/fail.h"
#include "base/half.h"
#include "base/integer.h"
#include "layer/sublayer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors of a call, on the host ---- */

/* [rows, heads, dim] in f32. */
struct vectors {
    float *data;
    int64_t rows, heads, dim;
};

static const float *vector(const struct vectors *v, int64_t row, int64_t head)
{
    return v->data + (row * v->heads + head) * v->dim;
}

/* Reads one sequence. v has its sizes; the caller frees v->data. */
static rotary_status read_vectors(const struct backend *backend, struct vectors *v,
                                  rotary_attention_const_view view, rotary_error *error)
{
    size_t element = rotary_dtype_size(backend->storage), bytes = (size_t)v->dim * element;
    void *row = malloc(bytes);
    v->data = malloc((size_t)(v->rows * v->heads * v->dim) * sizeof *v->data);
    rotary_status status = row && v->data ? ROTARY_OK : rotary_fail_memory(error, "for attention weights");
    for (int64_t i = 0; status == ROTARY_OK && i < v->rows * v->heads; i++) {
        int64_t offset = i / v->heads * view.time_stride + i % v->heads * view.head_stride;
        const char *from = (const char *)view.data + (size_t)offset * element;
        status = backend->operations->read(backend, row, from, bytes, error);
        for (int64_t c = 0; status == ROTARY_OK && c < v->dim; c++)
            v->data[i * v->dim + c] = backend->storage == ROTARY_F32
                                          ? ((const float *)row)[c]
                                          : rotary_bf16_to_float(((const uint16_t *)row)[c]);
    }
    free(row);
    return status;
}

/* A rotation of queries, keys or values, in place. */
struct rotation {
    const rotary_rope *rope; /* NULL: none */
    rotary_direction direction;
    int64_t first;            /* position of the first row */
    const int32_t *positions; /* [rows]; NULL: first, first + 1, ... */
};

enum role { ROLE_QUERY, ROLE_KEY, ROLE_VALUE };

static rotary_status rotate(const struct vectors *v, enum role role, struct rotation rotation,
                            rotary_error *error)
{
    if (!rotation.rope)
        return ROTARY_OK;
    int64_t row = v->heads * v->dim;
    const rotary_rope_tensor tensor = {.heads = v->heads,
                                       .input = {v->data, ROTARY_F32, v->rows * row, row, v->dim},
                                       .output = {v->data, ROTARY_F32, v->rows * row, row, v->dim}};
    rotary_rope_apply_call call = {.struct_size = sizeof call,
                                   .batch = 1,
                                   .time = v->rows,
                                   .direction = rotation.direction,
                                   .positions = {.offset = rotation.positions ? 0 : rotation.first,
                                                 .array = rotation.positions,
                                                 .array_type = ROTARY_POSITION_I32}};
    *(role == ROLE_QUERY ? &call.query : role == ROLE_KEY ? &call.key : &call.value) = tensor;
    return rotary_rope_apply(rotation.rope, &call, error);
}

/* The arrays of a piecewise-linear bias. */
enum { INTERCEPTS, SLOPES, KNOTS, INPUTS, SCALES, PIECEWISE_ARRAYS };

/* A call of attention for one sequence, on the host: queries, keys and values rotated as its scores want
 * them, and the output rotated as its sum over values is. */
struct scene {
    const rotary_attention_config *config;
    const rotary_attention_forward_call *call;
    struct vectors query, key, value, output;
    float *distance_bias;               /* [heads, head stride]; NULL: none */
    float *piecewise[PIECEWISE_ARRAYS]; /* as those of the call; NULL: none */
    /* These are of vectors by distance, laid out as those of the call; NULL: none. */
    float *distance_keys, *distance_queries, *distance_values;
    float *query_bias;              /* [heads, head_dim]; NULL: none */
    float *sinks;                   /* [heads]; NULL: none */
    struct vectors unrotated_query; /* of distance_keys */
    double *scores, *biases;        /* [keys], of one query */
};

static void free_scene(struct scene *scene)
{
    free(scene->query.data);
    free(scene->key.data);
    free(scene->value.data);
    free(scene->output.data);
    free(scene->distance_bias);
    for (int i = 0; i < PIECEWISE_ARRAYS; i++)
        free(scene->piecewise[i]);
    free(scene->distance_keys);
    free(scene->distance_queries);
    free(scene->distance_values);
    free(scene->query_bias);
    free(scene->sinks);
    free(scene->unrotated_query.data);
    free(scene->scores);
    free(scene->biases);
}

/* Copies `count` floats to *to, which the caller frees; none where `from` is NULL. */
static rotary_status read_floats(const struct backend *backend, float **to, const float *from, int64_t count,
                                 rotary_error *error)
{
    if (!from)
        return ROTARY_OK;
    size_t bytes = (size_t)count * sizeof **to;
    *to = malloc(bytes);
    if (!*to)
        return rotary_fail_memory(error, "for attention weights");
    return backend->operations->read(backend, *to, from, bytes, error);
}

/* What is before vector 0 in memory: vectors that lie backwards. */
static int64_t vectors_before(const rotary_attention_distance_vectors *vectors)
{
    return max_i64(0, -(vectors->distances - 1) * vectors->distance_stride);
}

static rotary_status read_distance_vectors(const struct backend *backend, float **to,
                                           const rotary_attention_config *config,
                                           const rotary_attention_distance_vectors *vectors,
                                           rotary_error *error)
{
    int64_t before = vectors_before(vectors), span = (vectors->distances - 1) * vectors->distance_stride;
    int64_t count = (config->heads - 1) * vectors->head_stride + max_i64(before, span) + config->head_dim;
    return read_floats(backend, to, vectors->data ? vectors->data - before : NULL, count, error);
}

static rotary_status read_piecewise(const struct backend *backend, struct scene *scene, rotary_error *error)
{
    const rotary_attention_piecewise_bias *bias = &scene->call->piecewise_bias;
    int64_t functions = scene->config->heads * bias->segments;
    const struct {
        const float *from;
        int64_t count;
    } arrays[PIECEWISE_ARRAYS] = {[INTERCEPTS] = {bias->intercepts, functions},
                                  [SLOPES] = {bias->slopes, functions},
                                  [KNOTS] = {bias->knots, bias->segments - 1},
                                  [INPUTS] = {bias->distance_inputs, bias->distances},
                                  [SCALES] = {bias->query_scales, bias->positions}};
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < PIECEWISE_ARRAYS && status == ROTARY_OK; i++)
        status = read_floats(backend, &scene->piecewise[i], arrays[i].from, arrays[i].count, error);
    return status;
}

/* What scores and values have by distance. */
static rotary_status read_terms(const struct backend *backend, struct scene *scene, rotary_error *error)
{
    const rotary_attention_config *config = scene->config;
    const rotary_attention_forward_call *call = scene->call;
    const rotary_attention_distance_bias *bias = &call->distance_bias;
    rotary_status status = read_floats(backend, &scene->distance_bias, bias->data,
                                       (config->heads - 1) * bias->head_stride + bias->distances, error);
    if (status == ROTARY_OK)
        status = read_piecewise(backend, scene, error);
    if (status == ROTARY_OK)
        status = read_distance_vectors(backend, &scene->distance_keys, config, &call->distance_keys, error);
    if (status == ROTARY_OK)
        status =
            read_distance_vectors(backend, &scene->distance_queries, config, &call->distance_queries, error);
    if (status == ROTARY_OK)
        status =
            read_distance_vectors(backend, &scene->distance_values, config, &call->distance_values, error);
    if (status == ROTARY_OK)
        status = read_floats(backend, &scene->query_bias, call->query_bias, config->heads * config->head_dim,
                             error);
    if (status == ROTARY_OK)
        status = read_floats(backend, &scene->sinks, call->sinks, config->heads, error);
    if (status != ROTARY_OK || !scene->distance_keys)
        return status;
    scene->unrotated_query = (struct vectors){NULL, call->shape.queries, config->heads, config->head_dim};
    return read_vectors(backend, &scene->unrotated_query, call->query, error);
}

static rotary_status read_scene(const struct backend *backend, struct scene *scene, rotary_error *error)
{
    const rotary_attention_config *config = scene->config;
    const rotary_attention_forward_call *call = scene->call;
    rotary_attention_const_view output = {call->output.data, call->output.batch_stride,
                                          call->output.time_stride, call->output.head_stride};
    struct vectors queries = {NULL, call->shape.queries, config->heads, config->head_dim},
                   keys = {NULL, call->shape.keys, config->key_value_heads, config->head_dim};
    scene->query = scene->output = queries;
    scene->key = scene->value = keys;
    scene->scores = malloc((size_t)keys.rows * sizeof *scene->scores);
    scene->biases = malloc((size_t)keys.rows * sizeof *scene->biases);
    rotary_status status =
        scene->scores && scene->biases ? ROTARY_OK : rotary_fail_memory(error, "for attention weights");
    if (status == ROTARY_OK)
        status = read_vectors(backend, &scene->query, call->query, error);
    if (status == ROTARY_OK)
        status = read_vectors(backend, &scene->key, call->key, error);
    if (status == ROTARY_OK)
        status = read_vectors(backend, &scene->value, config->key_is_value ? call->key : call->value, error);
    if (status == ROTARY_OK)
        status = read_vectors(backend, &scene->output, output, error);
    return status == ROTARY_OK ? read_terms(backend, scene, error) : status;
}

/* The plan that rotates `part`; NULL: none does. */
static const rotary_rope *rope_of(const rotary_attention_config *config, rotary_attention_rotate part)
{
    const unsigned key_value = ROTARY_ROTATE_KEY | ROTARY_ROTATE_VALUE;
    const bool shared = config->key_is_value && (part & key_value);
    if (config->rotate && !(config->rotate & (shared ? key_value : (unsigned)part)))
        return NULL;
    return shared || (part & ROTATE_QUERY_KEY) ? config->rope : config->value_rope;
}

static rotary_status rotate_scene(const struct scene *scene, rotary_error *error)
{
    const rotary_attention_config *config = scene->config;
    const rotary_attention_forward_call *call = scene->call;
    struct rotation query = {NULL, ROTARY_FORWARD, call->shape.first_query, call->query_positions},
                    key = {NULL, ROTARY_FORWARD, call->shape.first_key, call->key_positions};
    query.rope = rope_of(config, ROTARY_ROTATE_QUERY);
    rotary_status status = rotate(&scene->query, ROLE_QUERY, query, error);
    key.rope = rope_of(config, ROTARY_ROTATE_KEY);
    if (status == ROTARY_OK)
        status = rotate(&scene->key, ROLE_KEY, key, error);
    key.rope = rope_of(config, ROTARY_ROTATE_VALUE);
    if (status == ROTARY_OK)
        status = rotate(&scene->value, ROLE_VALUE, key, error);
    query.rope = rope_of(config, ROTARY_ROTATE_OUTPUT);
    return status == ROTARY_OK ? rotate(&scene->output, ROLE_VALUE, query, error) : status;
}

/* ---- weights ---- */

/* Keys first ... end - 1. */
struct range {
    int64_t first, end;
};

static struct range visible_keys(const struct scene *scene, int64_t query)
{
    const rotary_attention_config *config = scene->config;
    const rotary_attention_forward_call *call = scene->call;
    struct range keys = {0, call->key_lengths ? call->key_lengths[0] : call->shape.keys};
    int64_t own = call->shape.first_query + query - call->shape.first_key;
    if (config->causal)
        keys.end = min_i64(keys.end, own + 1);
    if (config->causal && config->window > 0)
        keys.first = max_i64(0, own + 1 - config->window);
    keys.end = max_i64(keys.end, keys.first);
    return keys;
}

/* The entry of the distance from query m to key n among `distances` that begin with `first`. */
static int64_t entry_of(const struct scene *scene, int64_t m, int64_t n, int64_t first, int64_t distances)
{
    const rotary_attention_shape *shape = &scene->call->shape;
    int64_t distance = shape->first_key + n - shape->first_query - m;
    return max_i64(0, min_i64(distance - first, distances - 1));
}

/* The vector of a head at the distance from query m to key n. */
static const float *distance_vector(const struct scene *scene, const float *data,
                                    const rotary_attention_distance_vectors *of, int64_t head, int64_t m,
                                    int64_t n)
{
    return data + vectors_before(of) + head * of->head_stride +
           entry_of(scene, m, n, of->first, of->distances) * of->distance_stride;
}

/* (q + query_bias) . vector, before the scale. */
static double distance_key_product(const struct scene *scene, int64_t head, int64_t m, int64_t n)
{
    const float *q = vector(&scene->unrotated_query, m, head),
                *key = distance_vector(scene, scene->distance_keys, &scene->call->distance_keys, head, m, n);
    int64_t dim = scene->config->head_dim;
    double sum = 0;
    for (int64_t c = 0; c < dim; c++) {
        double bias = scene->query_bias ? (double)scene->query_bias[head * dim + c] : 0.0;
        sum += ((double)q[c] + bias) * (double)key[c];
    }
    return sum;
}

/* k . vector, before the scale; keys that meet such vectors are not rotated. */
static double distance_query_product(const struct scene *scene, int64_t head, int64_t m, int64_t n)
{
    const rotary_attention_config *config = scene->config;
    const float *k = vector(&scene->key, n, head / (config->heads / config->key_value_heads)),
                *query = distance_vector(scene, scene->distance_queries, &scene->call->distance_queries, head,
                                         m, n);
    double sum = 0;
    for (int64_t c = 0; c < config->head_dim; c++)
        sum += (double)k[c] * (double)query[c];
    return sum;
}

/* The part of a score that depends on what query and key hold. */
static double content_score(const struct scene *scene, int64_t head, int64_t m, int64_t n)
{
    const rotary_attention_config *config = scene->config;
    const float *q = vector(&scene->query, m, head),
                *k = vector(&scene->key, n, head / (config->heads / config->key_value_heads));
    double sum = 0,
           scale = config->scale != 0.0f ? (double)config->scale : 1.0 / sqrt((double)config->head_dim);
    for (int64_t c = 0; c < config->head_dim; c++)
        sum += (double)q[c] * (double)k[c];
    sum *= scale;
    if (config->softcap > 0)
        sum = (double)config->softcap * tanh(sum / (double)config->softcap);
    if (scene->distance_keys)
        sum += scale * distance_key_product(scene, head, m, n);
    if (scene->distance_queries)
        sum += scale * distance_query_product(scene, head, m, n);
    return sum;
}

static double piecewise_bias(const struct scene *scene, int64_t head, int64_t m, int64_t n)
{
    const rotary_attention_piecewise_bias *bias = &scene->call->piecewise_bias;
    int64_t position = scene->call->shape.first_query + m, segment = 0;
    position = max_i64(0, min_i64(position, bias->positions - 1));
    double x = (double)scene->piecewise[INPUTS][entry_of(scene, m, n, bias->first, bias->distances)] *
               (double)scene->piecewise[SCALES][position];
    while (segment < bias->segments - 1 && (double)scene->piecewise[KNOTS][segment] <= x)
        segment++;
    segment += head * bias->segments;
    return (double)scene->piecewise[INTERCEPTS][segment] + (double)scene->piecewise[SLOPES][segment] * x;
}

/* The part of it that depends on their places alone. */
static double bias_of(const struct scene *scene, int64_t head, int64_t m, int64_t n)
{
    const rotary_attention_distance_bias *bias = &scene->call->distance_bias;
    double sum = scene->piecewise[INTERCEPTS] ? piecewise_bias(scene, head, m, n) : 0.0;
    if (scene->distance_bias)
        sum += (double)scene->distance_bias[head * bias->head_stride +
                                            entry_of(scene, m, n, bias->first, bias->distances)];
    return sum;
}

/* A bias of this or less masks a key (rotary_attention_bias). */
#define MASKED (-1e30)

/* The weights of one query, [keys], which are zero before, and its scores and biases. */
static void softmax(const struct scene *scene, int64_t head, int64_t m, float *weights)
{
    struct range keys = visible_keys(scene, m);
    double max = -INFINITY, sum = 0;
    for (int64_t n = keys.first; n < keys.end; n++) {
        scene->biases[n] = bias_of(scene, head, m, n);
        scene->scores[n] = content_score(scene, head, m, n) + scene->biases[n];
        max = fmax(max, scene->scores[n]);
    }
    if (max <= MASKED)
        return;
    if (scene->sinks) {
        max = fmax(max, (double)scene->sinks[head]);
        sum = exp((double)scene->sinks[head] - max);
    }
    for (int64_t n = keys.first; n < keys.end; n++)
        sum += exp(scene->scores[n] - max);
    for (int64_t n = keys.first; n < keys.end; n++)
        weights[n] = (float)(exp(scene->scores[n] - max) / sum);
}

/* The larger one; a NaN if there is one. */
static double worse(double a, double b)
{
    return isnan(a) || b <= a ? a : b;
}

/* Channel c of what head `head` of query m reads at key n: the value, and its vector by distance. */
static double value_at(const struct scene *scene, int64_t head, int64_t m, int64_t n, int64_t c)
{
    int64_t value_head = head / (scene->config->heads / scene->config->key_value_heads);
    double value = (double)vector(&scene->value, n, value_head)[c];
    if (scene->distance_values)
        value += (double)distance_vector(scene, scene->distance_values, &scene->call->distance_values, head,
                                         m, n)[c];
    return value;
}

/* The largest difference of attention's output for one query from the sum over values with these weights. */
static double difference_of(const struct scene *scene, int64_t head, int64_t m, const float *weights)
{
    double largest = 0;
    for (int64_t c = 0; c < scene->config->head_dim; c++) {
        double sum = 0;
        for (int64_t n = 0; n < scene->value.rows; n++)
            sum += (double)weights[n] * value_at(scene, head, m, n, c);
        largest = worse(largest, fabs(sum - (double)vector(&scene->output, m, head)[c]));
    }
    return largest;
}

static double largest_value(const struct vectors *v)
{
    double largest = 0;
    for (int64_t i = 0; i < v->rows * v->heads * v->dim; i++)
        largest = fmax(largest, fabs((double)v->data[i]));
    return largest;
}

static void softmax_layer(const struct scene *scene, struct attention_weights *to, int64_t layer)
{
    double largest = largest_value(&scene->value), scale = largest > 0 ? largest : 1;
    for (int64_t m = 0; m < to->queries; m++) {
        struct range keys = visible_keys(scene, m);
        to->visible[layer * to->queries + m] = (int32_t)(keys.end - keys.first);
    }
    for (int64_t head = 0; head < to->heads; head++)
        for (int64_t m = 0; m < to->queries; m++) {
            float *weights = to->weights + ((layer * to->heads + head) * to->queries + m) * to->keys;
            softmax(scene, head, m, weights);
            to->difference = worse(to->difference, difference_of(scene, head, m, weights) / scale);
        }
}

/* ---- the pass ---- */

/* Room for one layer more, of weights 0. */
static rotary_status add_layer(struct attention_weights *weights, const struct scene *scene,
                               rotary_error *error)
{
    const rotary_attention_shape *shape = &scene->call->shape;
    int64_t heads = scene->config->heads, layer = heads * shape->queries * shape->keys;
    size_t layers = (size_t)weights->layers + 1;
    float *grown = realloc(weights->weights, layers * (size_t)layer * sizeof *grown);
    if (grown)
        weights->weights = grown;
    int32_t *visible = realloc(weights->visible, layers * (size_t)shape->queries * sizeof *visible);
    if (visible)
        weights->visible = visible;
    if (!grown || !visible)
        return rotary_fail_memory(error, "for the weights of %zu layers", layers);
    memset(grown + weights->layers * layer, 0, (size_t)layer * sizeof *grown);
    weights->heads = heads;
    weights->queries = shape->queries;
    weights->keys = shape->keys;
    weights->layers++;
    return ROTARY_OK;
}

/* A decoder alone is causal, and nothing else is. */
static enum attention_kind kind_of(const struct sublayer *sublayer, const rotary_attention_config *config)
{
    if (strcmp(sublayer->type->name, "cross_attention") == 0)
        return ATTENTION_CROSS;
    return config->causal ? ATTENTION_DECODER : ATTENTION_ENCODER;
}

/* The call of attention that an observer sees, on the host. The caller frees the scene, also after an error.
 */
static rotary_status make_scene(struct scene *scene, const struct sublayer *sublayer,
                                const struct backend_attention_forward *operation, rotary_error *error)
{
    *scene = (struct scene){.config = sublayer->backend->operations->attention_config(operation->plan),
                            .call = operation->call};
    if (scene->call->shape.batch != 1 || scene->call->packed_sequences.query_starts ||
        scene->call->bias.data || scene->call->keys_rotated)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "attention with several sequences, a bias or a cache: its weights are made of one "
                           "sequence without");
    rotary_status status = read_scene(sublayer->backend, scene, error);
    return status == ROTARY_OK ? rotate_scene(scene, error) : status;
}

/* `context`: the weights so far, [ATTENTION_KINDS]. Attention is called layer by layer. */
static rotary_status see(void *context, const struct sublayer *sublayer,
                         const struct backend_attention_forward *operation, rotary_error *error)
{
    struct scene scene;
    rotary_status status = make_scene(&scene, sublayer, operation, error);
    if (status == ROTARY_OK) {
        struct attention_weights *weights = context;
        weights += kind_of(sublayer, scene.config);
        status = add_layer(weights, &scene, error);
        if (status == ROTARY_OK)
            softmax_layer(&scene, weights, weights->layers - 1);
    }
    free_scene(&scene);
    return status;
}

/* A forward pass of one sequence. */
static rotary_status observe(struct transformer *transformer, const struct attention_weights_call *call,
                             const struct attention_observer *observer, rotary_error *error)
{
    struct batch batch = {.input = {.batch = 1, .time = call->count, .tokens = call->tokens}};
    if (call->source)
        batch.source =
            (struct token_sequences){.batch = 1, .time = call->source_count, .tokens = call->source};
    return transformer_observe(transformer, &batch, observer, error);
}

rotary_status attention_weights_create(struct attention_weights weights[ATTENTION_KINDS],
                                       struct transformer *transformer,
                                       const struct attention_weights_call *call, rotary_error *error)
{
    struct attention_weights made[ATTENTION_KINDS] = {{0}};
    const struct attention_observer observer = {.see = see, .context = made};
    rotary_status status = observe(transformer, call, &observer, error);
    if (status == ROTARY_OK)
        memcpy(weights, made, sizeof made);
    else
        attention_weights_free(made);
    return status;
}

void attention_weights_free(struct attention_weights weights[ATTENTION_KINDS])
{
    for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
        free(weights[kind].weights);
        free(weights[kind].visible);
        weights[kind] = (struct attention_weights){0};
    }
}

/* ---- row by row ---- */

/* The work of attention_rows. */
struct rows {
    const struct attention_row_observer *observer;
    int64_t layers[ATTENTION_KINDS]; /* seen so far */
};

/* No rotation changes it. */
static double output_norm(const struct scene *scene, int64_t head, int64_t m)
{
    const float *output = vector(&scene->output, m, head);
    double sum = 0;
    for (int64_t c = 0; c < scene->config->head_dim; c++)
        sum += (double)output[c] * (double)output[c];
    return sqrt(sum);
}

static rotary_status see_scene(const struct rows *rows, const struct scene *scene, enum attention_kind kind,
                               float *weights, rotary_error *error)
{
    const rotary_attention_shape *shape = &scene->call->shape;
    const int64_t heads = scene->config->heads, queries = shape->queries;
    rotary_status status = ROTARY_OK;
    for (int64_t i = 0; status == ROTARY_OK && i < heads * queries; i++) {
        const int64_t head = i / queries, query = i % queries;
        const struct range keys = visible_keys(scene, query);
        memset(weights, 0, (size_t)shape->keys * sizeof *weights);
        softmax(scene, head, query, weights);
        const struct attention_row row = {.kind = kind,
                                          .layer = rows->layers[kind],
                                          .heads = heads,
                                          .head = head,
                                          .query = query,
                                          .first = keys.first,
                                          .end = keys.end,
                                          .scores = scene->scores,
                                          .biases = scene->biases,
                                          .weights = weights,
                                          .output_norm = output_norm(scene, head, query)};
        status = rows->observer->see(rows->observer->context, &row, error);
    }
    return status;
}

static rotary_status see_rows(void *context, const struct sublayer *sublayer,
                              const struct backend_attention_forward *operation, rotary_error *error)
{
    struct rows *rows = context;
    struct scene scene;
    rotary_status status = make_scene(&scene, sublayer, operation, error);
    if (status == ROTARY_OK) {
        const enum attention_kind kind = kind_of(sublayer, scene.config);
        float *weights = malloc((size_t)scene.call->shape.keys * sizeof *weights);
        status = weights ? see_scene(rows, &scene, kind, weights, error)
                         : rotary_fail_memory(error, "for attention weights");
        free(weights);
        rows->layers[kind]++;
    }
    free_scene(&scene);
    return status;
}

rotary_status attention_rows(struct transformer *transformer, const struct attention_weights_call *call,
                             const struct attention_row_observer *observer, rotary_error *error)
{
    struct rows rows = {.observer = observer};
    const struct attention_observer calls = {.see = see_rows, .context = &rows};
    return observe(transformer, call, &calls, error);
}
