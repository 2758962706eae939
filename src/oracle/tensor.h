/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors that the oracle reads and writes: a .npy file, or one tensor of a safetensors file, whose name
 * follows a colon (model.safetensors:layers.0.q) unless it is the only one. In memory they are double, which
 * represents the numbers of every type exactly.
 */
#ifndef ROTARY_ORACLE_TENSOR_H
#define ROTARY_ORACLE_TENSOR_H

#include "file/npy.h"
#include "file/shape_text.h"

#include <rotary/types.h>

struct tensor {
    const char *label;  /* path or path:name, for messages too; borrowed */
    enum npy_type type; /* in the file */
    int dimensions;
    int64_t shape[NPY_DIMENSIONS];
    int64_t elements;
    double *values;               /* NULL until they are read */
    struct tensor_source *source; /* they are still to be read from; NULL: from nowhere */
};

/* Opens a tensor: all but its values is known, so that a shape can be refused before memory is taken for
 * them. The caller frees a tensor that was opened or made. */
ROTARY_CHECKED rotary_status tensor_open(const char *label, struct tensor *tensor, rotary_error *error);
/* Reads the values of an open tensor and closes its file. Integers beyond 2^53 are refused. */
ROTARY_CHECKED rotary_status tensor_load(struct tensor *tensor, rotary_error *error);
/* Zeros, of the given shape; ROTARY_OUT_OF_MEMORY before more is taken than the machine has. */
ROTARY_CHECKED rotary_status tensor_make(const char *label, enum npy_type type, const int64_t *shape,
                                         int dimensions, struct tensor *tensor, rotary_error *error);
void tensor_free(struct tensor *tensor);

/* Replaces the file of tensor->label, a .npy or (ending in .safetensors, with or without a name) a
 * safetensors file of this one tensor, numbers rounded once to the tensor's type. .npy files have no bf16: it
 * is written as f32. */
ROTARY_CHECKED rotary_status tensor_write(const struct tensor *tensor, rotary_error *error);
/* Whether `label` can be written to; called before the work. ROTARY_INVALID_ARGUMENT if not, or if that would
 * replace one of the inputs (labels or paths, `count` of them, some may be NULL); ROTARY_BAD_FILE for a file
 * of several tensors, which the result would replace. */
ROTARY_CHECKED rotary_status tensor_check_output(const char *label, const char *const *inputs, int count,
                                                 rotary_error *error);
/* Whether two labels name one file, even if for tensors of different names. */
bool tensor_same_file(const char *a, const char *b);

/* Whether a name of a file has this ending. */
bool tensor_name_ends_in(const char *name, const char *ending);
/* ROTARY_BAD_FILE for integers and bool. */
ROTARY_CHECKED rotary_status tensor_check_float(const struct tensor *tensor, rotary_error *error);
bool tensor_is_integer(const struct tensor *tensor);
/* "f32", "bool"; "integer" for all integer types. */
const char *tensor_type_name(enum npy_type type);
/* The types librotary has: f16, f32 and bf16 as they are, all others as f32. */
rotary_dtype tensor_dtype(enum npy_type type);
/* Numbers in a type of librotary's, rounded once; the caller frees them. NULL: no memory. */
void *tensor_from_double(const double *values, int64_t count, rotary_dtype dtype);
void tensor_to_double(double *values, const void *converted, int64_t count, rotary_dtype dtype);

const char *tensor_shape_text(const struct tensor *tensor, char text[SHAPE_TEXT_BYTES]);
/* LABEL has shape [3], wanted WANTED */
rotary_status tensor_refuse_shape(const struct tensor *tensor, const char *wanted, rotary_error *error);

#endif
