/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations, loads and stores of the storage type, and the dropout mask, for the files that are compiled
 * once per variant.
 */
#ifndef ROTARY_KERNEL_LAYER_LAYER_VARIANT_H
#define ROTARY_KERNEL_LAYER_LAYER_VARIANT_H

#include "kernel/exponential.h"
#include "kernel/layer/layer_kernels.h"
#include "kernel/simd.h"

#include <math.h>

void ROTARY_KERNEL(layer_norm_forward)(const struct layer_norm_forward *work);
void ROTARY_KERNEL(layer_norm_backward)(const struct layer_norm_backward *work);
void ROTARY_KERNEL(layer_activate)(enum layer_activation kind, rotary_dtype storage, void *out,
                                   const void *in, int64_t count);
void ROTARY_KERNEL(layer_activate_backward)(enum layer_activation kind, rotary_dtype storage, void *d_in,
                                            void *out, const void *d_out, const void *saved, int64_t count);
void ROTARY_KERNEL(layer_gated)(enum layer_activation kind, rotary_dtype storage, void *out, const void *gate,
                                const void *up, int64_t count);
void ROTARY_KERNEL(layer_gated_backward)(enum layer_activation kind, rotary_dtype storage, void *d_gate,
                                         void *d_up, void *out, const void *d_out, const void *gate,
                                         const void *up, int64_t count);
void ROTARY_KERNEL(layer_softcap)(float *x, int64_t count, float cap);
void ROTARY_KERNEL(layer_stored_product)(const struct layer_stored_product *work);
void ROTARY_KERNEL(layer_widen)(rotary_dtype dtype, float *out, const void *in, int64_t count);
void ROTARY_KERNEL(layer_cross_entropy)(struct layer_cross_entropy *work);
void ROTARY_KERNEL(layer_top_classes)(const struct layer_top_classes *work);
void ROTARY_KERNEL(layer_column_sums)(float *sums, rotary_dtype storage, const void *in, int64_t rows,
                                      int64_t columns, int64_t stride);
void ROTARY_KERNEL(layer_to_storage)(rotary_dtype storage, void *out, const float *in, int64_t count);
void ROTARY_KERNEL(layer_from_storage)(rotary_dtype storage, float *out, const void *in, int64_t count);
void ROTARY_KERNEL(layer_embed)(float *out, const float *in, const float *add, float scale, int64_t row,
                                int64_t column, int64_t width, const struct layer_mask *mask);
void ROTARY_KERNEL(layer_embed_backward)(float *to, float *add, const float *in, float scale, int64_t row,
                                         int64_t column, int64_t width, const struct layer_mask *mask);
void ROTARY_KERNEL(layer_drop)(rotary_dtype storage, void *out, const void *in, int64_t row, int64_t width,
                               const struct layer_mask *mask);
void ROTARY_KERNEL(layer_transpose)(uint16_t *out, int64_t out_stride, const uint16_t *in, int64_t in_stride,
                                    int64_t rows, int64_t columns);
void ROTARY_KERNEL(layer_pack_vnni)(uint16_t *out, const uint16_t *in, int64_t in_stride, int64_t rows,
                                    int64_t columns);
void ROTARY_KERNEL(layer_copy_nontemporal)(void *to, int64_t to_stride, const void *from, int64_t rows,
                                           int64_t row_bytes);
void ROTARY_KERNEL(layer_add_product)(const struct layer_product *work);
void ROTARY_KERNEL(layer_multiply_row_f32)(const struct layer_row *work);
void ROTARY_KERNEL(layer_multiply_row_bf16)(const struct layer_row *work);
void ROTARY_KERNEL(layer_adam)(const struct layer_adam *work);
double ROTARY_KERNEL(layer_sum_of_squares)(const float *in, int64_t count);

/* For functions that take the storage type as a constant, so that no loop branches on it. */
#define INLINE static inline __attribute__((always_inline))

INLINE int64_t remaining_lanes(int64_t i, int64_t count)
{
    return count - i < LANES ? count - i : LANES;
}

/* Load and store elements i ... i + lanes - 1 of an array of the storage type. */
INLINE vfloat load(rotary_dtype storage, const void *from, int64_t i, int64_t lanes)
{
    if (storage == ROTARY_BF16) {
        const uint16_t *half = (const uint16_t *)from + i;
        return lanes == LANES ? v_load_bf16(half) : v_load_part_bf16(half, lanes);
    }
    const float *value = (const float *)from + i;
    return lanes == LANES ? v_load(value) : v_load_part(value, lanes);
}

INLINE void store(rotary_dtype storage, void *to, int64_t i, vfloat v, int64_t lanes)
{
    if (storage == ROTARY_BF16) {
        uint16_t *half = (uint16_t *)to + i;
        if (lanes == LANES)
            v_store_bf16(half, v);
        else
            v_store_part_bf16(half, v, lanes);
        return;
    }
    float *value = (float *)to + i;
    if (lanes == LANES)
        v_store(value, v);
    else
        v_store_part(value, v, lanes);
}

INLINE vfloat load_f32(const float *from, int64_t i, int64_t lanes)
{
    return load(ROTARY_F32, from, i, lanes);
}

INLINE void store_f32(float *to, int64_t i, vfloat v, int64_t lanes)
{
    store(ROTARY_F32, to, i, v, lanes);
}

INLINE const void *row_of(rotary_dtype storage, const void *data, int64_t row, int64_t stride)
{
    return (const char *)data + (size_t)(row * stride) * (storage == ROTARY_BF16 ? 2 : 4);
}

INLINE void *mutable_row(rotary_dtype storage, void *data, int64_t row, int64_t stride)
{
    return (char *)data + (size_t)(row * stride) * (storage == ROTARY_BF16 ? 2 : 4);
}

/* All ones in the first `lanes` lanes. */
INLINE vint first_lanes(int64_t lanes)
{
    return v_lanes() < ((vint){0} + (int32_t)lanes);
}

INLINE float row_max(const float *x, int64_t count)
{
    vfloat max_lanes = v_set(-INFINITY);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        max_lanes = v_max(max_lanes, v_load(x + i));
    float max = v_max_lane(max_lanes);
    for (; i < count; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

enum { MASK_GROUP = 64 }; /* columns drawn at once */

/* The factors, 0 or mask->scale, of columns group * 64 ... group * 64 + 63 of a row. */
void ROTARY_KERNEL(layer_mask_factors)(const struct layer_mask *mask, int64_t row, int64_t group,
                                       float factors[MASK_GROUP]);

/* The factors of columns i ... i + LANES - 1. Draws those of a group when i is its first column. */
INLINE vfloat mask_factor(const struct layer_mask *mask, int64_t row, int64_t i, float factors[MASK_GROUP])
{
    if (i % MASK_GROUP == 0)
        ROTARY_KERNEL(layer_mask_factors)(mask, row, i / MASK_GROUP, factors);
    return v_load(factors + i % MASK_GROUP);
}

#endif
