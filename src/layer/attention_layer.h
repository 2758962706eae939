/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-head self-attention as a layer: one projection to queries, keys and values, attention, one projection
 * back.
 *
 * Queries, keys and values stay side by side in the projection's rows, [rows, (heads + 2 key_value_heads)
 * head_dim], and attention reads them there by stride: nothing is transposed or copied between projection and
 * attention.
 */
#ifndef ROTARY_LAYER_ATTENTION_LAYER_H
#define ROTARY_LAYER_ATTENTION_LAYER_H

#include "layer/linear.h"

#include <rotary/attention.h>

struct attention_layer {
    const struct compute *compute;
    const rotary_attention *attention; /* borrowed: layers share it */
    struct linear *project, *output;   /* "<name>.query_key_value", "<name>.output" */
    int64_t heads, key_value_heads, head_dim;
};

struct attention_layer_config {
    const char *name;
    int64_t width, heads, key_value_heads, head_dim;
    int64_t rows; /* the most in one call: batch * time */
    bool bias, training;
    enum initialisation initial, bias_initial;
    float scale, output_scale;
};

ROTARY_CHECKED rotary_status attention_layer_create(struct attention_layer *layer,
                                                    const struct compute *compute,
                                                    const rotary_attention *attention,
                                                    const struct attention_layer_config *config,
                                                    struct parameters *parameters, rotary_error *error);
void attention_layer_destroy(struct attention_layer *layer);
ROTARY_CHECKED rotary_status attention_layer_prepare(struct attention_layer *layer,
                                                     const struct parameters *parameters,
                                                     rotary_error *error);

/* What the forward pass leaves for the backward pass. */
struct attention_layer_saved {
    struct matrix qkv;     /* [rows, (heads + 2 key_value_heads) head_dim], storage type */
    struct matrix context; /* [rows, heads head_dim], storage type */
    float *log_sum_exp;    /* [batch, heads, time] */
};

/* out = layer(in), both [batch * time, width] of the storage type. */
ROTARY_CHECKED rotary_status attention_layer_forward(struct attention_layer *layer,
                                                     const struct parameters *parameters, struct matrix out,
                                                     struct matrix in, int64_t batch, int64_t time,
                                                     struct attention_layer_saved saved, void *workspace,
                                                     rotary_error *error);

/* d_in from d_out; d_projected and d_attended are scratch of the shapes in `saved`. */
ROTARY_CHECKED rotary_status attention_layer_backward(struct attention_layer *layer,
                                                      struct parameters *parameters, struct matrix d_in,
                                                      struct matrix d_out, struct matrix in, int64_t batch,
                                                      int64_t time, struct attention_layer_saved saved,
                                                      struct matrix d_qkv, struct matrix d_context,
                                                      void *workspace, rotary_error *error);

/* The same over a cache: `time` new tokens of every sequence. Caches are [batch, capacity, key_value_heads,
 * head_dim] of the storage type. */
struct attention_layer_cache {
    void *key, *value;
    int64_t capacity;
    const int64_t *lengths; /* [batch] tokens already there */
};
ROTARY_CHECKED rotary_status attention_layer_decode(struct attention_layer *layer,
                                                    const struct parameters *parameters, struct matrix out,
                                                    struct matrix in, int64_t batch, int64_t time,
                                                    struct attention_layer_cache cache, struct matrix qkv,
                                                    struct matrix context, void *workspace,
                                                    rotary_error *error);

#endif
