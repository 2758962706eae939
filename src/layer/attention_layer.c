/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/attention_layer.h"

#include "backend/profile.h"

rotary_status attention_layer_create(struct attention_layer *layer, const struct backend *backend,
                                     const rotary_attention *attention,
                                     const struct attention_layer_config *config,
                                     struct parameters *parameters, rotary_error *error)
{
    struct attention_layer made = {.backend = backend,
                                   .attention = attention,
                                   .heads = config->heads,
                                   .key_value_heads = config->key_value_heads,
                                   .head_dim = config->head_dim};
    const struct linear_pair_shape shape = {.in_name = "query_key_value",
                                            .out_name = "output",
                                            .in_outputs = (config->heads + 2 * config->key_value_heads) *
                                                          config->head_dim,
                                            .out_inputs = config->heads * config->head_dim};
    rotary_status status =
        linear_pair_create(&made.projections, backend, &config->sublayer, &shape, parameters, error);
    if (status == ROTARY_OK)
        *layer = made;
    return status;
}

void attention_layer_destroy(struct attention_layer *layer)
{
    linear_pair_destroy(&layer->projections);
    *layer = (struct attention_layer){0};
}

/* A view of the heads from first_head on. Rows are tokens, `time` per sequence. */
static rotary_attention_view heads_of(const struct attention_layer *layer, struct matrix matrix, int64_t time,
                                      int64_t first_head)
{
    size_t offset = (size_t)(first_head * layer->head_dim) * rotary_dtype_size(matrix.dtype);
    return (rotary_attention_view){.data = (char *)matrix.data + offset,
                                   .batch_stride = time * matrix.stride,
                                   .time_stride = matrix.stride,
                                   .head_stride = layer->head_dim};
}

static rotary_attention_const_view const_view(rotary_attention_view view)
{
    return (rotary_attention_const_view){view.data, view.batch_stride, view.time_stride, view.head_stride};
}

struct query_key_value {
    rotary_attention_view query, key, value;
};

static struct query_key_value split_heads(const struct attention_layer *layer, struct matrix qkv,
                                          int64_t time)
{
    return (struct query_key_value){.query = heads_of(layer, qkv, time, 0),
                                    .key = heads_of(layer, qkv, time, layer->heads),
                                    .value =
                                        heads_of(layer, qkv, time, layer->heads + layer->key_value_heads)};
}

/* Operations: in a matmul, a query has head_dim channels and on average (time + 1) / 2 keys. Bytes: all
 * inputs and outputs. */
static void record_profile(const struct attention_layer *layer, double begin, const char *what, int64_t batch,
                           int64_t time, double matmuls)
{
    double rows = (double)(batch * time), channels = (double)(layer->heads * layer->head_dim),
           elements_per_row = (double)((2 * layer->heads + 2 * layer->key_value_heads) * layer->head_dim);
    profile_end(layer->backend->profile, begin, "attention", what,
                matmuls * rows * channels * (double)(time + 1),
                rows * elements_per_row * (matmuls > 2.0 ? 2.0 : 1.0) *
                    (double)rotary_dtype_size(layer->backend->storage));
}

rotary_status attention_layer_forward(struct attention_layer *layer, const struct parameters *parameters,
                                      const struct attention_layer_forward_call *call, rotary_error *error)
{
    const struct attention_layer_saved *saved = &call->saved;
    int64_t batch = call->batch, time = call->time;
    rotary_status status =
        linear_forward(layer->projections.in, parameters, saved->qkv, call->in, MATMUL_EPILOGUE_NONE, error);
    if (status != ROTARY_OK)
        return status;
    struct query_key_value heads = split_heads(layer, saved->qkv, time);
    rotary_attention_forward_call attention = {.struct_size = sizeof attention,
                                               .shape = {.batch = batch, .queries = time, .keys = time},
                                               .query = const_view(heads.query),
                                               .key = const_view(heads.key),
                                               .value = const_view(heads.value),
                                               .output = heads_of(layer, saved->context, time, 0),
                                               .log_sum_exp = saved->log_sum_exp,
                                               .workspace = call->workspace};
    double begin = profile_begin(layer->backend->profile);
    status = rotary_attention_forward(layer->attention, &attention, error);
    record_profile(layer, begin, "forward", batch, time, 2.0);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->projections.out, parameters, call->out, saved->context, MATMUL_EPILOGUE_NONE,
                          error);
}

rotary_status attention_layer_backward(struct attention_layer *layer, struct parameters *parameters,
                                       const struct attention_layer_backward_call *call, rotary_error *error)
{
    const struct attention_layer_saved *saved = &call->saved;
    int64_t batch = call->batch, time = call->time;
    rotary_status status = linear_backward(layer->projections.out, parameters, call->d_context, call->d_out,
                                           saved->context, error);
    if (status != ROTARY_OK)
        return status;
    struct query_key_value heads = split_heads(layer, saved->qkv, time),
                           d_heads = split_heads(layer, call->d_qkv, time);
    rotary_attention_backward_call attention = {
        .struct_size = sizeof attention,
        .shape = {.batch = batch, .queries = time, .keys = time},
        .query = const_view(heads.query),
        .key = const_view(heads.key),
        .value = const_view(heads.value),
        .output = const_view(heads_of(layer, saved->context, time, 0)),
        .output_gradient = const_view(heads_of(layer, call->d_context, time, 0)),
        .log_sum_exp = saved->log_sum_exp,
        .query_gradient = d_heads.query,
        .key_gradient = d_heads.key,
        .value_gradient = d_heads.value,
        .workspace = call->workspace};
    double begin = profile_begin(layer->backend->profile);
    status = rotary_attention_backward(layer->attention, &attention, error);
    record_profile(layer, begin, "backward", batch, time, 5.0);
    if (status != ROTARY_OK)
        return status;
    return linear_backward(layer->projections.in, parameters, call->d_in, call->d_qkv, call->in, error);
}

/* Operations: a query attends to the keys up to its own position. Bytes: keys and values of the cache, once.
 */
static void record_decode_profile(const struct attention_layer *layer, double begin, int64_t batch,
                                  int64_t time, const int64_t *lengths)
{
    if (!layer->backend->profile)
        return;
    double keys = 0.0, scores = 0.0;
    for (int64_t sequence = 0; sequence < batch; sequence++) {
        keys += (double)(lengths[sequence] + time);
        scores += (double)time * ((double)lengths[sequence] + 0.5 * (double)(time + 1));
    }
    profile_end(layer->backend->profile, begin, "attention", "decoding",
                4.0 * scores * (double)(layer->heads * layer->head_dim),
                2.0 * keys * (double)(layer->key_value_heads * layer->head_dim) *
                    (double)rotary_dtype_size(layer->backend->storage));
}

rotary_status attention_layer_decode(struct attention_layer *layer, const struct parameters *parameters,
                                     const struct attention_layer_decode_call *call, rotary_error *error)
{
    const struct attention_layer_cache *cache = &call->cache;
    int64_t batch = call->batch, time = call->time;
    rotary_status status =
        linear_forward(layer->projections.in, parameters, call->qkv, call->in, MATMUL_EPILOGUE_NONE, error);
    if (status != ROTARY_OK)
        return status;
    struct query_key_value heads = split_heads(layer, call->qkv, time);
    int64_t cache_rows = batch * cache->capacity, cache_columns = layer->key_value_heads * layer->head_dim;
    struct matrix keys = matrix_of(cache->key, call->qkv.dtype, cache_rows, cache_columns),
                  values = matrix_of(cache->value, call->qkv.dtype, cache_rows, cache_columns);
    rotary_attention_decode_call attention = {.struct_size = sizeof attention,
                                              .batch = batch,
                                              .queries = time,
                                              .capacity = cache->capacity,
                                              .lengths = cache->lengths,
                                              .query = const_view(heads.query),
                                              .key = const_view(heads.key),
                                              .value = const_view(heads.value),
                                              .key_cache = heads_of(layer, keys, cache->capacity, 0),
                                              .value_cache = heads_of(layer, values, cache->capacity, 0),
                                              .output = heads_of(layer, call->context, time, 0),
                                              .workspace = call->workspace};
    double begin = profile_begin(layer->backend->profile);
    status = rotary_attention_decode(layer->attention, &attention, error);
    record_decode_profile(layer, begin, batch, time, cache->lengths);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->projections.out, parameters, call->out, call->context, MATMUL_EPILOGUE_NONE,
                          error);
}
