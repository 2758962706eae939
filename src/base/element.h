/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing single elements of a tensor of any type.
 */
#ifndef ROTARY_BASE_ELEMENT_H
#define ROTARY_BASE_ELEMENT_H

#include "base/half.h"

#include <rotary/types.h>
#include <string.h>

static inline float rotary_element(const void *data, int64_t at, rotary_dtype dtype)
{
    if (dtype == ROTARY_F32)
        return ((const float *)data)[at];
    uint16_t half = ((const uint16_t *)data)[at];
    return dtype == ROTARY_F16 ? rotary_f16_to_float(half) : rotary_bf16_to_float(half);
}

/* Reads data that lie anywhere in a file. */
static inline float rotary_unaligned_element(const void *data, int64_t at, rotary_dtype dtype)
{
    const size_t size = rotary_dtype_size(dtype);
    float element = 0.0f;
    memcpy(&element, (const char *)data + (size_t)at * size, size);
    return rotary_element(&element, 0, dtype);
}

static inline void rotary_set_element(void *data, int64_t at, rotary_dtype dtype, float value)
{
    if (dtype == ROTARY_F32)
        ((float *)data)[at] = value;
    else
        ((uint16_t *)data)[at] =
            dtype == ROTARY_F16 ? rotary_f16_from_float(value) : rotary_bf16_from_float(value);
}

/* `value` rounded to the type. */
static inline float rotary_rounded(float value, rotary_dtype dtype)
{
    if (dtype == ROTARY_F16)
        return rotary_f16_to_float(rotary_f16_from_float(value));
    return dtype == ROTARY_BF16 ? rotary_bf16_to_float(rotary_bf16_from_float(value)) : value;
}

#endif
