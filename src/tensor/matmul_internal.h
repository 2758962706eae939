/* SPDX-License-Identifier: Apache-2.0
 *
 * What matmul.c and matmul_gradient.c share.
 */
#ifndef ROTARY_TENSOR_MATMUL_INTERNAL_H
#define ROTARY_TENSOR_MATMUL_INTERNAL_H

#include "base/arena.h"
#include "kernel/layer/layer_kernels.h"
#include "tensor/matmul.h"
#include "tensor/onednn.h"

struct matmul {
    struct gemms *gemms;
    int threads;
    bool vnni; /* oneDNN has fast code for interleaved bf16 (kernel/layer/layer_kernels.h) */
    /* Copies of operands in the order oneDNN's fast code wants, [threads][bytes]. It takes no strides. */
    struct rotary_arena workspace;
    size_t workspace_bytes;      /* of each */
    struct rotary_arena partial; /* gradients of groups of rows, f32, before they are summed */
};

static inline int64_t matmul_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t matmul_round_up(int64_t value, int64_t multiple)
{
    return matmul_divide_up(value, multiple) * multiple;
}

static inline int64_t matmul_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Bytes of so many elements, aligned for what follows. */
static inline size_t matmul_bytes(int64_t elements, rotary_dtype dtype)
{
    return rotary_align((size_t)elements * rotary_dtype_size(dtype));
}

/* Bytes of an operand padded as interleave() pads it. */
static inline size_t matmul_vnni_bytes(int64_t rows, int64_t columns, rotary_dtype dtype)
{
    return matmul_bytes(matmul_round_up(rows, LAYER_VNNI_ROWS) * matmul_round_up(columns, LAYER_VNNI_COLUMNS),
                        dtype);
}

static inline bool matrix_is_contiguous(struct matrix m)
{
    return m.stride == m.columns;
}

static inline struct matrix matrix_block(struct matrix m, int64_t row, int64_t rows, int64_t column,
                                         int64_t columns)
{
    struct matrix block = matrix_rows(m, row, rows);
    block.data = (char *)block.data + (size_t)column * rotary_dtype_size(m.dtype);
    block.columns = columns;
    return block;
}

/* Makes each worker's dense memory at least this large. */
ROTARY_CHECKED rotary_status matmul_reserve_workspace(struct matmul *matmul, size_t bytes,
                                                      rotary_error *error);

static inline unsigned char *matmul_workspace(const struct matmul *matmul, int worker)
{
    return matmul->workspace.memory + (size_t)worker * matmul->workspace_bytes;
}

/* `m` itself if it is dense, else a copy of it at `memory`. */
struct matrix matmul_contiguous(struct matrix m, void *memory);

#endif
