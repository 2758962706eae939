/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions of the two 16-bit floating point types, which are kept as bits in a uint16_t. Conversions to 16
 * bits round to nearest even. NaN, infinities and signed zeros are preserved.
 */
#ifndef ROTARY_BASE_HALF_H
#define ROTARY_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t rotary_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float rotary_float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float rotary_bf16_to_float(uint16_t half)
{
    return rotary_float_from_bits((uint32_t)half << 16);
}

static inline uint16_t rotary_bf16_from_float(float value)
{
    uint32_t bits = rotary_float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u); /* a quiet NaN, whatever its low bits were */
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float rotary_f16_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t magnitude = half & 0x7fffu;
    if (magnitude >= 0x7c00u) /* infinity, NaN */
        return rotary_float_from_bits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x0400u) /* normal */
        return rotary_float_from_bits(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
    float value = (float)magnitude * 0x1p-24f; /* zero or subnormal: exact */
    return rotary_float_from_bits(rotary_float_bits(value) | sign);
}

static inline uint16_t rotary_f16_from_float(float value)
{
    uint32_t bits = rotary_float_bits(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    if (magnitude >= 0x477ff000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude >= 0x38800000u) { /* normal in f16 */
        uint32_t rebased = magnitude - ((127u - 15u) << 23);
        return (uint16_t)(sign | (rebased + 0xfffu + (rebased >> 13 & 1u)) >> 13);
    }
    /* Adding 0.5 rounds to the unit in the last place of numbers near 0.5: that of a subnormal f16. */
    float shifted = rotary_float_from_bits(magnitude) + 0.5f;
    return (uint16_t)(sign | (rotary_float_bits(shifted) - 0x3f000000u));
}

#endif
