/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the embedding and of its gradient.
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
