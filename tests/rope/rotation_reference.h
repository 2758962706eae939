/* SPDX-License-Identifier: Apache-2.0
 *
 * The specification of the rotation kernels (kernel/rope/rope_kernels.h): one pair at a time, in double.
 */
#ifndef TESTS_ROPE_ROTATION_REFERENCE_H
#define TESTS_ROPE_ROTATION_REFERENCE_H

#include "rope/elements.h"

#include "kernel/rope/rope_kernels.h"

/* The expected element of the output: `value`, to within `error`, then rounded to the output's type. A kernel
 * may not write elements that are not rotated. */
struct reference_element {
    bool rotated;
    double value, error;
};

static inline struct reference_element reference_sum(double product0, double product1)
{
    /* A kernel rounds each product once and their sum once. */
    return (struct reference_element){.rotated = true,
                                      .value = product0 + product1,
                                      .error = 2.01 * 0x1p-24 * (fabs(product0) + fabs(product1))};
}

/* Rotates `input`, a copy of tile->input from before the kernel ran, into `output`, which has the layout of
 * tile->output. */
static inline void reference_rotate(const struct rotary_rope_tile *tile, rotary_pairing pairing,
                                    rotary_dtype dtype, const void *input, struct reference_element *output)
{
    int64_t step = pairing == ROTARY_PAIRING_HALF ? 1 : 2;
    int64_t partner = pairing == ROTARY_PAIRING_HALF ? tile->partner : 1;
    for (int64_t time = 0; time < tile->times; time++)
        for (int64_t head = 0; head < tile->heads; head++)
            for (int64_t pair = 0; pair < tile->pairs; pair++) {
                int64_t from = time * tile->input_time_stride + head * tile->input_head_stride + pair * step;
                int64_t to = time * tile->output_time_stride + head * tile->output_head_stride + pair * step;
                double cosine = (double)tile->cosine[time * tile->pairs + pair];
                double sine = (double)tile->sine[time * tile->pairs + pair];
                double x0 = element_get(input, from, dtype), x1 = element_get(input, from + partner, dtype);
                output[to] = reference_sum(x0 * cosine, -x1 * sine);
                output[to + partner] = reference_sum(x0 * sine, x1 * cosine);
            }
}

#endif
