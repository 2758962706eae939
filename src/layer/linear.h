/* SPDX-License-Identifier: Apache-2.0
 *
 * y = x W^T + b, with W [outputs, inputs] as PyTorch stores it.
 */
#ifndef ROTARY_LAYER_LINEAR_H
#define ROTARY_LAYER_LINEAR_H

#include "backend/backend.h"
#include "backend/parameters.h"

struct linear;

struct linear_config {
    const char *name; /* adds "<name>.weight" and, with bias, "<name>.bias" to the table */
    int64_t inputs, outputs;
    int64_t rows; /* the maximum per call */
    bool bias, training;
    bool measured;   /* only its size is wanted: it gets no memory for packed weights and cannot run */
    int tied_weight; /* index of a parameter [outputs, inputs] to share; -1: adds a weight of its own */
    enum initialisation initial, bias_initial;
    float scale, bias_scale; /* of the initial distributions */
    int64_t tail_outputs;    /* the last of the outputs, whose weights have tail_scale instead */
    float tail_scale;
};

ROTARY_CHECKED rotary_status linear_create(struct linear **linear, const struct backend *backend,
                                           const struct linear_config *config, struct parameters *parameters,
                                           rotary_error *error);
void linear_destroy(struct linear *linear);

/* Bytes of the packed weight of its forward pass; that of the backward pass is the table's
 * (parameters_shared_bytes). */
size_t linear_bytes(const struct linear *linear);

int64_t linear_outputs(const struct linear *linear);
/* A number that is another one whenever weight or bias has changed; at least 1. */
uint64_t linear_version(const struct linear *linear, const struct parameters *parameters);

/* All passes pack the weight for their matmul first, if its version is not the packed one.
 *
 * out[rows, outputs] = epilogue(in[rows, inputs] W^T + b). in has the storage type, out that type or f32;
 * rows may be fewer than configured. The first call with a new number of rows may allocate; later ones do
 * not. */
ROTARY_CHECKED rotary_status linear_forward(struct linear *linear, const struct parameters *parameters,
                                            struct matrix out, struct matrix in,
                                            enum matmul_epilogue epilogue, rotary_error *error);

/* The most probable classes of each row of in W^T + b, on the host. `call` has all members but input, weight
 * and bias. */
ROTARY_CHECKED rotary_status linear_top_classes(struct linear *linear, const struct parameters *parameters,
                                                struct matrix in, const struct backend_top_classes *call,
                                                rotary_error *error);

/* d_in = d_out W. The matrices of backward passes have the storage type. d_out is the gradient of in W^T + b,
 * before the epilogue. */
ROTARY_CHECKED rotary_status linear_input_gradient(struct linear *linear, struct parameters *parameters,
                                                   struct matrix d_in, struct matrix d_out,
                                                   rotary_error *error);
/* d_weight += d_out^T in; d_bias += column sums of d_out. */
ROTARY_CHECKED rotary_status linear_weight_gradient(struct linear *linear, struct parameters *parameters,
                                                    struct matrix d_out, struct matrix in,
                                                    rotary_error *error);
/* Both; the first is skipped if d_in.data is NULL. */
ROTARY_CHECKED rotary_status linear_backward(struct linear *linear, struct parameters *parameters,
                                             struct matrix d_in, struct matrix d_out, struct matrix in,
                                             rotary_error *error);

#endif
