/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations as a pass of their own. Forward ReLU is faster as an epilogue of linear_forward.
 */
#ifndef ROTARY_LAYER_ACTIVATION_H
#define ROTARY_LAYER_ACTIVATION_H

#include "backend/backend.h"
#include "backend/matrix.h"

enum activation {
    ACTIVATION_RELU,
    ACTIVATION_GELU,   /* x Phi(x), exact */
    ACTIVATION_SWIGLU, /* gate * sigmoid(gate) * up (Shazeer 2020) */
};

/* out = activation(pre), both of the storage type. out [rows, hidden]; pre [rows, hidden], or [rows, 2
 * hidden] = gate | up for SwiGLU. out may be pre, except for SwiGLU. */
void activation_forward(const struct backend *backend, enum activation kind, struct matrix out,
                        struct matrix pre);

/* d_pre from d_out, the gradients of pre and out. `saved` is out for ReLU, else pre. d_pre may be d_out,
 * except for SwiGLU. */
void activation_backward(const struct backend *backend, enum activation kind, struct matrix d_pre,
                         struct matrix d_out, struct matrix saved);

#endif
