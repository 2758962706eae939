/* SPDX-License-Identifier: Apache-2.0
 *
 * A typed, strided view of memory.
 */
#ifndef ROTARY_BACKEND_MATRIX_H
#define ROTARY_BACKEND_MATRIX_H

#include <rotary/types.h>

/* [rows, columns], row-major; consecutive rows are `stride` elements apart. data is borrowed. */
struct matrix {
    void *data;
    rotary_dtype dtype;
    int64_t rows, columns, stride;
};

/* A contiguous matrix at `data`. */
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

/* The block of `rows` rows from `row` on and `columns` columns from `column` on. */
static inline struct matrix matrix_block(struct matrix m, int64_t row, int64_t rows, int64_t column,
                                         int64_t columns)
{
    struct matrix block = matrix_rows(m, row, rows);
    block.data = (char *)block.data + (size_t)column * rotary_dtype_size(m.dtype);
    block.columns = columns;
    return block;
}

static inline bool matrix_is_contiguous(struct matrix m)
{
    return m.stride == m.columns;
}

#endif
