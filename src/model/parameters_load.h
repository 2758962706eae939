/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of parameters from a safetensors file whose tensors may have other names and other shapes: a
 * checkpoint of another program, or a part of a model for fine-tuning.
 */
#ifndef ROTARY_MODEL_PARAMETERS_LOAD_H
#define ROTARY_MODEL_PARAMETERS_LOAD_H

#include "backend/parameters.h"
#include "file/safetensors.h"

/* A tensor of the file, and the parameter that it fills. A part of a fused parameter (query, key and value)
 * names the rows of the parameter; the tensor has that many rows. */
struct parameter_source {
    const char *tensor, *parameter;
    int64_t first, rows; /* of the parameter; rows 0: all */
    bool transposed;     /* the tensor is [columns, rows] */
};

enum parameters_load_mode {
    PARAMETERS_ALL, /* every parameter must be filled, and every tensor used */
    PARAMETERS_PART /* other parameters keep their values */
};

struct parameters_load_call {
    const struct safetensors *file;
    const struct parameter_source *map; /* [count]; NULL: tensors have the names of parameters */
    int count;
    enum parameters_load_mode mode;
    /* Which parameters were filled completely, [parameters' count], and which tensors of the file were used,
     * [safetensors_count]; NULL: not wanted. */
    bool *filled, *used;
};

/* Tensors are f32, f16 or bf16. Everything is checked before the first value is written: names, types,
 * shapes, that no row is filled twice and, as `mode` says, that nothing is left. ROTARY_BAD_FILE names the
 * file and the tensor. */
ROTARY_CHECKED rotary_status parameters_load(struct parameters *parameters,
                                             const struct parameters_load_call *call, rotary_error *error);

#endif
