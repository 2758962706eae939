/* SPDX-License-Identifier: Apache-2.0
 *
 * Exponentials and the hyperbolic tangent of a vector of f32 lanes, in several accuracies and ranges.
 */
#ifndef ROTARY_KERNEL_EXPONENTIAL_H
#define ROTARY_KERNEL_EXPONENTIAL_H

#include "kernel/simd.h"

/* e^r for |r| <= ln(2)/2. */
static inline vfloat v_exp_small(vfloat r)
{
    vfloat p = v_set(0x1.6850e4p-10f);
    p = v_fma(p, r, v_set(0x1.123bccp-7f));
    p = v_fma(p, r, v_set(0x1.555b98p-5f));
    p = v_fma(p, r, v_set(0x1.55548ep-3f));
    p = v_fma(p, r, v_set(0x1.fffff8p-2f));
    p = v_fma(p, r, v_set(1.0f));
    return v_fma(p, r, v_set(1.0f));
}

/* e^x within 2 units in the last place for every finite x: 2^n times a polynomial on |r| <= ln(2)/2. Results
 * below the smallest normal number are flushed to zero, above the largest are infinity; NaN stays NaN. */
static inline vfloat v_exp(vfloat x)
{
    const vfloat log2e = v_set(0x1.715476p+0f), magic = v_set(0x1.8p+23f);
    const vfloat ln2_high = v_set(0x1.62e4p-1f), ln2_low = v_set(0x1.7f7d1cp-20f);
    vint too_low = x<v_set(-0x1.5d589ep+6f), too_high = x> v_set(0x1.62e42ep+6f);
    vfloat n = (x * log2e + magic) - magic;
    vfloat r = v_fma(n, -ln2_low, v_fma(n, -ln2_high, x));
    vfloat p = v_exp_small(r);
    /* Two factors of a power of two, so that 2^128 is reached without overflowing on the way. */
    vint is_nan = x != x;
    vfloat safe_n = (vfloat)((vint)n & ~(is_nan | too_low | too_high));
    vint power = __builtin_convertvector(safe_n, vint), half = power >> 1;
    vfloat scaled = p * (vfloat)((half + 127) << 23) * (vfloat)((power - half + 127) << 23);
    scaled = (vfloat)((vint)scaled & ~too_low);
    return v_select(is_nan, x, v_select(too_high, v_set(__builtin_inff()), scaled));
}

/* tanh within 4 units in the last place: an odd polynomial near zero, elsewhere 1 - 2 / (e^2x + 1). */
static inline vfloat v_tanh(vfloat x)
{
    vfloat square = x * x;
    vfloat p = v_set(-0x1.895582p-8f);
    p = v_fma(p, square, v_set(0x1.56f0c2p-6f));
    p = v_fma(p, square, v_set(-0x1.b90868p-5f));
    p = v_fma(p, square, v_set(0x1.110da2p-3f));
    p = v_fma(p, square, v_set(-0x1.555552p-2f));
    vfloat small = v_fma(p * square, x, x);
    vfloat large = v_set(1.0f) - v_set(2.0f) / (v_exp(x + x) + v_set(1.0f));
    return v_select(square < v_set(0.64f * 0.64f), small, large);
}

/* Computes exp(x) for x <= 88, with half the instructions: nothing overflows, and the power of two is added
 * to the exponent bits. Undefined for larger x. */
static inline vfloat v_exp_to_88(vfloat x)
{
    const vfloat log2e = v_set(0x1.715476p+0f), lowest = v_set(-0x1.5d589ep+6f);
    const vfloat ln2_high = v_set(0x1.62e4p-1f), ln2_low = v_set(0x1.7f7d1cp-20f);
#if defined(__AVX512F__)
    __mmask16 in_range = _mm512_cmp_ps_mask((__m512)x, (__m512)lowest, _CMP_NLT_UQ);
    vfloat n =
        (vfloat)_mm512_roundscale_ps((__m512)(x * log2e), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    vfloat r = v_fma(n, -ln2_low, v_fma(n, -ln2_high, x));
    return (vfloat)_mm512_maskz_scalef_ps(in_range, (__m512)v_exp_small(r), (__m512)n);
#else
    /* The sum's last bits are x log2(e), rounded to an integer. */
    const vfloat magic = v_set(0x1.8p+23f);
    vint too_low = x < lowest;
    vfloat shifted = x * log2e + magic, n = shifted - magic;
    vfloat r = v_fma(n, -ln2_low, v_fma(n, -ln2_high, x));
    vfloat power = (vfloat)(((vint)shifted + 127) << 23);
    return (vfloat)((vint)(v_exp_small(r) * power) & ~too_low);
#endif
}

/* Steps of v_exp2_to_126: v_root is 2^(i / 2^ROOT_BITS), i the last ROOT_BITS bits of a lane, from a table of
 * one root per lane; v_exp2_slope is (2^r - 1) / r for the remainder r, |r| <= 1/2 / 2^ROOT_BITS. */
#if LANES == 16
enum { ROOT_BITS = 4 };

static inline vfloat v_root(vint index)
{
    const vfloat roots = {0x1.000000p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f,
                          0x1.306fe0p+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
                          0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
                          0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f};
    return (vfloat)_mm512_permutexvar_ps((__m512i)index, (__m512)roots);
}

static inline vfloat v_exp2_slope(vfloat r)
{
    vfloat p = v_fma(v_set(0x1.c6acdep-5f), r, v_set(0x1.ebfff4p-3f));
    return v_fma(p, r, v_set(0x1.62e430p-1f));
}
#elif LANES == 8
enum { ROOT_BITS = 3 };

static inline vfloat v_root(vint index)
{
    const vfloat roots = {0x1.000000p+0f, 0x1.172b84p+0f, 0x1.306fe0p+0f, 0x1.4bfdaep+0f,
                          0x1.6a09e6p+0f, 0x1.8ace54p+0f, 0x1.ae89fap+0f, 0x1.d5818ep+0f};
    return (vfloat)_mm256_permutevar8x32_ps((__m256)roots, (__m256i)index);
}

static inline vfloat v_exp2_slope(vfloat r)
{
    vfloat p = v_fma(v_set(0x1.c690e0p-5f), r, v_set(0x1.ec0c22p-3f));
    return v_fma(p, r, v_set(0x1.62e432p-1f));
}
#else
enum { ROOT_BITS = 0 };

static inline vfloat v_root(vint index)
{
    (void)index;
    return v_set(1.0f);
}

static inline vfloat v_exp2_slope(vfloat r)
{
    vfloat p = v_set(0x1.470b48p-13f);
    p = v_fma(p, r, v_set(0x1.5f7276p-10f));
    p = v_fma(p, r, v_set(0x1.3b270ep-7f));
    p = v_fma(p, r, v_set(0x1.c6ae72p-5f));
    p = v_fma(p, r, v_set(0x1.ebfbe2p-3f));
    return v_fma(p, r, v_set(0x1.62e432p-1f));
}
#endif

/* 2^x within 2 units in the last place for x <= 126, with still fewer instructions: x is rounded to ROOT_BITS
 * fractional bits, which leaves an exact remainder. Results below the smallest normal number may be 0;
 * 2^-infinity is 0. */
static inline vfloat v_exp2_to_126(vfloat x)
{
    /* The sum's last bits are the rounded x. */
    const vfloat magic = v_set(0x1.8p+23f / (1 << ROOT_BITS));
    vfloat shifted = x + magic, n = shifted - magic, r = x - n, root = v_root((vint)shifted);
    vfloat scaled = v_fma(root * r, v_exp2_slope(r), root);
#if defined(__AVX512F__)
    /* -infinity leaves NaN, which the instruction scales by 2^-infinity to 0. */
    return (vfloat)_mm512_scalef_ps((__m512)scaled, (__m512)n);
#else
    vint too_low = x < v_set(-126.0f);
    return (vfloat)((vint)((vuint)scaled + ((vuint)shifted >> ROOT_BITS << 23)) & ~too_low);
#endif
}

#if defined(__AVX512F__)
/* 2^x with a relative error of at most 8e-5; that of a rounding to bf16 is up to 2^-8, or 4e-3. */
static inline vfloat v_exp2_coarse(vfloat x)
{
    vfloat fraction = (vfloat)_mm512_reduce_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    vfloat p = v_fma(v_set(0x1.3f96a4p-4f), fraction, v_set(0x1.cefc4cp-3f));
    p = v_fma(p, fraction, v_set(0x1.64444cp-1f));
    p = v_fma(p, fraction, v_set(0x1.fff632p-1f));
    return (vfloat)_mm512_scalef_ps((__m512)p, (__m512)x);
}
#endif

#endif
