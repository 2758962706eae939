/* SPDX-License-Identifier: Apache-2.0
 *
 * Norms fused with the residual sum and dropout before them. A row is read from memory once and stays in the
 * L1 cache for the passes over it.
 */
#include "kernel/layer/layer_variant.h"

/* residual_sum = residual + mask(sublayer_output) of a row. Returns the sum of the row. */
INLINE float add_residual(const struct layer_norm_forward *work, rotary_dtype storage, int64_t row)
{
    const float *residual = work->residual + row * work->width;
    const void *sublayer_output = row_of(storage, work->sublayer_output, row, work->sublayer_output_stride);
    float *residual_sum = work->residual_sum + row * work->width;
    float factors[MASK_GROUP];
    vfloat total = {0};
    for (int64_t i = 0; i < work->width; i += LANES) {
        int64_t lanes = remaining_lanes(i, work->width);
        vfloat added = load(storage, sublayer_output, i, lanes);
        if (work->mask.threshold)
            added *= mask_factor(&work->mask, work->first + row, i, factors);
        vfloat x = load_f32(residual, i, lanes) + added;
        store_f32(residual_sum, i, x, lanes);
        total += x;
    }
    return v_sum(total);
}

static float row_sum(const float *x, int64_t width)
{
    vfloat total = {0};
    for (int64_t i = 0; i < width; i += LANES)
        total += load_f32(x, i, remaining_lanes(i, width));
    return v_sum(total);
}

static float squared_deviations(const float *x, int64_t width, float mean)
{
    vfloat total = {0};
    for (int64_t i = 0; i < width; i += LANES) {
        int64_t lanes = remaining_lanes(i, width);
        vfloat deviation = load_f32(x, i, lanes) - v_set(mean);
        if (lanes < LANES)
            deviation = (vfloat)(first_lanes(lanes) & (vint)deviation);
        total = v_fma(deviation, deviation, total);
    }
    return v_sum(total);
}

INLINE void forward(const struct layer_norm_forward *work, rotary_dtype storage)
{
    for (int64_t row = 0; row < work->rows; row++) {
        const float *x = work->residual + row * work->width;
        float total = 0.0f;
        if (work->sublayer_output) {
            total = add_residual(work, storage, row);
            x = work->residual_sum + row * work->width;
        } else if (!work->rms) {
            total = row_sum(x, work->width);
        }
        float mean = work->rms ? 0.0f : total / (float)work->width;
        float variance = squared_deviations(x, work->width, mean) / (float)work->width;
        float rstd = 1.0f / __builtin_sqrtf(variance + work->epsilon);
        void *normalised = mutable_row(storage, work->normalised, row, work->normalised_stride);
        for (int64_t i = 0; i < work->width; i += LANES) {
            int64_t lanes = remaining_lanes(i, work->width);
            vfloat y = (load_f32(x, i, lanes) - v_set(mean)) * v_set(rstd) * load_f32(work->gain, i, lanes);
            if (work->bias)
                y += load_f32(work->bias, i, lanes);
            if (work->normalised)
                store(storage, normalised, i, y, lanes);
            if (work->normalised_f32)
                store_f32(work->normalised_f32 + row * work->width, i, y, lanes);
        }
        if (work->mean) {
            work->mean[row] = mean;
            work->rstd[row] = rstd;
        }
    }
}

void ROTARY_KERNEL(layer_norm_forward)(const struct layer_norm_forward *work)
{
    if (work->storage == ROTARY_BF16)
        forward(work, ROTARY_BF16);
    else
        forward(work, ROTARY_F32);
}

INLINE vfloat d_output(const struct layer_norm_backward *work, rotary_dtype storage, int64_t row, int64_t i,
                       int64_t lanes)
{
    vfloat d = {0};
    if (work->d_normalised)
        d = load(storage, row_of(storage, work->d_normalised, row, work->d_normalised_stride), i, lanes);
    if (work->d_normalised_f32)
        d += load_f32(work->d_normalised_f32 + row * work->width, i, lanes);
    return d;
}

INLINE void backward(const struct layer_norm_backward *work, rotary_dtype storage)
{
    int64_t width = work->width;
    for (int64_t row = 0; row < work->rows; row++) {
        const float *residual_sum = work->residual_sum + row * width;
        float *d_residual = work->d_residual + row * width;
        vfloat mean = v_set(work->mean[row]), rstd = v_set(work->rstd[row]);
        vfloat total_g = {0}, total_gx = {0};
        for (int64_t i = 0; i < width; i += LANES) {
            int64_t lanes = remaining_lanes(i, width);
            vfloat d = d_output(work, storage, row, i, lanes);
            vfloat x = (load_f32(residual_sum, i, lanes) - mean) * rstd;
            vfloat g = d * load_f32(work->gain, i, lanes);
            total_g += g;
            total_gx = v_fma(g, x, total_gx);
            store_f32(work->d_gain, i, v_fma(d, x, load_f32(work->d_gain, i, lanes)), lanes);
            if (work->d_bias)
                store_f32(work->d_bias, i, d + load_f32(work->d_bias, i, lanes), lanes);
        }
        vfloat mean_g = v_set(work->rms ? 0.0f : v_sum(total_g) / (float)width);
        vfloat mean_gx = v_set(v_sum(total_gx) / (float)width);
        void *d_sublayer_output = work->d_sublayer_output ? mutable_row(storage, work->d_sublayer_output, row,
                                                                        work->d_sublayer_output_stride)
                                                          : NULL;
        float factors[MASK_GROUP];
        for (int64_t i = 0; i < width; i += LANES) {
            int64_t lanes = remaining_lanes(i, width);
            vfloat x = (load_f32(residual_sum, i, lanes) - mean) * rstd;
            vfloat g = d_output(work, storage, row, i, lanes) * load_f32(work->gain, i, lanes);
            vfloat d = rstd * (g - mean_g - x * mean_gx);
            if (work->accumulate)
                d += load_f32(d_residual, i, lanes);
            store_f32(d_residual, i, d, lanes);
            if (d_sublayer_output && work->mask.threshold)
                d *= mask_factor(&work->mask, work->first + row, i, factors);
            if (d_sublayer_output)
                store(storage, d_sublayer_output, i, d, lanes);
        }
    }
}

void ROTARY_KERNEL(layer_norm_backward)(const struct layer_norm_backward *work)
{
    if (work->storage == ROTARY_BF16)
        backward(work, ROTARY_BF16);
    else
        backward(work, ROTARY_F32);
}
