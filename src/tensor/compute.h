/* SPDX-License-Identifier: Apache-2.0
 *
 * How to compute (threads, instruction set, precision) and what on (typed matrices over arena memory).
 */
#ifndef ROTARY_TENSOR_COMPUTE_H
#define ROTARY_TENSOR_COMPUTE_H

#include <rotary/types.h>

struct layer_kernels; /* kernel/layer/layer_kernels.h */
struct matmul;        /* tensor/matmul.h */
struct profile;       /* tensor/profile.h */

/* Made once, passed down by pointer, never changed. It may be shared by many models, but they compute one at
 * a time: they share the scratch memory of the matrix products. */
struct compute {
    int threads;          /* at least 1 */
    rotary_isa isa;       /* never ROTARY_ISA_AUTO */
    rotary_dtype storage; /* of matrix products' operands and of stored activations: f32 or bf16 */
    const struct layer_kernels *kernels;
    struct matmul *matmul;   /* owned */
    struct profile *profile; /* borrowed, where time is to be accounted for; NULL: nowhere */
};

enum precision { PRECISION_AUTO, PRECISION_F32, PRECISION_BF16 };

/* threads 0: all processors; isa ROTARY_ISA_AUTO: the best. PRECISION_AUTO picks bf16 where the machine has
 * bf16 instructions (and `isa` allows them), else f32. ROTARY_UNSUPPORTED if `isa` cannot run here. Caps the
 * instruction set of the matrix products too (the first call in a process decides: tensor/matmul.h). */
ROTARY_CHECKED rotary_status compute_create(struct compute *compute, int threads, rotary_isa isa,
                                            enum precision precision, rotary_error *error);

void compute_destroy(struct compute *compute);

/* [rows, columns], row-major, `stride` elements from a row to the next. data is borrowed. */
struct matrix {
    void *data;
    rotary_dtype dtype;
    int64_t rows, columns, stride;
};

static inline struct matrix matrix_of(void *data, rotary_dtype dtype, int64_t rows, int64_t columns)
{
    return (struct matrix){.data = data, .dtype = dtype, .rows = rows, .columns = columns, .stride = columns};
}

/* Rows first ... first + rows - 1. */
static inline struct matrix matrix_rows(struct matrix m, int64_t first, int64_t rows)
{
    m.data = (char *)m.data + (size_t)(first * m.stride) * rotary_dtype_size(m.dtype);
    m.rows = rows;
    return m;
}

#endif
