/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations on their own, for those that need their input again in the backward pass. ReLU, and GELU while
 * evaluating, are better asked of linear_forward, which applies them to the product's sums.
 */
#ifndef ROTARY_LAYER_ACTIVATION_H
#define ROTARY_LAYER_ACTIVATION_H

#include "layer/linear.h"

/* out = activation(pre), both of the storage type. out [rows, hidden]; pre [rows, hidden], or [rows, 2
 * hidden] = gate | up for SwiGLU (Shazeer 2020): out = gate * sigmoid(gate) * up. out may be pre, except for
 * SwiGLU. */
void activation_forward(const struct compute *compute, enum activation kind, struct matrix out,
                        struct matrix pre);

/* d_pre = the gradient of pre, where d_out is that of out. `saved` is out for ReLU, else pre. d_pre may be
 * d_out, except for SwiGLU. */
void activation_backward(const struct compute *compute, enum activation kind, struct matrix d_pre,
                         struct matrix d_out, struct matrix saved);

#endif
