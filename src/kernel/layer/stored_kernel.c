/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights as a file has them, f32, f16 or bf16: their product with few rows, and conversion to f32.
 */
#include "kernel/layer/layer_variant.h"
#include "kernel/prefetch.h"

/* LANES elements, or fewer, with zeros behind them. */
INLINE vfloat load_stored(rotary_dtype dtype, const void *from, int64_t i, int64_t lanes)
{
    if (dtype != ROTARY_F16)
        return load(dtype, from, i, lanes);
    const uint16_t *halves = (const uint16_t *)from + i;
    vhalf half = {0};
    __builtin_memcpy(&half, halves, (size_t)lanes * sizeof *halves);
    return v_from_f16(half);
}

/* Sums that are made together: of one column of the product and so many rows, or of one row and so many
 * columns. */
enum { AT_ONCE = 4, STEP = 2 * LANES };

/* `bytes` bytes of a column, those that the same place of the column AT_ONCE later has: hardware knows few
 * streams. */
INLINE void prefetch_later(const char *column, int64_t column_bytes, int64_t bytes)
{
    for (int64_t byte = 0; byte < bytes; byte += PREFETCH_LINE)
        prefetch_line(column + AT_ONCE * column_bytes + byte);
    prefetch_pages(column + AT_ONCE * column_bytes, bytes);
}

/* `rows` and `columns` are constants, so that sums stay in registers; one of them is 1. */
INLINE void multiply_tile(const struct layer_stored_product *work, rotary_dtype dtype, int64_t first,
                          int rows, int64_t column, int columns)
{
    const int64_t inner = work->inner, size = dtype == ROTARY_F32 ? 4 : 2;
    const char *weight = (const char *)work->weight + column * inner * size;
    const float *in = work->in + first * inner;
    vfloat even[AT_ONCE], odd[AT_ONCE];
    int64_t i = 0;
    for (int sum = 0; sum < rows * columns; sum++)
        even[sum] = odd[sum] = (vfloat){0};
    for (; i + STEP <= inner; i += STEP)
        for (int c = 0; c < columns; c++) {
            const char *from = weight + c * inner * size;
            vfloat left = load_stored(dtype, from, i, LANES),
                   right = load_stored(dtype, from, i + LANES, LANES);
            if (first == 0)
                prefetch_later(from + i * size, inner * size, STEP * size);
            for (int row = 0; row < rows; row++) {
                even[row + c] = v_fma(v_load(in + row * inner + i), left, even[row + c]);
                odd[row + c] = v_fma(v_load(in + row * inner + i + LANES), right, odd[row + c]);
            }
        }
    for (; i < inner; i += LANES) {
        int64_t lanes = remaining_lanes(i, inner);
        for (int c = 0; c < columns; c++) {
            vfloat left = load_stored(dtype, weight + c * inner * size, i, lanes);
            for (int row = 0; row < rows; row++)
                even[row + c] = v_fma(load_f32(in + row * inner, i, lanes), left, even[row + c]);
        }
    }
    for (int row = 0; row < rows; row++)
        for (int c = 0; c < columns; c++)
            work->out[(first + row) * work->out_stride + column + c] = v_sum(even[row + c] + odd[row + c]);
}

INLINE void multiply(const struct layer_stored_product *work, rotary_dtype dtype)
{
    const int64_t rows = work->rows / AT_ONCE * AT_ONCE, columns = work->columns / AT_ONCE * AT_ONCE;
    for (int64_t column = 0; column < work->columns; column++) {
        for (int64_t row = 0; row < rows; row += AT_ONCE)
            multiply_tile(work, dtype, row, AT_ONCE, column, 1);
        for (int64_t row = rows; row < work->rows; row++)
            if (column >= columns)
                multiply_tile(work, dtype, row, 1, column, 1);
            else if (column % AT_ONCE == 0)
                multiply_tile(work, dtype, row, 1, column, AT_ONCE);
    }
}

void ROTARY_KERNEL(layer_stored_product)(const struct layer_stored_product *work)
{
    if (work->dtype == ROTARY_BF16)
        multiply(work, ROTARY_BF16);
    else if (work->dtype == ROTARY_F16)
        multiply(work, ROTARY_F16);
    else
        multiply(work, ROTARY_F32);
}

INLINE void widen(rotary_dtype dtype, float *out, const void *in, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        store_f32(out, i, load_stored(dtype, in, i, lanes), lanes);
    }
}

void ROTARY_KERNEL(layer_widen)(rotary_dtype dtype, float *out, const void *in, int64_t count)
{
    if (dtype == ROTARY_BF16)
        widen(ROTARY_BF16, out, in, count);
    else if (dtype == ROTARY_F16)
        widen(ROTARY_F16, out, in, count);
    else
        widen(ROTARY_F32, out, in, count);
}
