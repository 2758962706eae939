/* SPDX-License-Identifier: Apache-2.0
 *
 * The Adam and AdamW step.
 */
#include "kernel/layer/layer_variant.h"

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
