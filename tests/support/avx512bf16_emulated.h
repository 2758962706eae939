/* SPDX-License-Identifier: Apache-2.0
 *
 * AVX512_BF16 emulation, for tests on a processor that has AVX-512 F, BW, DQ and VL but no AVX512_BF16.
 * Included before every C file of a build, as by CFLAGS="-include
 * <root>/tests/support/avx512bf16_emulated.h", it replaces the intrinsics by functions of plain AVX-512 and
 * sets AVX512_BF16 in what CPUID returns. Then the kernels for avx512bf16 run, and with ROTARY_EMULATE_AMX
 * those for amx. Files compiled for other instruction sets do not change. The sources do not depend on this
 * file.
 *
 * Each function is one instruction of Intel's Software Developer's Manual, volume 2: it rounds to nearest
 * even, flushes denormal inputs and results to zero, and makes a NaN quiet, whatever MXCSR is. The manual
 * leaves one case open: a sum below 2^-126 that is rounded to 2^-126 is kept here.
 *
 * An intrinsic that is missing below is compiled to the instruction, which raises SIGILL. Add every intrinsic
 * of AVX512_BF16 that a kernel uses.
 */
#ifndef TESTS_SUPPORT_AVX512BF16_EMULATED_H
#define TESTS_SUPPORT_AVX512BF16_EMULATED_H

#if defined(__x86_64__)
#include <cpuid.h>

/* AVX512_BF16 is bit 5 of eax of CPUID leaf 7, subleaf 1. */
static inline int emulated_cpuid_count(unsigned leaf, unsigned subleaf, unsigned *a, unsigned *b, unsigned *c,
                                       unsigned *d)
{
    int known = __get_cpuid_count(leaf, subleaf, a, b, c, d);
    if (known && leaf == 7 && subleaf == 1)
        *a |= 1u << 5;
    return known;
}
#define __get_cpuid_count emulated_cpuid_count

#if defined(__AVX512BF16__)
/* Before the macros below, which would rename the intrinsics where they are defined. */
#include <immintrin.h>

/* Classes of _mm512_fpclass_ps_mask. With MXCSR.DAZ a denormal number is in the class of zeros. */
enum { EMULATED_NAN = 0x81, EMULATED_ZERO_OR_DENORMAL = 0x26 };

/* Denormal numbers become zero and keep their sign. */
static inline __m512 emulated_flush(__m512 v)
{
    __mmask16 small = _mm512_fpclass_ps_mask(v, EMULATED_ZERO_OR_DENORMAL);
    return _mm512_mask_and_ps(v, small, v, _mm512_set1_ps(-0.0f));
}

/* convert_fp32_to_bfloat16 of the manual. A number is rounded by adding to its bits: an overflow becomes
 * infinity, and infinity does not change. */
static inline __m256i emulated_to_bf16(__m512 v)
{
    __m512i bits = _mm512_castps_si512(emulated_flush(v));
    __m512i upper = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    __m512i bias = _mm512_add_epi32(_mm512_set1_epi32(0x7fff), odd);
    __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
    __mmask16 nan = _mm512_fpclass_ps_mask(v, EMULATED_NAN);
    return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(rounded, nan, upper, _mm512_set1_epi32(0x40)));
}

/* VCVTNEPS2BF16 */
static inline __m256bh emulated_cvtneps_pbh(__m512 v)
{
    return (__m256bh)emulated_to_bf16(v);
}

/* VCVTNE2PS2BF16: the second source makes the lower half. */
static inline __m512bh emulated_cvtne2ps_pbh(__m512 upper, __m512 lower)
{
    __m512i both = _mm512_castsi256_si512(emulated_to_bf16(lower));
    return (__m512bh)_mm512_inserti64x4(both, emulated_to_bf16(upper), 1);
}

/* A fused multiply-add rounded to nearest even. */
static inline __m512 emulated_add_product(__m512 sum, __m512 a, __m512 b)
{
    return emulated_flush(_mm512_fmadd_round_ps(emulated_flush(a), emulated_flush(b), emulated_flush(sum),
                                                _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* `result`, but `candidate` made quiet where that is a NaN. */
static inline __m512 emulated_prefer_nan(__m512 result, __m512 candidate)
{
    __mmask16 nan = _mm512_fpclass_ps_mask(candidate, EMULATED_NAN);
    __m512i quiet = _mm512_or_si512(_mm512_castps_si512(candidate), _mm512_set1_epi32(0x400000));
    return _mm512_mask_mov_ps(result, nan, _mm512_castsi512_ps(quiet));
}

/* VDPBF16PS adds the product of the odd elements to each sum, then that of the even ones. If several operands
 * are NaN, the result is the first of: a's even element, b's even, a's odd, b's odd, the sum. */
static inline __m512 emulated_dpbf16_ps(__m512 sum, __m512bh a, __m512bh b)
{
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000u);
    __m512 a_odd = _mm512_castsi512_ps(_mm512_and_si512((__m512i)a, upper));
    __m512 b_odd = _mm512_castsi512_ps(_mm512_and_si512((__m512i)b, upper));
    __m512 a_even = _mm512_castsi512_ps(_mm512_slli_epi32((__m512i)a, 16));
    __m512 b_even = _mm512_castsi512_ps(_mm512_slli_epi32((__m512i)b, 16));
    __m512 result = emulated_add_product(emulated_add_product(sum, a_odd, b_odd), a_even, b_even);
    result = emulated_prefer_nan(result, sum);
    result = emulated_prefer_nan(result, b_odd);
    result = emulated_prefer_nan(result, a_odd);
    result = emulated_prefer_nan(result, b_even);
    return emulated_prefer_nan(result, a_even);
}

#define _mm512_cvtneps_pbh  emulated_cvtneps_pbh
#define _mm512_cvtne2ps_pbh emulated_cvtne2ps_pbh
#define _mm512_dpbf16_ps    emulated_dpbf16_ps
#endif
#endif

#endif
