/* SPDX-License-Identifier: Apache-2.0
 *
 * The position-wise feed-forward layer:
 *     relu, gelu   down(activation(up(x)))
 *     swiglu       down(silu(gate(x)) * up(x))   (Shazeer 2020), gate and up being one projection
 */
#ifndef ROTARY_LAYER_FEED_FORWARD_H
#define ROTARY_LAYER_FEED_FORWARD_H

#include "layer/activation.h"
#include "layer/linear_pair.h"

struct feed_forward {
    enum activation activation;
    const struct backend *backend;
    struct linear_pair projections; /* "<name>.up" (for swiglu: gate rows, then up rows), "<name>.down" */
};

struct feed_forward_config {
    struct sublayer_config sublayer;
    int64_t hidden;
    enum activation activation;
};

ROTARY_CHECKED rotary_status feed_forward_create(struct feed_forward *layer, const struct backend *backend,
                                                 const struct feed_forward_config *config,
                                                 struct parameters *parameters, rotary_error *error);
void feed_forward_destroy(struct feed_forward *layer);

/* Activations that the forward pass stores for the backward pass, of the storage type. */
struct feed_forward_saved {
    struct matrix pre_activation; /* input of the activation: [rows, feed_forward_pre_activation_columns()] */
    struct matrix hidden;         /* its output: [rows, hidden] */
};
/* hidden, 2 hidden for swiglu, 0 for relu, whose gradient follows from `hidden`. */
int64_t feed_forward_pre_activation_columns(enum activation activation, int64_t hidden);

/* out = layer(in), both [rows, width] of the storage type. */
ROTARY_CHECKED rotary_status feed_forward_forward(struct feed_forward *layer,
                                                  const struct parameters *parameters, struct matrix out,
                                                  struct matrix in, struct feed_forward_saved saved,
                                                  rotary_error *error);

/* d_in from d_out; accumulates the gradients of the parameters. */
struct feed_forward_backward_call {
    struct matrix d_in, d_out, in;
    struct feed_forward_saved saved;
    struct matrix d_hidden;         /* scratch, [rows, hidden] */
    struct matrix d_pre_activation; /* scratch for swiglu, [rows, 2 hidden] */
};
ROTARY_CHECKED rotary_status feed_forward_backward(struct feed_forward *layer, struct parameters *parameters,
                                                   const struct feed_forward_backward_call *call,
                                                   rotary_error *error);

#endif
