/* SPDX-License-Identifier: Apache-2.0
 *
 * The position-wise feed-forward layer:
 *     relu, gelu   down(activation(up(x)))
 *     swiglu       down(silu(gate(x)) * up(x))   (Shazeer 2020), gate and up being one projection
 */
#ifndef ROTARY_LAYER_FEED_FORWARD_H
#define ROTARY_LAYER_FEED_FORWARD_H

#include "layer/activation.h"
#include "layer/linear.h"

struct feed_forward {
    enum activation activation;
    const struct compute *compute;
    struct linear *up, *down; /* "<name>.up" (for swiglu: gate rows, then up rows), "<name>.down" */
};

struct feed_forward_config {
    const char *name;
    int64_t width, hidden, rows;
    enum activation activation;
    bool bias, training;
    enum initialisation initial, bias_initial;
    float up_scale, down_scale;
};

ROTARY_CHECKED rotary_status feed_forward_create(struct feed_forward *layer, const struct compute *compute,
                                                 const struct feed_forward_config *config,
                                                 struct parameters *parameters, rotary_error *error);
void feed_forward_destroy(struct feed_forward *layer);
ROTARY_CHECKED rotary_status feed_forward_prepare(struct feed_forward *layer,
                                                  const struct parameters *parameters, rotary_error *error);

/* What the forward pass leaves for the backward pass, and where it works. */
struct feed_forward_saved {
    struct matrix pre_activation; /* before the activation: [rows, hidden], or 2 hidden for swiglu; none
                                     (columns 0) for relu */
    struct matrix hidden;         /* after it: [rows, hidden] */
};
/* Columns of `before` that an activation needs. */
int64_t feed_forward_pre_activation_columns(enum activation activation, int64_t hidden);

/* out = layer(in), both [rows, width] of the storage type. */
ROTARY_CHECKED rotary_status feed_forward_forward(struct feed_forward *layer,
                                                  const struct parameters *parameters, struct matrix out,
                                                  struct matrix in, struct feed_forward_saved saved,
                                                  rotary_error *error);
/* d_in from d_out. d_after [rows, hidden] and, for swiglu, d_before [rows, 2 hidden] are scratch. */
ROTARY_CHECKED rotary_status feed_forward_backward(struct feed_forward *layer, struct parameters *parameters,
                                                   struct matrix d_in, struct matrix d_out, struct matrix in,
                                                   struct feed_forward_saved saved, struct matrix d_hidden,
                                                   struct matrix d_pre_activation, rotary_error *error);

#endif
