/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax cross-entropy of rows of logits.
 */
#include "kernel/layer/layer_variant.h"

#include <math.h>

/* x = exp(x - max). Returns the sum. */
static float row_exponentials(float *x, int64_t count, float max)
{
    vfloat total = {0};
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        vfloat e = v_exp(load_f32(x, i, lanes) - v_set(max));
        store_f32(x, i, e, lanes);
        total += (vfloat)(first_lanes(lanes) & (vint)e);
    }
    return v_sum(total);
}

static bool is_argmax(const float *x, int64_t target, float max)
{
    if (!(x[target] >= max))
        return false;
    for (int64_t i = 0; i < target; i++)
        if (x[i] >= max)
            return false;
    return true;
}

INLINE void add_loss(struct layer_cross_entropy *work, int64_t row, double loss)
{
    work->loss += loss;
    if (work->losses)
        work->losses[row] = (float)loss;
}

INLINE void write_gradient(const struct layer_cross_entropy *work, rotary_dtype storage, int64_t row,
                           const float *exponentials, float total)
{
    void *gradient = mutable_row(storage, work->gradient, row, work->gradient_stride);
    int32_t target = work->targets[row];
    float at_target = target < 0 ? 0.0f : exponentials[target]; /* the gradient may overwrite it */
    vfloat scale = v_set(target < 0 ? 0.0f : work->gradient_scale / total);
    float uniform = target < 0 ? 0.0f : work->gradient_scale * work->smoothing / (float)work->classes;
    for (int64_t i = 0; i < work->classes; i += LANES) {
        int64_t lanes = remaining_lanes(i, work->classes);
        vfloat e = load_f32(exponentials, i, lanes);
        store(storage, gradient, i, target < 0 ? (vfloat){0} : v_fma(e, scale, v_set(-uniform)), lanes);
    }
    if (target >= 0) {
        float d = work->gradient_scale * (at_target / total - (1.0f - work->smoothing)) - uniform;
        store(storage, gradient, target, v_set(d), 1);
    }
}

/* Does so for capped logits x, from which their exponentials follow anew: the derivative of the cap is 1 - (x
 * / softcap)^2. */
INLINE void write_capped_gradient(const struct layer_cross_entropy *work, rotary_dtype storage, int64_t row,
                                  const float *x, float max, float total)
{
    void *gradient = mutable_row(storage, work->gradient, row, work->gradient_stride);
    const int32_t target = work->targets[row];
    const vfloat one = v_set(1.0f), by = v_set(1.0f / work->softcap);
    const float c = target < 0 ? 0.0f : x[target] / work->softcap, hit = 1.0f - work->smoothing;
    vfloat scale = v_set(target < 0 ? 0.0f : work->gradient_scale);
    float uniform = work->smoothing / (float)work->classes;
    float at_target = 0.0f;
    if (target >= 0) /* the gradient may overwrite it */
        at_target = work->gradient_scale * (1.0f - c * c) * (expf(x[target] - max) / total - uniform - hit);
    for (int64_t i = 0; i < work->classes; i += LANES) {
        int64_t lanes = remaining_lanes(i, work->classes);
        vfloat capped = load_f32(x, i, lanes), share = capped * by;
        vfloat p = v_exp(capped - v_set(max)) * v_set(1.0f / total);
        vfloat d = scale * (one - share * share) * (p - v_set(uniform));
        store(storage, gradient, i, target < 0 ? (vfloat){0} : d, lanes);
    }
    if (target >= 0)
        store(storage, gradient, target, v_set(at_target), 1);
}

/* The sum of exp(x - max). */
static float sum_exponentials(const float *x, int64_t count, float max)
{
    vfloat total = {0};
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        total += (vfloat)(first_lanes(lanes) & (vint)v_exp(load_f32(x, i, lanes) - v_set(max)));
    }
    return v_sum(total);
}

static void capped_row(struct layer_cross_entropy *work, int64_t row, float *x)
{
    const int32_t target = work->targets[row];
    float max = 0.0f, total = 1.0f;
    ROTARY_KERNEL(layer_softcap)(x, work->classes, work->softcap);
    if (target >= 0) {
        max = row_max(x, work->classes);
        work->counted++;
        work->correct += is_argmax(x, target, max);
        total = sum_exponentials(x, work->classes, max);
        add_loss(work, row, log((double)total) + ((double)max - (double)x[target]));
    }
    if (work->gradient && work->storage == ROTARY_BF16)
        write_capped_gradient(work, ROTARY_BF16, row, x, max, total);
    else if (work->gradient)
        write_capped_gradient(work, ROTARY_F32, row, x, max, total);
}

void ROTARY_KERNEL(layer_cross_entropy)(struct layer_cross_entropy *work)
{
    for (int64_t row = 0; row < work->rows; row++) {
        float *x = work->logits + row * work->logits_stride;
        int32_t target = work->targets[row];
        float total = 1.0f;
        if (work->softcap > 0.0f) {
            capped_row(work, row, x);
            continue;
        }
        if (target >= 0) {
            float max = row_max(x, work->classes), at_target = x[target];
            work->counted++;
            work->correct += is_argmax(x, target, max);
            total = row_exponentials(x, work->classes, max);
            add_loss(work, row, log((double)total) + ((double)max - (double)at_target));
        }
        if (work->gradient && work->storage == ROTARY_BF16)
            write_gradient(work, ROTARY_BF16, row, x, total);
        else if (work->gradient)
            write_gradient(work, ROTARY_F32, row, x, total);
    }
}
