/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax cross-entropy of rows of logits, and sums of columns.
 */
#include "kernel/layer/layer_variant.h"

#include <math.h>

static float row_maximum(const float *x, int64_t count)
{
    vfloat largest = v_set(-INFINITY);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        largest = v_max(largest, v_load(x + i));
    float maximum = v_max_lane(largest);
    for (; i < count; i++)
        maximum = x[i] > maximum ? x[i] : maximum;
    return maximum;
}

/* Writes exp(x - maximum) over x; gives its sum. */
static float row_exponentials(float *x, int64_t count, float maximum)
{
    vfloat total = {0};
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = lanes_left(i, count);
        vfloat e = v_exp(take_f32(x, i, lanes) - v_set(maximum));
        put_f32(x, i, e, lanes);
        total += (vfloat)(first_lanes(lanes) & (vint)e);
    }
    return v_sum(total);
}

static bool is_first_maximum(const float *x, int64_t target, float maximum)
{
    if (!(x[target] >= maximum))
        return false;
    for (int64_t i = 0; i < target; i++)
        if (x[i] >= maximum)
            return false;
    return true;
}

INLINED void write_gradient(const struct layer_cross_entropy *work, rotary_dtype storage, int64_t row,
                            const float *exponentials, float total)
{
    void *gradient = row_to_write(storage, work->gradient, row, work->gradient_stride);
    int32_t target = work->targets[row];
    vfloat scale = v_set(target < 0 ? 0.0f : work->gradient_scale / total);
    float spread = target < 0 ? 0.0f : work->gradient_scale * work->smoothing / (float)work->classes;
    for (int64_t i = 0; i < work->classes; i += LANES) {
        int64_t lanes = lanes_left(i, work->classes);
        vfloat e = take_f32(exponentials, i, lanes);
        put(storage, gradient, i, target < 0 ? (vfloat){0} : v_fma(e, scale, v_set(-spread)), lanes);
    }
    if (target >= 0) {
        float at = work->gradient_scale * (exponentials[target] / total - (1.0f - work->smoothing)) - spread;
        put(storage, gradient, target, v_set(at), 1);
    }
}

void ROTARY_KERNEL(layer_cross_entropy)(struct layer_cross_entropy *work)
{
    for (int64_t row = 0; row < work->rows; row++) {
        float *x = work->logits + row * work->logits_stride;
        int32_t target = work->targets[row];
        float total = 1.0f;
        if (target >= 0) {
            float maximum = row_maximum(x, work->classes), at_target = x[target];
            work->counted++;
            work->correct += is_first_maximum(x, target, maximum);
            total = row_exponentials(x, work->classes, maximum);
            work->loss += log((double)total) + ((double)maximum - (double)at_target);
        }
        if (work->gradient && work->storage == ROTARY_BF16)
            write_gradient(work, ROTARY_BF16, row, x, total);
        else if (work->gradient)
            write_gradient(work, ROTARY_F32, row, x, total);
    }
}

/* Four rows at a time, so that the sums are loaded and stored for a quarter of the rows. */
INLINED void column_sums(float *sums, rotary_dtype storage, const void *in, int64_t rows, int64_t columns,
                         int64_t stride)
{
    enum { TOGETHER = 4, AHEAD = 16 };
    int64_t row = 0;
    for (; row + TOGETHER <= rows; row += TOGETHER) {
        /* Rows of a few columns of a wide matrix are too short for the processor to see that they go on. */
        int64_t ahead = rows - row >= AHEAD + TOGETHER ? AHEAD : 0;
        for (int64_t i = 0; i < columns; i += LANES) {
            int64_t lanes = lanes_left(i, columns);
            vfloat x[TOGETHER];
            for (int j = 0; j < TOGETHER; j++) {
                x[j] = take(storage, row_of(storage, in, row + j, stride), i, lanes);
                __builtin_prefetch(row_of(storage, row_of(storage, in, row + j + ahead, stride), i, 1));
            }
            put_f32(sums, i, take_f32(sums, i, lanes) + ((x[0] + x[1]) + (x[2] + x[3])), lanes);
        }
    }
    for (; row < rows; row++)
        for (int64_t i = 0; i < columns; i += LANES) {
            int64_t lanes = lanes_left(i, columns);
            put_f32(sums, i,
                    take_f32(sums, i, lanes) + take(storage, row_of(storage, in, row, stride), i, lanes),
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
