/* SPDX-License-Identifier: Apache-2.0
 *
 * NumPy's .npy files, versions 1 and 2. Files of either byte order, in C or Fortran order, are read into this
 * machine's byte order and C order. Files are written little-endian, in C order.
 */
#ifndef ROTARY_FILE_NPY_H
#define ROTARY_FILE_NPY_H

#include "file/input.h"

/* NumPy has no bf16: it saves that of ml_dtypes as V2, an untyped value of two bytes. */
enum npy_type {
    NPY_F16,
    NPY_F32,
    NPY_F64,
    NPY_BF16,
    NPY_I8,
    NPY_I16,
    NPY_I32,
    NPY_I64,
    NPY_U8,
    NPY_U16,
    NPY_U32,
    NPY_U64,
    NPY_BOOL
};
enum { NPY_DIMENSIONS = 8 };

struct npy {
    enum npy_type type;
    int dimensions; /* 0: a single number */
    int64_t shape[NPY_DIMENSIONS];
    int64_t elements; /* the product of the shape */
    void *data;
};

/* Bytes of one element. */
size_t npy_size(enum npy_type type);

/* A file or a pipe whose header is read: all but array.data is known, so that a caller can refuse a shape
 * before the numbers are read. */
struct npy_file {
    struct input input;
    struct npy array;
    bool fortran, swapped; /* the first axis varies fastest; not this machine's byte order */
    size_t start;          /* bytes before the numbers */
    int64_t bytes;         /* of the numbers */
};
/* `path` is borrowed. ROTARY_BAD_FILE if it is no array, or has not as many bytes as its shape wants. */
ROTARY_CHECKED rotary_status npy_open(struct npy_file *file, const char *path, rotary_error *error);
/* Reads the numbers and closes the file, also after a failure; the caller frees them by npy_free. */
ROTARY_CHECKED rotary_status npy_take(struct npy_file *file, struct npy *array, rotary_error *error);
void npy_close(struct npy_file *file);

/* npy_open and npy_take. */
ROTARY_CHECKED rotary_status npy_read(const char *path, struct npy *array, rotary_error *error);
void npy_free(struct npy *array);

/* Replaces `path` atomically. `elements` is not read. */
ROTARY_CHECKED rotary_status npy_write(const char *path, const struct npy *array, rotary_error *error);

#endif
