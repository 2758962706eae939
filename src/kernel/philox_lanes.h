/* SPDX-License-Identifier: Apache-2.0
 *
 * The rounds of Philox (base/philox.inc) for LANES blocks at once.
 */
#ifndef ROTARY_KERNEL_PHILOX_LANES_H
#define ROTARY_KERNEL_PHILOX_LANES_H

#include "kernel/simd.h"

typedef vuint philox_word;
typedef uint64_t vwide __attribute__((vector_size(LANES * 4)));

static inline __attribute__((always_inline)) vwide multiply_even(philox_word a, uint32_t factor)
{
#if defined(__AVX512F__)
    return (vwide)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi32((int)factor));
#elif defined(__AVX2__)
    return (vwide)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi32((int)factor));
#else
    return ((vwide)a & 0xffffffffu) * factor;
#endif
}

static inline __attribute__((always_inline)) void philox_multiply(philox_word *high, philox_word *low,
                                                                  philox_word a, uint32_t factor)
{
    vwide even = multiply_even(a, factor), odd = multiply_even((philox_word)((vwide)a >> 32), factor);
    *low = (philox_word)((even & 0xffffffffu) | odd << 32);
    *high = (philox_word)(even >> 32 | (odd & ~(uint64_t)0xffffffffu));
}

#include "base/philox.inc"

#endif
