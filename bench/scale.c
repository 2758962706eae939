/* SPDX-License-Identifier: Apache-2.0
 *
 * Scaling in place, compiled once per instruction set. Counts are multiples of the longest vector.
 */
#include "scale.h"

#include "kernel/simd.h"

static void scale_f32(void *data, int64_t count, float factor)
{
    float *at = data;
    for (int64_t i = 0; i < count; i += LANES)
        v_store(at + i, v_load(at + i) * factor);
}

static void scale_f16(void *data, int64_t count, float factor)
{
    uint16_t *at = data;
    for (int64_t i = 0; i < count; i += LANES)
        v_store_f16(at + i, v_load_f16(at + i) * factor);
}

static void scale_bf16(void *data, int64_t count, float factor)
{
    uint16_t *at = data;
    for (int64_t i = 0; i < count; i += LANES)
        v_store_bf16(at + i, v_load_bf16(at + i) * factor);
}

scale_kernel *const ROTARY_KERNEL(scale_kernels)[3] = {
    [ROTARY_F32] = scale_f32, [ROTARY_F16] = scale_f16, [ROTARY_BF16] = scale_bf16};
