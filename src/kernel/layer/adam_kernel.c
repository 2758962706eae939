/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimizer's step, rows of the embedding, sums of squares.
 */
#include "kernel/layer/layer_variant.h"

void ROTARY_KERNEL(layer_embed)(float *out, const float *in, const float *add, float scale, int64_t row,
                                int64_t column, int64_t width, const struct layer_mask *mask)
{
    float factors[MASK_GROUP];
    for (int64_t i = 0; i < width; i += LANES) {
        int64_t lanes = remaining_lanes(i, width);
        vfloat x = load_f32(in, i, lanes) * v_set(scale);
        if (add)
            x += load_f32(add, i, lanes);
        if (mask->threshold)
            x *= mask_factor(mask, row, column + i, factors);
        store_f32(out, i, x, lanes);
    }
}

void ROTARY_KERNEL(layer_embed_backward)(float *to, float *add, const float *in, float scale, int64_t row,
                                         int64_t column, int64_t width, const struct layer_mask *mask)
{
    float factors[MASK_GROUP];
    for (int64_t i = 0; i < width; i += LANES) {
        int64_t lanes = remaining_lanes(i, width);
        vfloat d = load_f32(in, i, lanes);
        if (mask->threshold)
            d *= mask_factor(mask, row, column + i, factors);
        store_f32(to, i, v_fma(d, v_set(scale), load_f32(to, i, lanes)), lanes);
        if (add)
            store_f32(add, i, d + load_f32(add, i, lanes), lanes);
    }
}

void ROTARY_KERNEL(layer_adam)(const struct layer_adam *work)
{
    const vfloat beta1 = v_set(work->beta1), beta2 = v_set(work->beta2), epsilon = v_set(work->epsilon);
    const vfloat rest1 = v_set(1.0f - work->beta1), rest2 = v_set(1.0f - work->beta2);
    const vfloat inverse1 = v_set(work->inverse_correction1), inverse2 = v_set(work->inverse_correction2);
    const vfloat rate = v_set(work->learning_rate), scale = v_set(work->gradient_scale);
    const vfloat coupled = v_set(work->coupled_decay), decoupled = v_set(work->decoupled_decay);
    for (int64_t i = 0; i < work->count; i += LANES) {
        int64_t lanes = remaining_lanes(i, work->count);
        vfloat value = load_f32(work->value, i, lanes);
        vfloat g = v_fma(coupled, value, load_f32(work->gradient, i, lanes) * scale);
        vfloat m = v_fma(beta1, load_f32(work->moment1, i, lanes), rest1 * g);
        vfloat v = v_fma(beta2, load_f32(work->moment2, i, lanes), rest2 * g * g);
        vfloat step = rate * (m * inverse1) / (v_sqrt(v * inverse2) + epsilon);
        store_f32(work->moment1, i, m, lanes);
        store_f32(work->moment2, i, v, lanes);
        store_f32(work->gradient, i, (vfloat){0}, lanes);
        store_f32(work->value, i, value - v_fma(decoupled, value, step), lanes);
    }
}

double ROTARY_KERNEL(layer_sum_of_squares)(const float *in, int64_t count)
{
    enum { CHUNK = 1024 }; /* added in f32 before the double takes it */
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
