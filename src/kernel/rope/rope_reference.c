/* SPDX-License-Identifier: Apache-2.0
 *
 * The specification of the rotation kernels: one pair at a time, in the order of the formula.
 */
#include "base/element.h"
#include "kernel/rope/rope_kernels.h"

#include <string.h>

static inline void rotate(const struct rotary_rope_tile *tile, rotary_pairing pairing, rotary_dtype in,
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
                float x0 = rotary_element(tile->input, from, in);
                float x1 = rotary_element(tile->input, from + partner, in);
                rotary_set_element(tile->output, to, out, x0 * cosine - x1 * sine);
                rotary_set_element(tile->output, to + partner, out, x0 * sine + x1 * cosine);
            }
}

static inline void copy(const void *input, void *output, int64_t count, rotary_dtype in, rotary_dtype out)
{
    if (in == out)
        memcpy(output, input, (size_t)count * (in == ROTARY_F32 ? 4 : 2));
    else
        for (int64_t i = 0; i < count; i++)
            rotary_set_element(output, i, out, rotary_element(input, i, in));
}

#include "kernel/rope/rope_instances.inc"

const struct rotary_rope_kernels rotary_rope_kernels_reference = ROTARY_ROPE_INSTANCES;
