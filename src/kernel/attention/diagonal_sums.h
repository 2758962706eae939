/* SPDX-License-Identifier: Apache-2.0
 *
 * The sums of the diagonals of a tile, for gradients by distance.
 */
#ifndef ROTARY_KERNEL_ATTENTION_DIAGONAL_SUMS_H
#define ROTARY_KERNEL_ATTENTION_DIAGONAL_SUMS_H

#include "kernel/attention/tile.h"

/* corner[column - row] += element (row, column) of a tile, which has LANES zeros before and after each row. A
 * vector of sums is that of the rows' vectors, each one column on from that of the row above. */
static inline void add_diagonals(float *corner, const float *tile, int64_t row_stride, int64_t rows,
                                 int64_t columns)
{
    for (int64_t diagonal = 1 - rows; diagonal < columns; diagonal += LANES) {
        int64_t row = max_i64(0, 1 - LANES - diagonal), end = min_i64(rows, columns - diagonal);
        const float *from = tile + diagonal;
        vfloat even = {0}, odd = {0};
        for (; row + 1 < end; row += 2) {
            even += v_load(from + row * (row_stride + 1));
            odd += v_load(from + (row + 1) * (row_stride + 1));
        }
        if (row < end)
            even += v_load(from + row * (row_stride + 1));
        v_store(corner + diagonal, v_load(corner + diagonal) + (even + odd));
    }
}

#endif
