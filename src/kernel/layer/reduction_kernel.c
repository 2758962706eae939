/* SPDX-License-Identifier: Apache-2.0
 *
 * Column sums and sums of squares.
 */
#include "kernel/layer/layer_variant.h"

/* Adds four rows at a time, which loads and stores the sums once for four rows. */
INLINE void column_sums(float *sums, rotary_dtype storage, const void *in, int64_t rows, int64_t columns,
                        int64_t stride)
{
    enum { ROWS_AT_ONCE = 4, PREFETCH_ROWS = 16 };
    int64_t row = 0;
    for (; row + ROWS_AT_ONCE <= rows; row += ROWS_AT_ONCE) {
        /* Rows of a narrow block of a wide matrix are too short for the hardware prefetcher. */
        int64_t prefetch_rows = rows - row >= PREFETCH_ROWS + ROWS_AT_ONCE ? PREFETCH_ROWS : 0;
        for (int64_t i = 0; i < columns; i += LANES) {
            int64_t lanes = remaining_lanes(i, columns);
            vfloat x[ROWS_AT_ONCE];
            for (int j = 0; j < ROWS_AT_ONCE; j++) {
                x[j] = load(storage, row_of(storage, in, row + j, stride), i, lanes);
                __builtin_prefetch(
                    row_of(storage, row_of(storage, in, row + j + prefetch_rows, stride), i, 1));
            }
            store_f32(sums, i, load_f32(sums, i, lanes) + ((x[0] + x[1]) + (x[2] + x[3])), lanes);
        }
    }
    for (; row < rows; row++)
        for (int64_t i = 0; i < columns; i += LANES) {
            int64_t lanes = remaining_lanes(i, columns);
            store_f32(sums, i,
                      load_f32(sums, i, lanes) + load(storage, row_of(storage, in, row, stride), i, lanes),
                      lanes);
        }
}

void ROTARY_KERNEL(layer_column_sums)(float *sums, rotary_dtype storage, const void *in, int64_t rows,
                                      int64_t columns, int64_t stride)
{
    if (storage == ROTARY_BF16)
        column_sums(sums, ROTARY_BF16, in, rows, columns, stride);
    else
        column_sums(sums, ROTARY_F32, in, rows, columns, stride);
}

double ROTARY_KERNEL(layer_sum_of_squares)(const float *in, int64_t count)
{
    enum { CHUNK = 1024 }; /* elements summed in f32; chunks are summed in double */
    double total = 0.0;
    for (int64_t first = 0; first < count; first += CHUNK) {
        int64_t end = count - first < CHUNK ? count : first + CHUNK;
        vfloat squares = {0};
        for (int64_t i = first; i < end; i += LANES) {
            vfloat x = load_f32(in, i, remaining_lanes(i, end));
            squares = v_fma(x, x, squares);
        }
        total += (double)v_sum(squares);
    }
    return total;
}
