/* SPDX-License-Identifier: Apache-2.0
 *
 * The specification of the rotation kernels: one pair at a time, in the order of the formula.
 */
#include "base/half.h"
#include "kernel/rope/rope.h"

static inline float load(const void *from, int64_t at, rotary_dtype dtype)
{
    if (dtype == ROTARY_F32)
        return ((const float *)from)[at];
    uint16_t half = ((const uint16_t *)from)[at];
    return dtype == ROTARY_F16 ? rotary_f16_to_float(half) : rotary_bf16_to_float(half);
}

static inline void store(void *to, int64_t at, float value, rotary_dtype dtype)
{
    if (dtype == ROTARY_F32)
        ((float *)to)[at] = value;
    else
        ((uint16_t *)to)[at] =
            dtype == ROTARY_F16 ? rotary_f16_from_float(value) : rotary_bf16_from_float(value);
}

static inline void turn(const struct rotary_rope_tile *tile, rotary_pairing pairing, rotary_dtype in,
                        rotary_dtype out)
{
    int64_t step = pairing == ROTARY_PAIRING_HALF ? 1 : 2;
    int64_t partner = pairing == ROTARY_PAIRING_HALF ? tile->partner : 1;
    for (int64_t time = 0; time < tile->times; time++)
        for (int64_t head = 0; head < tile->heads; head++)
            for (int64_t pair = 0; pair < tile->pairs; pair++) {
                int64_t from = time * tile->input_time_stride + head * tile->input_head_stride + pair * step;
                int64_t to = time * tile->output_time_stride + head * tile->output_head_stride + pair * step;
                float cosine = tile->cosine[time * tile->pairs + pair];
                float sine = tile->sine[time * tile->pairs + pair];
                float x0 = load(tile->input, from, in), x1 = load(tile->input, from + partner, in);
                store(tile->output, to, x0 * cosine - x1 * sine, out);
                store(tile->output, to + partner, x0 * sine + x1 * cosine, out);
            }
}

static inline void copy(const void *input, void *output, int64_t count, rotary_dtype in, rotary_dtype out)
{
    if (in == out)
        memcpy(output, input, (size_t)count * (in == ROTARY_F32 ? 4 : 2));
    else
        for (int64_t i = 0; i < count; i++)
            store(output, i, load(input, i, in), out);
}

#include "kernel/rope/instances.inc"

const struct rotary_rope_kernels rotary_rope_kernels_reference = ROTARY_ROPE_INSTANCES;
