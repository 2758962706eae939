/* SPDX-License-Identifier: Apache-2.0
 *
 * y = x W^T + b, with W [outputs, inputs] as PyTorch stores it.
 */
#ifndef ROTARY_LAYER_LINEAR_H
#define ROTARY_LAYER_LINEAR_H

#include "tensor/compute.h"
#include "tensor/matmul.h"
#include "tensor/parameters.h"

struct linear;

struct linear_config {
    const char *name; /* adds "<name>.weight" and, with bias, "<name>.bias" to the table */
    int64_t inputs, outputs;
    int64_t rows; /* the most in one call */
    bool bias, training;
    int tied_weight; /* the index of a weight [outputs, inputs] to share instead of adding one; -1: none */
    enum initialisation initial, bias_initial;
    float scale; /* of both */
};

ROTARY_CHECKED rotary_status linear_create(struct linear **linear, const struct compute *compute,
                                           const struct linear_config *config, struct parameters *parameters,
                                           rotary_error *error);
void linear_destroy(struct linear *linear);

/* Bytes it holds beyond the table of parameters: weights in the layouts the product wants. */
size_t linear_bytes(const struct linear *linear);

int64_t linear_outputs(const struct linear *linear);

/* Brings the weights into the layouts the product wants. To be called after the values changed: once a step.
 */
ROTARY_CHECKED rotary_status linear_prepare(struct linear *linear, const struct parameters *parameters,
                                            rotary_error *error);

/* out[rows, outputs] = finish(in[rows, inputs] W^T + b). in is of the storage type, out of that or f32;
 * any number of rows up to the configured. The first call with a new number of rows may allocate; later ones
 * do not. */
ROTARY_CHECKED rotary_status linear_forward(struct linear *linear, const struct parameters *parameters,
                                            struct matrix out, struct matrix in,
                                            enum matmul_epilogue epilogue, rotary_error *error);

/* d_in = d_out W (skipped when d_in.data is NULL); d_weight += d_out^T in; d_bias += column sums of d_out.
 * d_out, in, d_in are of the storage type. d_out is the gradient before the activation. */
ROTARY_CHECKED rotary_status linear_backward(struct linear *linear, struct parameters *parameters,
                                             struct matrix d_in, struct matrix d_out, struct matrix in,
                                             rotary_error *error);

#endif
