/* SPDX-License-Identifier: Apache-2.0
 *
 * One element of a tensor of any type.
 */
#ifndef ROTARY_ROPE_ELEMENT_H
#define ROTARY_ROPE_ELEMENT_H

#include "base/half.h"

#include <rotary/types.h>

static inline float rotary_element(const void *data, int64_t at, rotary_dtype dtype)
{
    if (dtype == ROTARY_F32)
        return ((const float *)data)[at];
    uint16_t half = ((const uint16_t *)data)[at];
    return dtype == ROTARY_F16 ? rotary_f16_to_float(half) : rotary_bf16_to_float(half);
}

#endif
