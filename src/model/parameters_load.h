/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of parameters from safetensors files whose tensors may have other names and other shapes: a
 * checkpoint of another program, or a part of a model for fine-tuning.
 */
#ifndef ROTARY_MODEL_PARAMETERS_LOAD_H
#define ROTARY_MODEL_PARAMETERS_LOAD_H

#include "backend/parameters.h"
#include "file/safetensors.h"

/* A tensor of a file, and the parameter that it fills. A part of a fused parameter (query, key and value)
 * names the rows of the parameter; the tensor has that many rows. */
struct parameter_source {
    const char *tensor, *parameter;
    int64_t first, rows; /* of the parameter; rows 0: all */
    bool transposed;     /* the tensor is [columns, rows] */
    float added;         /* to every element: norms that multiply by 1 + weight (Gemma) have 1 */
    /* The tensor is [groups, parts, rows / groups / parts, columns], the parameter [parts, groups, ...]: a
     * projection that has query, key and value of one head after another (GPT-NeoX). 0: they are alike. */
    int64_t groups, parts;
};

enum parameters_load_mode {
    PARAMETERS_ALL, /* every parameter must be filled, and every tensor used */
    PARAMETERS_PART /* other parameters keep their values */
};

struct parameters_load_call {
    const struct safetensors *const *files; /* [file_count] with the tensors: the shards of a model, or one */
    int file_count;
    const struct parameter_source *map; /* [count]; NULL: tensors have the names of parameters */
    int count;
    enum parameters_load_mode mode;
    /* Which parameters were filled completely, [parameters' count], and which tensors were used: those of the
     * first file, [safetensors_count], then those of the next; NULL: not wanted. */
    bool *filled, *used;
};

/* Rows of stored parameters (backend/parameters.h) stay in the files, which must outlive the table; sources
 * of one come in the order of its rows.
 *
 * Tensors are f32, f16 or bf16. Everything is checked before the first value is written: names, types,
 * shapes, that no row is filled twice and, as `mode` says, that nothing is left. ROTARY_BAD_FILE names the
 * file and the tensor. */
ROTARY_CHECKED rotary_status parameters_load(struct parameters *parameters,
                                             const struct parameters_load_call *call, rotary_error *error);

#endif
