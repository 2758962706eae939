/* SPDX-License-Identifier: Apache-2.0
 *
 * Scaling in place and reading, compiled once per instruction set.
 */
#include "kernel/memory/memory_kernels.h"

#include "kernel/simd.h"

enum { STREAMS = 4 }; /* sums that do not wait for one another */

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

static uint32_t read_words(const void *data, int64_t count)
{
    const uint32_t *at = data;
    vuint sum[STREAMS] = {{0}};
    for (int64_t i = 0; i < count; i += STREAMS * LANES)
        for (int stream = 0; stream < STREAMS; stream++) {
            vuint words;
            memcpy(&words, at + i + stream * LANES, sizeof words);
            sum[stream] ^= words;
        }
    vuint all = (sum[0] ^ sum[1]) ^ (sum[2] ^ sum[3]);
    uint32_t result = 0;
    for (int lane = 0; lane < LANES; lane++)
        result ^= all[lane];
    return result;
}

extern const struct memory_kernels ROTARY_KERNEL(memory_kernels);
const struct memory_kernels ROTARY_KERNEL(memory_kernels) = {
    .scale = {[ROTARY_F32] = scale_f32, [ROTARY_F16] = scale_f16, [ROTARY_BF16] = scale_bf16},
    .read = read_words,
};
