/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes between a stack and its output projection where a model has it, as BERT does (Devlin et al.
 * 2019):
 *
 *     out = norm(dropout(activation(in W^T + b)))
 *
 * Its masked-token head has the norm, the pooler before its classifiers the dropout.
 */
#ifndef ROTARY_LAYER_OUTPUT_TRANSFORM_H
#define ROTARY_LAYER_OUTPUT_TRANSFORM_H

#include "layer/sublayer.h"

struct output_transform;

struct output_transform_config {
    const char *name; /* adds "<name>.dense.weight", "<name>.norm.weight", ... */
    int64_t width;    /* of rows in and out */
    int64_t rows;     /* the maximum per call */
    bool bias, training;
    bool measured; /* layer/linear.h */
    struct initial_config initial;
    enum activation activation; /* relu, gelu or tanh */
    bool has_norm;
    enum norm_kind norm;
    float norm_epsilon;
};

/* Adds the parameters to the table. It has no memory for rows before output_transform_carve. */
ROTARY_CHECKED rotary_status output_transform_create(struct output_transform **transform,
                                                     const struct backend *backend,
                                                     const struct output_transform_config *config,
                                                     struct parameters *parameters, rotary_error *error);
void output_transform_destroy(struct output_transform *transform); /* NULL is allowed */
/* Bytes of the packed weights of forward passes (layer/linear.h). */
size_t output_transform_weight_bytes(const struct output_transform *transform);

/* Called twice (base/arena.h). Calls have at most `rows` rows from then on. */
void output_transform_carve(struct output_transform *transform, int64_t rows, struct rotary_arena *arena);

struct output_transform_call {
    struct matrix in;       /* [rows, width], storage type */
    struct dropout dropout; /* probability 0: none */
};
/* *out is the transform's own memory, of the storage type, until the next call. */
ROTARY_CHECKED rotary_status output_transform_forward(struct output_transform *transform,
                                                      const struct parameters *parameters,
                                                      const struct output_transform_call *call,
                                                      struct matrix *out, rotary_error *error);
/* Where the gradient of `out` is to be written before output_transform_backward. */
struct matrix output_transform_gradient(struct output_transform *transform, int64_t rows);
/* After output_transform_forward of the same call. d_in is overwritten; adds to the gradients of the
 * parameters. */
ROTARY_CHECKED rotary_status output_transform_backward(struct output_transform *transform,
                                                       struct parameters *parameters,
                                                       const struct output_transform_call *call,
                                                       struct matrix d_in, rotary_error *error);

#endif
