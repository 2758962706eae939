/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights as a file has them, f32, f16 or bf16: their product with few rows, and conversion to f32.
 */
#include "kernel/layer/layer_variant.h"

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

enum { ROWS_AT_ONCE = 4, STEP = 2 * LANES };

/* `rows` is a constant, so that sums stay in registers. */
INLINE void multiply_rows(const struct layer_stored_product *work, rotary_dtype dtype, int64_t first,
                          int rows, int64_t column)
{
    const char *weight =
        (const char *)work->weight + (size_t)(column * work->inner) * (dtype == ROTARY_F32 ? 4 : 2);
    const int64_t inner = work->inner;
    const float *in = work->in + first * inner;
    vfloat even[ROWS_AT_ONCE], odd[ROWS_AT_ONCE];
    int64_t i = 0;
    for (int row = 0; row < rows; row++)
        even[row] = odd[row] = (vfloat){0};
    for (; i + STEP <= inner; i += STEP) {
        vfloat left = load_stored(dtype, weight, i, LANES),
               right = load_stored(dtype, weight, i + LANES, LANES);
        for (int row = 0; row < rows; row++) {
            even[row] = v_fma(v_load(in + row * inner + i), left, even[row]);
            odd[row] = v_fma(v_load(in + row * inner + i + LANES), right, odd[row]);
        }
    }
    for (; i < inner; i += LANES) {
        int64_t lanes = remaining_lanes(i, inner);
        vfloat left = load_stored(dtype, weight, i, lanes);
        for (int row = 0; row < rows; row++)
            even[row] = v_fma(load_f32(in + row * inner, i, lanes), left, even[row]);
    }
    for (int row = 0; row < rows; row++)
        work->out[(first + row) * work->out_stride + column] = v_sum(even[row] + odd[row]);
}

INLINE void multiply(const struct layer_stored_product *work, rotary_dtype dtype)
{
    for (int64_t column = 0; column < work->columns; column++) {
        int64_t row = 0;
        for (; row + ROWS_AT_ONCE <= work->rows; row += ROWS_AT_ONCE)
            multiply_rows(work, dtype, row, ROWS_AT_ONCE, column);
        for (; row < work->rows; row++)
            multiply_rows(work, dtype, row, 1, column);
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
