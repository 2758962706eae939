/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/attention_workspace.h"

#include "base/integer.h"
#include "layer/encoding/relative_vectors.h"

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t attention_workspace_bytes(const struct sublayer *sublayer, const struct attention_extent *extent)
{
    const struct sublayer_config *config = &sublayer->config;
    const struct backend_operations *operations = sublayer->backend->operations;
    static const int32_t any = 0; /* positions are not read here: only whether there are some counts */
    const int32_t *positions = config->positions ? &any : NULL;
    rotary_attention_distance_bias bias = config->distance_bias;
    float unread = 0;
    if (config->learned_distance_bias) /* of its gradient too is only read whether there is one */
        bias = (rotary_attention_distance_bias){.data = &unread, .distances = 1, .gradient = &unread};
    const struct relative_vectors_call vectors = relative_vectors_unread(config, &unread);
    rotary_attention_piecewise_bias piecewise = {.segments = distance_bias_segments(&config->layer_bias)};
    if (piecewise.segments > 0) {
        piecewise.intercepts = &unread;
        piecewise.intercept_gradient = &unread;
    }
    const rotary_attention_forward_call forward = {.struct_size = sizeof forward,
                                                   .shape = extent->shape,
                                                   .packed_sequences = extent->packed_sequences,
                                                   .distance_bias = bias,
                                                   .distance_keys = vectors.keys,
                                                   .query_bias = vectors.query_bias,
                                                   .distance_queries = vectors.queries,
                                                   .distance_values = vectors.values,
                                                   .piecewise_bias = piecewise,
                                                   .query_positions = positions,
                                                   .key_positions = positions};
    const rotary_attention_backward_call backward = {.struct_size = sizeof backward,
                                                     .shape = extent->shape,
                                                     .packed_sequences = extent->packed_sequences,
                                                     .distance_bias = bias,
                                                     .distance_keys = vectors.keys,
                                                     .query_bias = vectors.query_bias,
                                                     .query_bias_gradient = vectors.query_bias_gradient,
                                                     .distance_queries = vectors.queries,
                                                     .distance_values = vectors.values,
                                                     .piecewise_bias = piecewise,
                                                     .query_positions = positions,
                                                     .key_positions = positions};
    size_t bytes = operations->attention_forward_bytes(config->attention, &forward);
    if (config->training)
        bytes = larger(bytes, operations->attention_backward_bytes(config->attention, &backward));
    return bytes;
}

static size_t packed_bytes(const struct sublayer *sublayer, int64_t queries, int64_t keys)
{
    const int32_t query_starts[2] = {0, (int32_t)queries}, key_starts[2] = {0, (int32_t)keys};
    const struct attention_extent one = {.shape = {.batch = 1, .queries = queries, .keys = keys},
                                         .packed_sequences = {query_starts, key_starts, 1}};
    return attention_workspace_bytes(sublayer, &one);
}

/* Packed sequences need as much as the longest of them, and short ones run side by side: so lengths from 1 to
 * all rows are tried, doubling. */
size_t attention_max_workspace_bytes(const struct sublayer *sublayer, int64_t queries, int64_t keys)
{
    const struct sublayer_config *config = &sublayer->config;
    const struct attention_extent padded = {
        .shape = {.batch = config->batch, .queries = queries, .keys = keys}};
    size_t bytes = attention_workspace_bytes(sublayer, &padded);
    int64_t all_queries = config->batch * queries, all_keys = config->batch * keys;
    for (int64_t q = 1; config->packed && q < 2 * all_queries; q *= 2)
        for (int64_t k = 1; k < 2 * all_keys; k *= 2)
            bytes = larger(bytes, packed_bytes(sublayer, min_i64(q, all_queries), min_i64(k, all_keys)));
    return bytes;
}
