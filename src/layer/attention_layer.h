/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-head self-attention as a layer: one projection to queries, keys and values, attention, and the output
 * projection.
 *
 * Queries, keys and values stay side by side in the rows of the projection, [rows, (heads + 2
 * key_value_heads) head_dim]. Attention reads them there by stride: nothing is transposed or copied in
 * between.
 */
#ifndef ROTARY_LAYER_ATTENTION_LAYER_H
#define ROTARY_LAYER_ATTENTION_LAYER_H

#include "layer/linear_pair.h"

#include <rotary/attention.h>

struct attention_layer {
    const struct backend *backend;
    const rotary_attention *attention; /* borrowed: layers share it */
    struct linear_pair projections;    /* "<name>.query_key_value", "<name>.output" */
    int64_t heads, key_value_heads, head_dim;
};

struct attention_layer_config {
    struct sublayer_config sublayer;
    int64_t heads, key_value_heads, head_dim;
};

ROTARY_CHECKED rotary_status attention_layer_create(struct attention_layer *layer,
                                                    const struct backend *backend,
                                                    const rotary_attention *attention,
                                                    const struct attention_layer_config *config,
                                                    struct parameters *parameters, rotary_error *error);
void attention_layer_destroy(struct attention_layer *layer);

/* Activations that the forward pass stores for the backward pass. */
struct attention_layer_saved {
    struct matrix qkv;     /* [rows, (heads + 2 key_value_heads) head_dim], storage type */
    struct matrix context; /* attention's output, [rows, heads head_dim], storage type */
    float *log_sum_exp;    /* [batch, heads, time] */
};

/* out = layer(in), both [batch * time, width] of the storage type. */
struct attention_layer_forward_call {
    int64_t batch, time;
    struct matrix out, in;
    struct attention_layer_saved saved; /* written */
    void *workspace;                    /* rotary_attention_forward_bytes */
};
ROTARY_CHECKED rotary_status attention_layer_forward(struct attention_layer *layer,
                                                     const struct parameters *parameters,
                                                     const struct attention_layer_forward_call *call,
                                                     rotary_error *error);

/* d_in from d_out; accumulates the gradients of the parameters. */
struct attention_layer_backward_call {
    int64_t batch, time;
    struct matrix d_in, d_out, in;
    struct attention_layer_saved saved;
    struct matrix d_qkv, d_context; /* scratch, shaped like their counterparts in `saved` */
    void *workspace;                /* rotary_attention_backward_bytes */
};
ROTARY_CHECKED rotary_status attention_layer_backward(struct attention_layer *layer,
                                                      struct parameters *parameters,
                                                      const struct attention_layer_backward_call *call,
                                                      rotary_error *error);

/* The KV cache of a layer: [batch, capacity, key_value_heads, head_dim] each, of the storage type. */
struct attention_layer_cache {
    void *key, *value;
    int64_t capacity;
    const int64_t *lengths; /* [batch] tokens in the cache */
};

/* out = layer(in) of `time` new tokens of every sequence, whose keys and values are appended to the cache. */
struct attention_layer_decode_call {
    int64_t batch, time;
    struct matrix out, in;
    struct attention_layer_cache cache;
    struct matrix qkv, context; /* scratch, shaped as in attention_layer_saved */
    void *workspace;            /* rotary_attention_decode_bytes */
};
ROTARY_CHECKED rotary_status attention_layer_decode(struct attention_layer *layer,
                                                    const struct parameters *parameters,
                                                    const struct attention_layer_decode_call *call,
                                                    rotary_error *error);

#endif
