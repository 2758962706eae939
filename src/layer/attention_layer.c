/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/attention_layer.h"

#include "tensor/profile.h"

#include <stdio.h>

rotary_status attention_layer_create(struct attention_layer *layer, const struct compute *compute,
                                     const rotary_attention *attention,
                                     const struct attention_layer_config *config,
                                     struct parameters *parameters, rotary_error *error)
{
    struct attention_layer made = {.compute = compute,
                                   .attention = attention,
                                   .heads = config->heads,
                                   .key_value_heads = config->key_value_heads,
                                   .head_dim = config->head_dim};
    char name[96];
    snprintf(name, sizeof name, "%s.query_key_value", config->name);
    struct linear_config linear = {.name = name,
                                   .inputs = config->width,
                                   .outputs =
                                       (config->heads + 2 * config->key_value_heads) * config->head_dim,
                                   .rows = config->rows,
                                   .bias = config->bias,
                                   .training = config->training,
                                   .tied_weight = -1,
                                   .initial = config->initial,
                                   .bias_initial = config->bias_initial,
                                   .scale = config->scale};
    rotary_status status = linear_create(&made.project, compute, &linear, parameters, error);
    if (status != ROTARY_OK)
        return status;
    snprintf(name, sizeof name, "%s.output", config->name);
    linear.inputs = config->heads * config->head_dim;
    linear.outputs = config->width;
    linear.scale = config->output_scale;
    status = linear_create(&made.output, compute, &linear, parameters, error);
    if (status == ROTARY_OK)
        *layer = made;
    else
        attention_layer_destroy(&made);
    return status;
}

void attention_layer_destroy(struct attention_layer *layer)
{
    linear_destroy(layer->project);
    linear_destroy(layer->output);
    *layer = (struct attention_layer){0};
}

rotary_status attention_layer_prepare(struct attention_layer *layer, const struct parameters *parameters,
                                      rotary_error *error)
{
    rotary_status status = linear_prepare(layer->project, parameters, error);
    return status == ROTARY_OK ? linear_prepare(layer->output, parameters, error) : status;
}

/* Heads first ... of rows that hold `matrix.stride` elements a token and `time` tokens a sequence. */
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

/* A product is head_dim by (time + 1) / 2 keys for each query. Bytes: everything that goes in and out. */
static void record_profile(const struct attention_layer *layer, double begin, const char *what, int64_t batch,
                           int64_t time, double matmuls)
{
    double rows = (double)(batch * time), channels = (double)(layer->heads * layer->head_dim),
           channels_moved = (double)((2 * layer->heads + 2 * layer->key_value_heads) * layer->head_dim);
    profile_end(layer->compute->profile, begin, "attention", what,
                matmuls * rows * channels * (double)(time + 1),
                rows * channels_moved * (matmuls > 2.0 ? 2.0 : 1.0) *
                    (double)rotary_dtype_size(layer->compute->storage));
}

rotary_status attention_layer_forward(struct attention_layer *layer, const struct parameters *parameters,
                                      struct matrix out, struct matrix in, int64_t batch, int64_t time,
                                      struct attention_layer_saved saved, void *workspace,
                                      rotary_error *error)
{
    rotary_status status =
        linear_forward(layer->project, parameters, saved.qkv, in, MATMUL_EPILOGUE_NONE, error);
    if (status != ROTARY_OK)
        return status;
    struct query_key_value qkv_heads = split_heads(layer, saved.qkv, time);
    rotary_attention_forward_call call = {.struct_size = sizeof call,
                                          .shape = {.batch = batch, .queries = time, .keys = time},
                                          .query = const_view(qkv_heads.query),
                                          .key = const_view(qkv_heads.key),
                                          .value = const_view(qkv_heads.value),
                                          .output = heads_of(layer, saved.context, time, 0),
                                          .log_sum_exp = saved.log_sum_exp,
                                          .workspace = workspace};
    double begin = profile_begin(layer->compute->profile);
    status = rotary_attention_forward(layer->attention, &call, error);
    record_profile(layer, begin, "forward", batch, time, 2.0);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->output, parameters, out, saved.context, MATMUL_EPILOGUE_NONE, error);
}

rotary_status attention_layer_backward(struct attention_layer *layer, struct parameters *parameters,
                                       struct matrix d_in, struct matrix d_out, struct matrix in,
                                       int64_t batch, int64_t time, struct attention_layer_saved saved,
                                       struct matrix d_qkv, struct matrix d_context, void *workspace,
                                       rotary_error *error)
{
    rotary_status status = linear_backward(layer->output, parameters, d_context, d_out, saved.context, error);
    if (status != ROTARY_OK)
        return status;
    struct query_key_value qkv_heads = split_heads(layer, saved.qkv, time),
                           d_qkv_heads = split_heads(layer, d_qkv, time);
    rotary_attention_backward_call call = {.struct_size = sizeof call,
                                           .shape = {.batch = batch, .queries = time, .keys = time},
                                           .query = const_view(qkv_heads.query),
                                           .key = const_view(qkv_heads.key),
                                           .value = const_view(qkv_heads.value),
                                           .output = const_view(heads_of(layer, saved.context, time, 0)),
                                           .output_gradient = const_view(heads_of(layer, d_context, time, 0)),
                                           .log_sum_exp = saved.log_sum_exp,
                                           .query_gradient = d_qkv_heads.query,
                                           .key_gradient = d_qkv_heads.key,
                                           .value_gradient = d_qkv_heads.value,
                                           .workspace = workspace};
    double begin = profile_begin(layer->compute->profile);
    status = rotary_attention_backward(layer->attention, &call, error);
    record_profile(layer, begin, "backward", batch, time, 5.0);
    if (status != ROTARY_OK)
        return status;
    return linear_backward(layer->project, parameters, d_in, d_qkv, in, error);
}

/* Every query meets what its sequence's cache holds, which is read once. */
static void record_decode_profile(const struct attention_layer *layer, double begin, int64_t batch,
                                  int64_t time, const int64_t *lengths)
{
    if (!layer->compute->profile)
        return;
    double keys = 0.0, scores = 0.0;
    for (int64_t sequence = 0; sequence < batch; sequence++) {
        keys += (double)(lengths[sequence] + time);
        scores += (double)time * ((double)lengths[sequence] + 0.5 * (double)(time + 1));
    }
    profile_end(layer->compute->profile, begin, "attention", "decoding",
                4.0 * scores * (double)(layer->heads * layer->head_dim),
                2.0 * keys * (double)(layer->key_value_heads * layer->head_dim) *
                    (double)rotary_dtype_size(layer->compute->storage));
}

rotary_status attention_layer_decode(struct attention_layer *layer, const struct parameters *parameters,
                                     struct matrix out, struct matrix in, int64_t batch, int64_t time,
                                     struct attention_layer_cache cache, struct matrix qkv,
                                     struct matrix context, void *workspace, rotary_error *error)
{
    rotary_status status = linear_forward(layer->project, parameters, qkv, in, MATMUL_EPILOGUE_NONE, error);
    if (status != ROTARY_OK)
        return status;
    struct query_key_value qkv_heads = split_heads(layer, qkv, time);
    struct matrix rows =
        matrix_of(cache.key, qkv.dtype, batch * cache.capacity, layer->key_value_heads * layer->head_dim);
    rotary_attention_decode_call call = {.struct_size = sizeof call,
                                         .batch = batch,
                                         .queries = time,
                                         .capacity = cache.capacity,
                                         .lengths = cache.lengths,
                                         .query = const_view(qkv_heads.query),
                                         .key = const_view(qkv_heads.key),
                                         .value = const_view(qkv_heads.value),
                                         .key_cache = heads_of(layer, rows, cache.capacity, 0),
                                         .output = heads_of(layer, context, time, 0),
                                         .workspace = workspace};
    rows.data = cache.value;
    call.value_cache = heads_of(layer, rows, cache.capacity, 0);
    double begin = profile_begin(layer->compute->profile);
    status = rotary_attention_decode(layer->attention, &call, error);
    record_decode_profile(layer, begin, batch, time, cache.lengths);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->output, parameters, out, context, MATMUL_EPILOGUE_NONE, error);
}
