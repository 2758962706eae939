/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-head cross-attention as a sublayer (Vaswani et al. 2017, 3.2.3): queries from the residual stream,
 * keys and values from an encoder's output. Its plan is not causal. Where it rotates, queries rotate by their
 * places among the tokens and keys by theirs in the source.
 *
 * The projections give queries, [rows, heads head_dim], and keys and values side by side, [source rows,
 * 2 key_value_heads head_dim].
 */
#include "backend/profile.h"
#include "base/fail.h"
#include "base/integer.h"
#include "layer/attention_views.h"
#include "layer/attention_workspace.h"
#include "layer/query_key_norm.h"
#include "layer/sublayer_parts.h"

#include <stdlib.h>

struct cross_attention {
    struct sublayer sublayer;
    struct linear *query, *key_value, *output; /* "<name>.query", "<name>.key_value", "<name>.output" */
    bool has_norms;
    struct projection_norm query_norm, key_norm; /* "<name>.query_norm", "<name>.key_norm" */
    /* Saved. With norms, `queries` and `keys` are normalised and the projections are kept beside them. */
    struct matrix projected_queries, projected_keys_values, queries, keys, context;
    float *log_sum_exp;
    /* Scratch. */
    struct matrix d_queries, d_keys_values, d_context, d_source;
    void *workspace;
    size_t workspace_bytes;
};

static struct cross_attention *of(struct sublayer *sublayer)
{
    return (struct cross_attention *)sublayer;
}

static int64_t query_columns(const struct sublayer_config *config)
{
    return config->heads * config->head_dim;
}

static int64_t key_columns(const struct sublayer_config *config)
{
    return config->key_value_heads * config->head_dim;
}

static void destroy(struct sublayer *sublayer)
{
    struct cross_attention *layer = of(sublayer);
    linear_destroy(layer->query);
    linear_destroy(layer->key_value);
    linear_destroy(layer->output);
    free(layer);
}

static rotary_status add_projections(struct cross_attention *layer, const struct backend *backend,
                                     const struct sublayer_config *config, struct parameters *parameters,
                                     rotary_error *error)
{
    const struct sublayer_linear query = {
        .name = "query", .inputs = config->width, .outputs = query_columns(config), .bias = config->in_bias};
    const struct sublayer_linear key_value = {.name = "key_value",
                                              .inputs = config->source_width,
                                              .outputs = 2 * key_columns(config),
                                              .first_outputs = key_columns(config),
                                              .next_outputs = key_columns(config),
                                              .rows = config->batch * config->source_time,
                                              .bias = config->in_bias};
    const struct sublayer_linear output = {.name = "output",
                                           .inputs = query_columns(config),
                                           .outputs = config->width,
                                           .bias = config->out_bias,
                                           .joins = true};
    rotary_status status = sublayer_add_linear(&layer->query, backend, config, &query, parameters, error);
    if (status == ROTARY_OK)
        status = sublayer_add_linear(&layer->key_value, backend, config, &key_value, parameters, error);
    if (status == ROTARY_OK)
        status = sublayer_add_linear(&layer->output, backend, config, &output, parameters, error);
    return status;
}

static rotary_status create(struct sublayer **sublayer, const struct backend *backend,
                            const struct sublayer_config *config, struct parameters *parameters,
                            rotary_error *error)
{
    if (config->source_time < 1 || config->source_width < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "cross-attention \"%s\" to %lld tokens of width %lld: wanted an encoder's output",
                           config->name, (long long)config->source_time, (long long)config->source_width);
    struct cross_attention *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for sublayer \"%s\"", config->name);
    made->has_norms = config->query_key_norm != QUERY_KEY_NORM_NONE;
    rotary_status status = add_projections(made, backend, config, parameters, error);
    if (status == ROTARY_OK)
        status = query_key_norms_create(&made->query_norm, &made->key_norm, config, parameters, error);
    if (status == ROTARY_OK)
        *sublayer = &made->sublayer;
    else
        destroy(&made->sublayer);
    return status;
}

static size_t weight_bytes(const struct sublayer *sublayer)
{
    const struct cross_attention *layer = (const struct cross_attention *)sublayer;
    return linear_bytes(layer->query) + linear_bytes(layer->key_value) + linear_bytes(layer->output);
}

/* ---- Memory. ---- */

static int64_t source_rows(const struct sublayer_config *config)
{
    return config->batch * config->source_time;
}

static struct matrix push_source(const struct sublayer *sublayer, struct rotary_arena *arena, int64_t columns)
{
    return sublayer_push_rows(sublayer, arena, source_rows(&sublayer->config), columns);
}

static void carve_saved(struct sublayer *sublayer, struct rotary_arena *arena)
{
    struct cross_attention *layer = of(sublayer);
    const struct sublayer_config *config = &sublayer->config;
    int64_t rows = config->batch * config->time;
    layer->queries = sublayer_push(sublayer, arena, query_columns(config));
    layer->projected_queries = layer->queries;
    layer->projected_keys_values = push_source(sublayer, arena, 2 * key_columns(config));
    layer->keys = matrix_block(layer->projected_keys_values, 0, source_rows(config), 0, key_columns(config));
    layer->context = sublayer_push(sublayer, arena, query_columns(config));
    layer->log_sum_exp = rotary_arena_push(arena, rows * config->heads, sizeof(float));
    if (!layer->has_norms || !config->training)
        return;
    layer->queries = sublayer_push(sublayer, arena, query_columns(config));
    layer->keys = push_source(sublayer, arena, key_columns(config));
    projection_norm_carve(&layer->query_norm, arena, rows);
    projection_norm_carve(&layer->key_norm, arena, source_rows(config));
}

static void carve_scratch(struct sublayer *sublayer, struct rotary_arena *arena)
{
    struct cross_attention *layer = of(sublayer);
    const struct sublayer_config *config = &sublayer->config;
    layer->workspace_bytes = attention_max_workspace_bytes(sublayer, config->time, config->source_time);
    layer->workspace = rotary_arena_push(arena, (int64_t)layer->workspace_bytes, 1);
    if (!config->training)
        return;
    layer->d_queries = sublayer_push(sublayer, arena, query_columns(config));
    layer->d_context = sublayer_push(sublayer, arena, query_columns(config));
    layer->d_keys_values = push_source(sublayer, arena, 2 * key_columns(config));
    layer->d_source = push_source(sublayer, arena, config->source_width);
}

/* ---- Forward. ---- */

static struct matrix keys_of(const struct sublayer_config *config, struct matrix keys_values)
{
    return matrix_block(keys_values, 0, keys_values.rows, 0, key_columns(config));
}

static struct matrix values_of(const struct sublayer_config *config, struct matrix keys_values)
{
    return matrix_block(keys_values, 0, keys_values.rows, key_columns(config), key_columns(config));
}

static rotary_status project_queries(const struct cross_attention *layer, const struct parameters *parameters,
                                     struct matrix in, rotary_error *error)
{
    struct matrix projected = first_rows(layer->projected_queries, in.rows);
    rotary_status status =
        linear_forward(layer->query, parameters, projected, in, MATMUL_EPILOGUE_NONE, error);
    if (status != ROTARY_OK || !layer->has_norms)
        return status;
    return projection_norm_forward(&layer->query_norm, parameters, first_rows(layer->queries, in.rows),
                                   projected, error);
}

static rotary_status project_keys(const struct cross_attention *layer, const struct parameters *parameters,
                                  struct matrix source, rotary_error *error)
{
    struct matrix projected = first_rows(layer->projected_keys_values, source.rows);
    rotary_status status =
        linear_forward(layer->key_value, parameters, projected, source, MATMUL_EPILOGUE_NONE, error);
    if (status != ROTARY_OK || !layer->has_norms)
        return status;
    return projection_norm_forward(&layer->key_norm, parameters, first_rows(layer->keys, source.rows),
                                   keys_of(&layer->sublayer.config, projected), error);
}

/* Operations: in a matmul, a query has head_dim channels and the keys of its source. Bytes: all inputs and
 * outputs. */
static void record_profile(const struct sublayer *sublayer, double begin, const char *what,
                           const struct sublayer_tokens *tokens, const struct sublayer_source *source,
                           double matmuls)
{
    const struct sublayer_config *config = &sublayer->config;
    double rows = (double)sublayer_rows(tokens),
           elements = 2.0 * (rows * (double)query_columns(config) +
                             (double)source->rows.rows * (double)key_columns(config)),
           keys = (double)source->time / (double)(source->starts ? source->sequences : 1);
    profile_end(sublayer->backend->profile, begin, "cross_attention", what,
                2.0 * matmuls * rows * (double)query_columns(config) * keys,
                elements * (matmuls > 2.0 ? 2.0 : 1.0) *
                    (double)rotary_dtype_size(sublayer->backend->storage));
}

static struct attention_extent extent_of(const struct sublayer_tokens *tokens,
                                         const struct sublayer_source *source)
{
    return (struct attention_extent){
        .shape = {.batch = tokens->batch, .queries = tokens->time, .keys = source->time},
        .packed_sequences = {
            .query_starts = tokens->starts, .key_starts = source->starts, .sequences = tokens->sequences}};
}

/* A packed source may have sequences longer than source_time: it is bounded by its rows. */
static rotary_status check_packed(const struct cross_attention *layer, const struct sublayer_tokens *tokens,
                                  const struct sublayer_source *source, rotary_error *error)
{
    const struct sublayer_config *config = &layer->sublayer.config;
    if (!tokens->starts || !source->starts || tokens->sequences != source->sequences)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "cross-attention of %lld packed sequences got %lld packed sequences of a source: "
                           "wanted as many of both, or neither packed",
                           (long long)(tokens->starts ? tokens->sequences : 0),
                           (long long)(source->starts ? source->sequences : 0));
    const struct attention_extent extent = extent_of(tokens, source);
    if (source->rows.rows > source_rows(config) ||
        attention_workspace_bytes(&layer->sublayer, &extent) > layer->workspace_bytes)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld packed sequences of %lld tokens and a source of %lld: the model was created "
                           "for fewer tokens, or not for packed sequences",
                           (long long)tokens->sequences, (long long)tokens->time, (long long)source->time);
    return ROTARY_OK;
}

static rotary_status check_source(const struct cross_attention *layer, const struct sublayer_tokens *tokens,
                                  const struct sublayer_source *source, rotary_error *error)
{
    const struct sublayer_config *config = &layer->sublayer.config;
    bool packed = tokens->starts || source->starts;
    if (!source->rows.data || source->rows.rows != tokens->batch * source->time)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "cross-attention of %lld sequences got %lld source rows, %lld per sequence: wanted "
            "an encoder's output of as many sequences",
            (long long)tokens->batch, (long long)source->rows.rows, (long long)source->time);
    if (tokens->batch > config->batch || (!packed && source->time > config->source_time) ||
        source->rows.columns != config->source_width)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "cross-attention got a source of %lld sequences of %lld tokens of width %lld: "
                           "wanted at most %lld of %lld, of width %lld",
                           (long long)tokens->batch, (long long)source->time, (long long)source->rows.columns,
                           (long long)config->batch, (long long)config->source_time,
                           (long long)config->source_width);
    if ((tokens->positions || source->positions) && !config->positions)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "positions of tokens or of their source: the model was not created for them");
    return packed ? check_packed(layer, tokens, source, error) : ROTARY_OK;
}

static rotary_status attend(const struct cross_attention *layer, const struct sublayer_forward_call *call,
                            rotary_error *error)
{
    const struct sublayer_config *config = &layer->sublayer.config;
    int64_t time = call->tokens.time, source_time = call->source.time, dim = config->head_dim;
    const struct attention_extent extent = extent_of(&call->tokens, &call->source);
    const rotary_attention_forward_call attention = {
        .struct_size = sizeof attention,
        .shape = extent.shape,
        .packed_sequences = extent.packed_sequences,
        .query = const_view(heads_of(layer->queries, time, 0, dim)),
        .key = const_view(heads_of(layer->keys, source_time, 0, dim)),
        .value = const_view(heads_of(values_of(config, layer->projected_keys_values), source_time, 0, dim)),
        .output = heads_of(layer->context, time, 0, dim),
        .log_sum_exp = layer->log_sum_exp,
        .query_positions = call->tokens.positions,
        .key_positions = call->source.positions,
        .dropout = weights_dropout(call->dropout),
        .workspace = layer->workspace};
    double begin = profile_begin(layer->sublayer.backend->profile);
    rotary_status status = sublayer_attend(&layer->sublayer, &attention, call->observer, error);
    record_profile(&layer->sublayer, begin, "forward", &call->tokens, &call->source, 2.0);
    return status;
}

static rotary_status forward(struct sublayer *sublayer, const struct parameters *parameters,
                             const struct sublayer_forward_call *call, rotary_error *error)
{
    const struct cross_attention *layer = of(sublayer);
    rotary_status status = check_source(layer, &call->tokens, &call->source, error);
    if (status == ROTARY_OK)
        status = project_queries(layer, parameters, call->in, error);
    if (status == ROTARY_OK)
        status = project_keys(layer, parameters, call->source.rows, error);
    if (status == ROTARY_OK)
        status = attend(layer, call, error);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->output, parameters, call->out, first_rows(layer->context, call->in.rows),
                          MATMUL_EPILOGUE_NONE, error);
}

/* ---- Backward. ---- */

static rotary_status attend_backward(const struct cross_attention *layer,
                                     const struct sublayer_backward_call *call, rotary_error *error)
{
    const struct sublayer_config *config = &layer->sublayer.config;
    const struct backend *backend = layer->sublayer.backend;
    int64_t time = call->tokens.time, source_time = call->source.time, dim = config->head_dim;
    struct matrix d_keys = keys_of(config, layer->d_keys_values),
                  d_values = values_of(config, layer->d_keys_values);
    const struct attention_extent extent = extent_of(&call->tokens, &call->source);
    const rotary_attention_backward_call attention = {
        .struct_size = sizeof attention,
        .shape = extent.shape,
        .packed_sequences = extent.packed_sequences,
        .query = const_view(heads_of(layer->queries, time, 0, dim)),
        .key = const_view(heads_of(layer->keys, source_time, 0, dim)),
        .value = const_view(heads_of(values_of(config, layer->projected_keys_values), source_time, 0, dim)),
        .output = const_view(heads_of(layer->context, time, 0, dim)),
        .output_gradient = const_view(heads_of(layer->d_context, time, 0, dim)),
        .log_sum_exp = layer->log_sum_exp,
        .query_gradient = heads_of(layer->d_queries, time, 0, dim),
        .key_gradient = heads_of(d_keys, source_time, 0, dim),
        .value_gradient = heads_of(d_values, source_time, 0, dim),
        .query_positions = call->tokens.positions,
        .key_positions = call->source.positions,
        .dropout = weights_dropout(call->dropout),
        .workspace = layer->workspace};
    const struct backend_attention_backward operation = {.plan = config->attention, .call = &attention};
    double begin = profile_begin(backend->profile);
    rotary_status status = backend->operations->attention_backward(backend, &operation, error);
    record_profile(&layer->sublayer, begin, "backward", &call->tokens, &call->source, 5.0);
    return status;
}

static rotary_status norms_backward(const struct cross_attention *layer, struct parameters *parameters,
                                    int64_t rows, int64_t source, rotary_error *error)
{
    const struct sublayer_config *config = &layer->sublayer.config;
    if (!layer->has_norms)
        return ROTARY_OK;
    rotary_status status =
        projection_norm_backward(&layer->query_norm, parameters, first_rows(layer->d_queries, rows),
                                 first_rows(layer->projected_queries, rows), error);
    if (status != ROTARY_OK)
        return status;
    struct matrix gradient = keys_of(config, first_rows(layer->d_keys_values, source)),
                  projected = keys_of(config, first_rows(layer->projected_keys_values, source));
    return projection_norm_backward(&layer->key_norm, parameters, gradient, projected, error);
}

/* Adds the gradient of the source, where it is wanted, to that of the sublayers after this one. */
static rotary_status source_backward(const struct cross_attention *layer, struct parameters *parameters,
                                     const struct sublayer_backward_call *call, rotary_error *error)
{
    const struct backend *backend = layer->sublayer.backend;
    int64_t rows = call->source.rows.rows;
    struct matrix d_source = first_rows(layer->d_source, rows);
    if (!call->d_source)
        d_source.data = NULL;
    rotary_status status = linear_backward(layer->key_value, parameters, d_source,
                                           first_rows(layer->d_keys_values, rows), call->source.rows, error);
    if (status != ROTARY_OK || !call->d_source)
        return status;
    const struct backend_add add = {.to = call->d_source, .in = d_source};
    return backend->operations->add(backend, &add, error);
}

static rotary_status backward(struct sublayer *sublayer, struct parameters *parameters,
                              const struct sublayer_backward_call *call, rotary_error *error)
{
    const struct cross_attention *layer = of(sublayer);
    int64_t rows = call->in.rows;
    rotary_status status = linear_backward(layer->output, parameters, first_rows(layer->d_context, rows),
                                           call->d_out, first_rows(layer->context, rows), error);
    if (status == ROTARY_OK)
        status = attend_backward(layer, call, error);
    if (status == ROTARY_OK)
        status = norms_backward(layer, parameters, rows, call->source.rows.rows, error);
    if (status == ROTARY_OK)
        status = source_backward(layer, parameters, call, error);
    if (status != ROTARY_OK)
        return status;
    return linear_backward(layer->query, parameters, call->d_in, first_rows(layer->d_queries, rows), call->in,
                           error);
}

/* ---- Decoding. The keys and values of the source are projected once; all sequences of a source are queries
 * of one call. ---- */

static int64_t sources_of(const struct sublayer_cache_shape *shape)
{
    return shape->batch / shape->beams;
}

/* [sources, source_time, keys | values] in `key`, as attention reads them: keys are rotated. */
static struct sublayer_cache carve_cache(const struct sublayer *sublayer, struct rotary_arena *arena,
                                         struct sublayer_cache_shape shape)
{
    const struct sublayer_config *config = &sublayer->config;
    struct matrix keys_values =
        sublayer_push_rows(sublayer, arena, sources_of(&shape) * shape.source_time, 2 * key_columns(config));
    return (struct sublayer_cache){.key = keys_values.data, .capacity = shape.source_time};
}

static struct matrix cached(const struct sublayer *sublayer, const struct sublayer_cache *cache,
                            int64_t sources)
{
    return matrix_of(cache->key, sublayer->backend->storage, sources * cache->capacity,
                     2 * key_columns(&sublayer->config));
}

/* Sources first ... first + sources - 1 of a call, which have `time` rows each, from `row` on. */
struct source_rows {
    int64_t first, sources, row, time;
};

static size_t cache_bytes(const struct sublayer *sublayer, struct sublayer_cache_shape shape)
{
    const struct backend_operations *operations = sublayer->backend->operations;
    const struct attention_plan *plan = sublayer->config.attention;
    int64_t sources = sources_of(&shape), source_time = shape.source_time;
    const size_t bytes[] = {
        operations->attention_decode_bytes(plan, sources, shape.count * shape.beams, source_time),
        operations->attention_append_bytes(plan, sources, source_time),
        operations->attention_reorder_bytes(plan, sources)};
    size_t most = 0;
    for (int i = 0; i < 3; i++)
        most = bytes[i] > most ? bytes[i] : most;
    return most;
}

/* Keys, or values from channel key_columns on, of sources first ... first + count - 1. */
static rotary_attention_view cache_view(const struct sublayer *sublayer, const struct sublayer_cache *cache,
                                        int64_t first, int64_t count, bool values)
{
    const struct sublayer_config *config = &sublayer->config;
    struct matrix all = cached(sublayer, cache, first + count),
                  rows = matrix_rows(all, first * cache->capacity, count * cache->capacity);
    return heads_of(values ? values_of(config, rows) : keys_of(config, rows), cache->capacity, 0,
                    config->head_dim);
}

/* Copies the keys and values of `count` sources of `time` projected rows each, from `row` on, to the cache:
 * rotated, where the plan rotates. */
static rotary_status append(const struct cross_attention *layer,
                            const struct sublayer_cache_source_call *call, const struct source_rows *rows,
                            rotary_error *error)
{
    const struct sublayer *sublayer = &layer->sublayer;
    const struct sublayer_config *config = &sublayer->config;
    int64_t dim = config->head_dim, all = rows->sources * rows->time;
    struct matrix keys = matrix_rows(layer->keys, rows->row, all),
                  values = matrix_rows(values_of(config, layer->projected_keys_values), rows->row, all);
    const int32_t *positions = call->source.positions;
    const rotary_attention_append_call append = {
        .struct_size = sizeof append,
        .batch = rows->sources,
        .tokens = rows->time,
        .capacity = call->cache.capacity,
        .lengths = call->empty_lengths,
        .key = const_view(heads_of(keys, rows->time, 0, dim)),
        .value = const_view(heads_of(values, rows->time, 0, dim)),
        .key_cache = cache_view(sublayer, &call->cache, rows->first, rows->sources, false),
        .value_cache = cache_view(sublayer, &call->cache, rows->first, rows->sources, true),
        .positions = positions ? positions + rows->row : NULL,
        .workspace = call->workspace};
    const struct backend_attention_append operation = {.plan = config->attention, .call = &append};
    return sublayer->backend->operations->attention_append(sublayer->backend, &operation, error);
}

static rotary_status check_cached_source(const struct sublayer *sublayer,
                                         const struct sublayer_cache_source_call *call, rotary_error *error)
{
    const struct sublayer_source *source = &call->source;
    int64_t longest = source->starts ? 0 : source->time;
    for (int64_t s = 0; source->starts && s < call->sources; s++)
        longest = max_i64(longest, source->starts[s + 1] - source->starts[s]);
    if (longest > call->cache.capacity || source->rows.rows > source_rows(&sublayer->config))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a source of %lld rows, at most %lld per sequence: the cache has %lld per "
                           "sequence, and the model was created for %lld rows",
                           (long long)source->rows.rows, (long long)longest, (long long)call->cache.capacity,
                           (long long)source_rows(&sublayer->config));
    return ROTARY_OK;
}

/* Neighbouring sources of equal length are one call. */
static rotary_status cache_source(struct sublayer *sublayer, const struct parameters *parameters,
                                  const struct sublayer_cache_source_call *call, rotary_error *error)
{
    const struct cross_attention *layer = of(sublayer);
    const int32_t *starts = call->source.starts;
    rotary_status status = check_cached_source(sublayer, call, error);
    if (status == ROTARY_OK)
        status = project_keys(layer, parameters, call->source.rows, error);
    struct source_rows rows = {.sources = call->sources, .time = call->source.time};
    for (; status == ROTARY_OK && rows.first < call->sources; rows.first += rows.sources) {
        if (starts) {
            rows.row = starts[rows.first];
            rows.time = starts[rows.first + 1] - rows.row;
            rows.sources = 1;
            while (rows.first + rows.sources < call->sources &&
                   starts[rows.first + rows.sources + 1] - starts[rows.first + rows.sources] == rows.time)
                rows.sources++;
        }
        status = append(layer, call, &rows, error);
    }
    return status;
}

/* Sources first ... first + sources - 1, which have equally many queries: rows from `row` on. */
struct decode_run {
    int64_t first, sources, row, queries;
};

static int64_t queries_of(const struct sublayer_decode_call *call, int64_t source)
{
    int64_t queries = 0;
    for (int64_t b = source * call->beams; b < (source + 1) * call->beams; b++)
        queries += call->counts[b];
    return queries;
}

static rotary_status decode_attend(const struct cross_attention *layer,
                                   const struct sublayer_decode_call *call, const struct decode_run *run,
                                   rotary_error *error)
{
    const struct sublayer *sublayer = &layer->sublayer;
    const struct backend *backend = sublayer->backend;
    int64_t dim = sublayer->config.head_dim, rows = run->sources * run->queries;
    const rotary_attention_decode_call attention = {
        .struct_size = sizeof attention,
        .batch = run->sources,
        .queries = run->queries,
        .capacity = call->cache.capacity,
        .lengths = call->source_lengths + run->first,
        .query = const_view(heads_of(matrix_rows(layer->queries, run->row, rows), run->queries, 0, dim)),
        .key_cache = cache_view(sublayer, &call->cache, run->first, run->sources, false),
        .value_cache = cache_view(sublayer, &call->cache, run->first, run->sources, true),
        .output = heads_of(matrix_rows(layer->context, run->row, rows), run->queries, 0, dim),
        .positions = call->positions + run->row,
        .workspace = call->workspace};
    const struct backend_attention_decode operation = {.plan = sublayer->config.attention,
                                                       .call = &attention};
    return backend->operations->attention_decode(backend, &operation, error);
}

static rotary_status decode_attend_all(const struct cross_attention *layer,
                                       const struct sublayer_decode_call *call, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    int64_t sources = call->batch / call->beams;
    struct decode_run run = {0};
    for (; status == ROTARY_OK && run.first < sources; run.first += run.sources) {
        run.queries = queries_of(call, run.first);
        run.sources = 1;
        while (run.first + run.sources < sources && queries_of(call, run.first + run.sources) == run.queries)
            run.sources++;
        if (run.queries > 0)
            status = decode_attend(layer, call, &run, error);
        run.row += run.sources * run.queries;
    }
    return status;
}

static rotary_status decode(struct sublayer *sublayer, const struct parameters *parameters,
                            const struct sublayer_decode_call *call, rotary_error *error)
{
    const struct cross_attention *layer = of(sublayer);
    rotary_status status = project_queries(layer, parameters, call->in, error);
    double begin = profile_begin(sublayer->backend->profile);
    if (status == ROTARY_OK)
        status = decode_attend_all(layer, call, error);
    profile_end(sublayer->backend->profile, begin, "cross_attention", "decoding", 0.0, 0.0);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->output, parameters, call->out, first_rows(layer->context, call->in.rows),
                          MATMUL_EPILOGUE_NONE, error);
}

static rotary_status reorder(struct sublayer *sublayer, const struct sublayer_reorder_call *call,
                             rotary_error *error)
{
    const struct backend *backend = sublayer->backend;
    int64_t sources = call->batch / call->beams;
    const rotary_attention_reorder_call reorder = {
        .struct_size = sizeof reorder,
        .batch = sources,
        .capacity = call->cache.capacity,
        .lengths = call->source_lengths,
        .source = call->source_of_source,
        .key_cache = cache_view(sublayer, &call->cache, 0, sources, false),
        .value_cache = cache_view(sublayer, &call->cache, 0, sources, true),
        .workspace = call->workspace};
    const struct backend_attention_reorder operation = {.plan = sublayer->config.attention, .call = &reorder};
    return backend->operations->attention_reorder(backend, &operation, error);
}

const struct sublayer_type cross_attention_sublayer = {.name = "cross_attention",
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
                                                       .cache_bytes = cache_bytes,
                                                       .cache_source = cache_source};
