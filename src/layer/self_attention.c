/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-head self-attention as a sublayer: one projection to queries, keys and values, attention, and the
 * output projection.
 *
 * Queries, keys and values stay side by side in the rows of the projection, [rows, (heads + 2
 * key_value_heads) head_dim]. Attention reads them there by stride: nothing is transposed or copied in
 * between. Where keys are the values, the projection has no values.
 */
#include "backend/profile.h"
#include "base/fail.h"
#include "layer/attention_views.h"
#include "layer/attention_workspace.h"
#include "layer/encoding/relative_vectors.h"
#include "layer/query_key_norm.h"
#include "layer/sublayer_parts.h"

#include <stdio.h>
#include <stdlib.h>

struct self_attention {
    struct sublayer sublayer;
    struct linear *query_key_value, *output; /* "<name>.query_key_value", "<name>.output" */
    bool has_norms;
    struct projection_norm query_norm, key_norm; /* "<name>.query_norm", "<name>.key_norm" */
    struct relative_vectors vectors;             /* "<name>.relative_..." */
    struct distance_bias bias;                   /* of this layer alone; empty where there is none */
    int sinks;                                   /* "<name>.sinks", in the table of parameters; -1: none */
    struct matrix qkv;                           /* saved: [rows, qkv_columns] */
    /* Saved: [rows, (heads + key_value_heads) head_dim], queries and keys as attention reads them. With norms
     * and training beside those in qkv, else there. */
    struct matrix query_key;
    struct matrix context;          /* saved: attention's output, [rows, heads head_dim] */
    float *log_sum_exp;             /* saved: [batch, heads, time] */
    struct matrix d_qkv, d_context; /* scratch */
    struct matrix d_values; /* scratch: of unrotated keys that are values, [rows, key_value_heads head_dim] */
    void *workspace;        /* scratch */
    size_t workspace_bytes;
};

static struct self_attention *of(struct sublayer *sublayer)
{
    return (struct self_attention *)sublayer;
}

static int64_t qkv_columns(const struct sublayer_config *config)
{
    const int64_t projections = config->key_is_value == KEY_IS_VALUE_NO ? 2 : 1; /* of keys, and of values */
    return (config->heads + projections * config->key_value_heads) * config->head_dim;
}

static int64_t query_key_columns(const struct sublayer_config *config)
{
    return (config->heads + config->key_value_heads) * config->head_dim;
}

static void destroy(struct sublayer *sublayer)
{
    struct self_attention *layer = of(sublayer);
    linear_destroy(layer->query_key_value);
    linear_destroy(layer->output);
    relative_vectors_destroy(&layer->vectors);
    distance_bias_destroy(&layer->bias);
    free(layer);
}

static rotary_status create_bias(struct distance_bias *bias, const struct backend *backend,
                                 const struct sublayer_config *config, struct parameters *parameters,
                                 rotary_error *error)
{
    struct distance_bias_config own = config->layer_bias;
    char prefix[48] = "";
    if (distance_bias_segments(&own) == 0)
        return ROTARY_OK;
    if (config->name)
        snprintf(prefix, sizeof prefix, "%.46s.", config->name);
    own.prefix = prefix;
    return distance_bias_create(bias, backend, &own, parameters, error);
}

/* A sink of 0 is one more key, which queries attend to as to any whose score is 0. */
static rotary_status create_sinks(int *sinks, const struct sublayer_config *config,
                                  struct parameters *parameters, rotary_error *error)
{
    struct parameter row = {.rows = config->heads, .initial = INITIAL_ZERO};
    *sinks = -1;
    if (!config->sinks)
        return ROTARY_OK;
    snprintf(row.name, sizeof row.name, "%s%ssinks", config->name ? config->name : "",
             config->name ? "." : "");
    return parameters_add(parameters, &row, sinks, error);
}

static rotary_status create(struct sublayer **sublayer, const struct backend *backend,
                            const struct sublayer_config *config, struct parameters *parameters,
                            rotary_error *error)
{
    struct self_attention *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for sublayer \"%s\"", config->name);
    const struct sublayer_linear in = {.name = "query_key_value",
                                       .inputs = config->width,
                                       .outputs = qkv_columns(config),
                                       .first_outputs = config->heads * config->head_dim,
                                       .next_outputs = config->key_value_heads * config->head_dim,
                                       .bias = config->in_bias};
    const struct sublayer_linear out = {.name = "output",
                                        .inputs = config->heads * config->head_dim,
                                        .outputs = config->width,
                                        .bias = config->out_bias,
                                        .joins = true};
    rotary_status status =
        sublayer_add_linear(&made->query_key_value, backend, config, &in, parameters, error);
    if (status == ROTARY_OK)
        status = sublayer_add_linear(&made->output, backend, config, &out, parameters, error);
    made->has_norms = config->query_key_norm != QUERY_KEY_NORM_NONE;
    if (status == ROTARY_OK)
        status = query_key_norms_create(&made->query_norm, &made->key_norm, config, parameters, error);
    if (status == ROTARY_OK)
        status = relative_vectors_create(&made->vectors, backend, config, parameters, error);
    if (status == ROTARY_OK)
        status = create_bias(&made->bias, backend, config, parameters, error);
    if (status == ROTARY_OK)
        status = create_sinks(&made->sinks, config, parameters, error);
    if (status == ROTARY_OK)
        *sublayer = &made->sublayer;
    else
        destroy(&made->sublayer);
    return status;
}

static size_t weight_bytes(const struct sublayer *sublayer)
{
    const struct self_attention *layer = (const struct self_attention *)sublayer;
    return linear_bytes(layer->query_key_value) + linear_bytes(layer->output) +
           relative_vectors_bytes(&layer->vectors);
}

static void carve_saved(struct sublayer *sublayer, struct rotary_arena *arena)
{
    struct self_attention *layer = of(sublayer);
    const struct sublayer_config *config = &sublayer->config;
    layer->qkv = sublayer_push(sublayer, arena, qkv_columns(config));
    int64_t rows = config->batch * config->time, columns = query_key_columns(config);
    layer->query_key = matrix_block(layer->qkv, 0, rows, 0, columns);
    if (layer->has_norms && config->training) {
        layer->query_key = sublayer_push(sublayer, arena, columns);
        projection_norm_carve(&layer->query_norm, arena, rows);
        projection_norm_carve(&layer->key_norm, arena, rows);
    }
    layer->context = sublayer_push(sublayer, arena, config->heads * config->head_dim);
    layer->log_sum_exp = rotary_arena_push(arena, rows * config->heads, sizeof(float));
}

static struct attention_extent extent_of(const struct sublayer_tokens *tokens)
{
    return (struct attention_extent){
        .shape = {.batch = tokens->batch, .queries = tokens->time, .keys = tokens->time},
        .packed_sequences = {.query_starts = tokens->starts, .sequences = tokens->sequences}};
}

static rotary_status check_workspace(const struct self_attention *layer, const struct sublayer_tokens *tokens,
                                     rotary_error *error)
{
    if (tokens->positions && !layer->sublayer.config.positions)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "positions of tokens: the model was not created for them");
    const struct attention_extent extent = extent_of(tokens);
    if (tokens->starts && attention_workspace_bytes(&layer->sublayer, &extent) > layer->workspace_bytes)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld packed sequences of %lld tokens: the model was created for fewer tokens, or "
                           "not for packed sequences",
                           (long long)tokens->sequences, (long long)tokens->time);
    return ROTARY_OK;
}

static void carve_scratch(struct sublayer *sublayer, struct rotary_arena *arena)
{
    struct self_attention *layer = of(sublayer);
    layer->workspace_bytes =
        attention_max_workspace_bytes(sublayer, sublayer->config.time, sublayer->config.time);
    layer->workspace = rotary_arena_push(arena, (int64_t)layer->workspace_bytes, 1);
    if (!sublayer->config.training)
        return;
    relative_vectors_carve_scratch(&layer->vectors, arena);
    layer->d_qkv = sublayer_push(sublayer, arena, qkv_columns(&sublayer->config));
    layer->d_context = sublayer_push(sublayer, arena, sublayer->config.heads * sublayer->config.head_dim);
    if (sublayer->config.key_is_value == KEY_IS_VALUE_UNROTATED)
        layer->d_values =
            sublayer_push(sublayer, arena, sublayer->config.key_value_heads * sublayer->config.head_dim);
}

struct query_key_value {
    rotary_attention_view query, key, value; /* value.data NULL: it is the rotated key */
};

/* query_key and values: matrices that begin with queries, then keys, and with queries, keys, values. */
static struct query_key_value split_heads(const struct sublayer_config *config, struct matrix query_key,
                                          struct matrix qkv, int64_t time)
{
    int64_t dim = config->head_dim;
    struct query_key_value heads = {.query = heads_of(query_key, time, 0, dim),
                                    .key = heads_of(query_key, time, config->heads, dim)};
    if (config->key_is_value == KEY_IS_VALUE_NO)
        heads.value = heads_of(qkv, time, config->heads + config->key_value_heads, dim);
    else if (config->key_is_value == KEY_IS_VALUE_UNROTATED)
        heads.value = heads.key;
    return heads;
}

static struct matrix queries_of(const struct sublayer_config *config, struct matrix m)
{
    return matrix_block(m, 0, m.rows, 0, config->heads * config->head_dim);
}

static struct matrix keys_of(const struct sublayer_config *config, struct matrix m)
{
    return matrix_block(m, 0, m.rows, config->heads * config->head_dim,
                        config->key_value_heads * config->head_dim);
}

/* qkv of the rows of `in`; the norms of queries and keys, and the biases of queries. */
static rotary_status project(const struct self_attention *layer, const struct parameters *parameters,
                             struct matrix in, rotary_error *error)
{
    const struct sublayer_config *config = &layer->sublayer.config;
    struct matrix qkv = first_rows(layer->qkv, in.rows), query_key = first_rows(layer->query_key, in.rows);
    rotary_status status =
        linear_forward(layer->query_key_value, parameters, qkv, in, MATMUL_EPILOGUE_NONE, error);
    if (status == ROTARY_OK && layer->has_norms)
        status = projection_norm_forward(&layer->query_norm, parameters, queries_of(config, query_key),
                                         queries_of(config, qkv), error);
    if (status == ROTARY_OK && layer->has_norms)
        status = projection_norm_forward(&layer->key_norm, parameters, keys_of(config, query_key),
                                         keys_of(config, qkv), error);
    if (status != ROTARY_OK)
        return status;
    return relative_vectors_add_bias(&layer->vectors, parameters, queries_of(config, query_key), error);
}

static rotary_status norms_backward(const struct self_attention *layer, struct parameters *parameters,
                                    int64_t rows, rotary_error *error)
{
    const struct sublayer_config *config = &layer->sublayer.config;
    struct matrix qkv = first_rows(layer->qkv, rows), d_qkv = first_rows(layer->d_qkv, rows);
    if (!layer->has_norms)
        return ROTARY_OK;
    rotary_status status = projection_norm_backward(&layer->query_norm, parameters, queries_of(config, d_qkv),
                                                    queries_of(config, qkv), error);
    if (status != ROTARY_OK)
        return status;
    return projection_norm_backward(&layer->key_norm, parameters, keys_of(config, d_qkv),
                                    keys_of(config, qkv), error);
}

/* Operations: in a matmul, a query has head_dim channels and on average (time + 1) / 2 keys. Bytes: all
 * inputs and outputs. */
static void record_profile(const struct sublayer *sublayer, double begin, const char *what,
                           const struct sublayer_tokens *tokens, double matmuls)
{
    const struct sublayer_config *config = &sublayer->config;
    double rows = (double)sublayer_rows(tokens), channels = (double)(config->heads * config->head_dim),
           elements_per_row = (double)(qkv_columns(config) + config->heads * config->head_dim),
           keys = (double)tokens->time / (double)(tokens->starts ? tokens->sequences : 1);
    profile_end(sublayer->backend->profile, begin, "attention", what,
                matmuls * rows * channels * (keys + 1.0),
                rows * elements_per_row * (matmuls > 2.0 ? 2.0 : 1.0) *
                    (double)rotary_dtype_size(sublayer->backend->storage));
}

static rotary_status forward(struct sublayer *sublayer, const struct parameters *parameters,
                             const struct sublayer_forward_call *call, rotary_error *error)
{
    struct self_attention *layer = of(sublayer);
    const struct sublayer_config *config = &sublayer->config;
    int64_t rows = call->in.rows, time = call->tokens.time;
    struct matrix context = first_rows(layer->context, rows);
    rotary_status status = check_workspace(layer, &call->tokens, error);
    struct relative_vectors_call vectors;
    if (status == ROTARY_OK)
        status = project(layer, parameters, call->in, error);
    if (status == ROTARY_OK)
        status = relative_vectors_forward(&layer->vectors, parameters, &vectors, error);
    if (status == ROTARY_OK)
        status = distance_bias_update(&layer->bias, parameters, error);
    if (status != ROTARY_OK)
        return status;
    const struct attention_extent extent = extent_of(&call->tokens);
    struct query_key_value heads = split_heads(config, layer->query_key, layer->qkv, time);
    rotary_attention_forward_call attention = {.struct_size = sizeof attention,
                                               .shape = extent.shape,
                                               .query = const_view(heads.query),
                                               .key = const_view(heads.key),
                                               .value = const_view(heads.value),
                                               .output = heads_of(context, time, 0, config->head_dim),
                                               .log_sum_exp = layer->log_sum_exp,
                                               .workspace = layer->workspace,
                                               .packed_sequences = extent.packed_sequences,
                                               .distance_bias = config->distance_bias,
                                               .distance_keys = vectors.keys,
                                               .query_bias = vectors.query_bias,
                                               .distance_queries = vectors.queries,
                                               .distance_values = vectors.values,
                                               .piecewise_bias = layer->bias.piecewise,
                                               .dropout = weights_dropout(call->dropout),
                                               .sinks = parameter_value(parameters, layer->sinks),
                                               .query_positions = call->tokens.positions,
                                               .key_positions = call->tokens.positions};
    double begin = profile_begin(sublayer->backend->profile);
    status = sublayer_attend(sublayer, &attention, call->observer, error);
    record_profile(sublayer, begin, "forward", &call->tokens, 2.0);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->output, parameters, call->out, context, MATMUL_EPILOGUE_NONE, error);
}

/* Of keys that are values too, but not rotated, the gradient has two parts. */
static rotary_status add_value_gradient(const struct self_attention *layer, struct matrix d_qkv,
                                        rotary_error *error)
{
    const struct sublayer *sublayer = &layer->sublayer;
    const struct backend_add_matrix call = {.to = keys_of(&sublayer->config, d_qkv),
                                            .in = first_rows(layer->d_values, d_qkv.rows)};
    return sublayer->config.key_is_value == KEY_IS_VALUE_UNROTATED
               ? sublayer->backend->operations->add_matrix(sublayer->backend, &call, error)
               : ROTARY_OK;
}

static rotary_status backward(struct sublayer *sublayer, struct parameters *parameters,
                              const struct sublayer_backward_call *call, rotary_error *error)
{
    struct self_attention *layer = of(sublayer);
    const struct sublayer_config *config = &sublayer->config;
    int64_t rows = call->in.rows, time = call->tokens.time, dim = config->head_dim;
    struct matrix context = first_rows(layer->context, rows), d_qkv = first_rows(layer->d_qkv, rows),
                  d_context = first_rows(layer->d_context, rows);
    struct relative_vectors_call vectors;
    rotary_status status = linear_backward(layer->output, parameters, d_context, call->d_out, context, error);
    if (status == ROTARY_OK)
        status = relative_vectors_clear_gradient(&layer->vectors, parameters, &vectors, error);
    if (status == ROTARY_OK)
        status = distance_bias_clear_gradient(&layer->bias, error);
    if (status != ROTARY_OK)
        return status;
    const struct attention_extent extent = extent_of(&call->tokens);
    struct query_key_value heads = split_heads(config, layer->query_key, layer->qkv, time),
                           d_heads = split_heads(config, d_qkv, d_qkv, time);
    if (config->key_is_value == KEY_IS_VALUE_UNROTATED)
        d_heads.value = heads_of(first_rows(layer->d_values, rows), time, 0, dim);
    rotary_attention_backward_call attention = {
        .struct_size = sizeof attention,
        .shape = extent.shape,
        .query = const_view(heads.query),
        .key = const_view(heads.key),
        .value = const_view(heads.value),
        .output = const_view(heads_of(context, time, 0, dim)),
        .output_gradient = const_view(heads_of(d_context, time, 0, dim)),
        .log_sum_exp = layer->log_sum_exp,
        .query_gradient = d_heads.query,
        .key_gradient = d_heads.key,
        .value_gradient = d_heads.value,
        .workspace = layer->workspace,
        .packed_sequences = extent.packed_sequences,
        .distance_bias = config->distance_bias,
        .distance_keys = vectors.keys,
        .query_bias = vectors.query_bias,
        .query_bias_gradient = vectors.query_bias_gradient,
        .distance_queries = vectors.queries,
        .distance_values = vectors.values,
        .piecewise_bias = layer->bias.piecewise,
        .dropout = weights_dropout(call->dropout),
        .sinks = parameter_value(parameters, layer->sinks),
        .sinks_gradient = parameter_gradient(parameters, layer->sinks),
        .query_positions = call->tokens.positions,
        .key_positions = call->tokens.positions};
    double begin = profile_begin(sublayer->backend->profile);
    status = sublayer->backend->operations->attention_backward(
        sublayer->backend, &(struct backend_attention_backward){config->attention, &attention}, error);
    record_profile(sublayer, begin, "backward", &call->tokens, 5.0);
    if (status == ROTARY_OK)
        status = add_value_gradient(layer, d_qkv, error);
    if (status == ROTARY_OK)
        status = relative_vectors_backward(&layer->vectors, parameters, queries_of(config, d_qkv), error);
    if (status == ROTARY_OK)
        status = distance_bias_backward(&layer->bias, parameters, error);
    if (status == ROTARY_OK)
        status = norms_backward(layer, parameters, rows, error);
    if (status != ROTARY_OK)
        return status;
    return linear_backward(layer->query_key_value, parameters, call->d_in, d_qkv, call->in, error);
}

/* Operations: a query attends to the keys up to its own position. Bytes: keys and values of the cache, once.
 */
static void record_decode_profile(const struct sublayer *sublayer, double begin,
                                  const struct sublayer_decode_call *call)
{
    const struct sublayer_config *config = &sublayer->config;
    if (!sublayer->backend->profile)
        return;
    double keys = 0.0, scores = 0.0;
    for (int64_t sequence = 0; sequence < call->batch; sequence++) {
        double count = (double)call->counts[sequence], length = (double)call->lengths[sequence];
        keys += count > 0.0 ? length + count : 0.0;
        scores += count * (length + 0.5 * (count + 1.0));
    }
    profile_end(sublayer->backend->profile, begin, "attention", "decoding",
                4.0 * scores * (double)(config->heads * config->head_dim),
                (config->key_is_value == KEY_IS_VALUE_ROTATED ? 1.0 : 2.0) * keys *
                    (double)(config->key_value_heads * config->head_dim) *
                    (double)rotary_dtype_size(sublayer->backend->storage));
}

/* The keys, or the values, of sequences of a cache; without data, none. */
static rotary_attention_view cache_view(const struct sublayer *sublayer, void *data, int64_t capacity,
                                        int64_t first, int64_t sequences)
{
    const struct sublayer_config *config = &sublayer->config;
    struct matrix all = matrix_of(data, sublayer->backend->storage, (first + sequences) * capacity,
                                  config->key_value_heads * config->head_dim);
    if (!data)
        return (rotary_attention_view){0};
    return heads_of(matrix_rows(all, first * capacity, sequences * capacity), capacity, 0, config->head_dim);
}

/* Sequences first ... first + sequences - 1, which have equally many new tokens: rows from `row` on. */
struct decode_run {
    int64_t first, sequences, row;
    const float *sinks;
    struct relative_vectors_call vectors;
};

static rotary_status attend(const struct self_attention *layer, const struct sublayer_decode_call *call,
                            struct decode_run run, rotary_error *error)
{
    const struct sublayer_config *config = &layer->sublayer.config;
    const struct sublayer_cache *cache = &call->cache;
    int64_t count = call->counts[run.first], rows = run.sequences * count;
    struct query_key_value heads = split_heads(config, matrix_rows(layer->query_key, run.row, rows),
                                               matrix_rows(layer->qkv, run.row, rows), count);
    struct matrix context = matrix_rows(layer->context, run.row, rows);
    rotary_attention_decode_call attention = {
        .struct_size = sizeof attention,
        .batch = run.sequences,
        .queries = count,
        .capacity = cache->capacity,
        .lengths = call->lengths + run.first,
        .query = const_view(heads.query),
        .key = const_view(heads.key),
        .value = const_view(heads.value),
        .key_cache = cache_view(&layer->sublayer, cache->key, cache->capacity, run.first, run.sequences),
        .value_cache = cache_view(&layer->sublayer, cache->value, cache->capacity, run.first, run.sequences),
        .output = heads_of(context, count, 0, config->head_dim),
        .workspace = call->workspace,
        .positions = config->positions ? call->positions + run.row : NULL,
        .distance_bias = config->distance_bias,
        .distance_keys = run.vectors.keys,
        .query_bias = run.vectors.query_bias,
        .distance_queries = run.vectors.queries,
        .distance_values = run.vectors.values,
        .piecewise_bias = layer->bias.piecewise,
        .sinks = run.sinks};
    const struct backend *backend = layer->sublayer.backend;
    return backend->operations->attention_decode(
        backend, &(struct backend_attention_decode){config->attention, &attention}, error);
}

/* The library's decode takes equally many new tokens of each sequence: neighbours that have are one call. */
static rotary_status attend_all(struct self_attention *layer, const struct parameters *parameters,
                                const struct sublayer_decode_call *call, rotary_error *error)
{
    struct decode_run run = {.sinks = parameter_value(parameters, layer->sinks)};
    rotary_status status = relative_vectors_forward(&layer->vectors, parameters, &run.vectors, error);
    for (; status == ROTARY_OK && run.first < call->batch; run.first += run.sequences) {
        int64_t count = call->counts[run.first];
        run.sequences = 1;
        while (run.first + run.sequences < call->batch && call->counts[run.first + run.sequences] == count)
            run.sequences++;
        if (count > 0)
            status = attend(layer, call, run, error);
        run.row += run.sequences * count;
    }
    return status;
}

static rotary_status decode(struct sublayer *sublayer, const struct parameters *parameters,
                            const struct sublayer_decode_call *call, rotary_error *error)
{
    struct self_attention *layer = of(sublayer);
    int64_t rows = call->in.rows;
    rotary_status status = project(layer, parameters, call->in, error);
    if (status == ROTARY_OK)
        status = distance_bias_update(&layer->bias, parameters, error);
    if (status != ROTARY_OK)
        return status;
    double begin = profile_begin(sublayer->backend->profile);
    status = attend_all(layer, parameters, call, error);
    record_decode_profile(sublayer, begin, call);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->output, parameters, call->out, first_rows(layer->context, rows),
                          MATMUL_EPILOGUE_NONE, error);
}

/* Counts the keys, and the values, of a token. */
static size_t token_bytes(const struct sublayer *sublayer)
{
    return (size_t)(sublayer->config.key_value_heads * sublayer->config.head_dim) *
           rotary_dtype_size(sublayer->backend->storage);
}

/* Keys and values of the tokens so far: [batch, capacity, key_value_heads, head_dim] each, of the storage
 * type; one of both where rotated keys are the values. */
static struct sublayer_cache carve_cache(const struct sublayer *sublayer, struct rotary_arena *arena,
                                         struct sublayer_cache_shape shape)
{
    size_t row;
    if (__builtin_mul_overflow((size_t)shape.capacity, token_bytes(sublayer), &row))
        row = SIZE_MAX;
    struct sublayer_cache cache = {.key = rotary_arena_push(arena, shape.batch, row),
                                   .capacity = shape.capacity};
    if (sublayer->config.key_is_value != KEY_IS_VALUE_ROTATED)
        cache.value = rotary_arena_push(arena, shape.batch, row);
    return cache;
}

static rotary_status reorder(struct sublayer *sublayer, const struct sublayer_reorder_call *call,
                             rotary_error *error)
{
    const struct backend *backend = sublayer->backend;
    const struct sublayer_cache *cache = &call->cache;
    const rotary_attention_reorder_call reorder = {
        .struct_size = sizeof reorder,
        .batch = call->batch,
        .capacity = cache->capacity,
        .lengths = call->lengths,
        .source = call->source,
        .key_cache = cache_view(sublayer, cache->key, cache->capacity, 0, call->batch),
        .value_cache = cache_view(sublayer, cache->value, cache->capacity, 0, call->batch),
        .workspace = call->workspace};
    const struct backend_attention_reorder operation = {.plan = sublayer->config.attention, .call = &reorder};
    return backend->operations->attention_reorder(backend, &operation, error);
}

static rotary_status shift(struct sublayer *sublayer, const struct sublayer_shift_call *call,
                           rotary_error *error)
{
    const struct backend *backend = sublayer->backend;
    const struct sublayer_cache *cache = &call->cache;
    const rotary_attention_shift_call shift = {
        .struct_size = sizeof shift,
        .batch = 1,
        .capacity = cache->capacity,
        .lengths = &call->length,
        .keep = &call->keep,
        .discard = &call->discard,
        .key_cache = cache_view(sublayer, cache->key, cache->capacity, call->sequence, 1),
        .value_cache = cache_view(sublayer, cache->value, cache->capacity, call->sequence, 1)};
    const struct backend_attention_shift operation = {.plan = sublayer->config.attention, .call = &shift};
    return backend->operations->attention_shift(backend, &operation, error);
}

static size_t cache_bytes(const struct sublayer *sublayer, struct sublayer_cache_shape shape)
{
    const struct backend_operations *operations = sublayer->backend->operations;
    const struct attention_plan *plan = sublayer->config.attention;
    size_t decode = operations->attention_decode_bytes(plan, shape.batch, shape.count, shape.capacity),
           reorder = operations->attention_reorder_bytes(plan, shape.batch);
    return decode > reorder ? decode : reorder;
}

const struct sublayer_type self_attention_sublayer = {.name = "self_attention",
                                                      .create = create,
                                                      .destroy = destroy,
                                                      .weight_bytes = weight_bytes,
                                                      .carve_saved = carve_saved,
                                                      .carve_scratch = carve_scratch,
                                                      .forward = forward,
                                                      .backward = backward,
                                                      .decode = decode,
                                                      .carve_cache = carve_cache,
                                                      .reorder = reorder,
                                                      .shift = shift,
                                                      .cache_bytes = cache_bytes};
