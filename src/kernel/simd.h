/* SPDX-License-Identifier: Apache-2.0
 *
 * One vector of f32 lanes, as wide as the instruction set a file is compiled for. A kernel written with it
 * has one source, compiled once per variant (cmake/kernels.cmake).
 *
 * Loads and stores need no alignment and access no byte beyond their elements.
 */
#ifndef ROTARY_KERNEL_SIMD_H
#define ROTARY_KERNEL_SIMD_H

#include "base/half.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(ROTARY_NEON)
#include <arm_neon.h>
#endif

/* ROTARY_VARIANT is the variant being compiled (cmake/kernels.cmake); it ends the names of its functions and
 * tables. */
#define ROTARY_JOIN_(name, variant) name##_##variant
#define ROTARY_JOIN(name, variant)  ROTARY_JOIN_(name, variant)
#define ROTARY_KERNEL(name)         ROTARY_JOIN(name, ROTARY_VARIANT)

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif

typedef float vfloat __attribute__((vector_size(LANES * 4)));
typedef int32_t vint __attribute__((vector_size(LANES * 4)));
typedef uint32_t vuint __attribute__((vector_size(LANES * 4)));
typedef uint16_t vhalf __attribute__((vector_size(LANES * 2)));

static inline vfloat v_set(float value)
{
    return value - (vfloat){0}; /* value - 0 keeps -0; value + 0 would not */
}

static inline vfloat v_load(const float *from)
{
    vfloat v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void v_store(float *to, vfloat v)
{
    memcpy(to, &v, sizeof v);
}

/* The first `count` lanes (0 < count < LANES); the others are zero, and are not stored. */
static inline vfloat v_load_part(const float *from, int64_t count)
{
#if defined(__AVX512F__)
    return (vfloat)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1u), from);
#else
    vfloat v = {0};
    memcpy(&v, from, (size_t)count * sizeof(float));
    return v;
#endif
}

static inline void v_store_part(float *to, vfloat v, int64_t count)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1u), (__m512)v);
#else
    memcpy(to, &v, (size_t)count * sizeof(float));
#endif
}

/* a * b + c: one rounding where the instruction set has it, two on the plain baseline. */
static inline vfloat v_fma(vfloat a, vfloat b, vfloat c)
{
#if defined(__AVX512F__)
    return (vfloat)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (vfloat)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(ROTARY_NEON)
    return (vfloat)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

/* Lanes of `a` where `mask` is all ones, of `b` where it is zero. */
static inline vint v_blend(vint mask, vint a, vint b)
{
#if defined(__AVX512F__)
    return (vint)_mm512_mask_mov_epi32((__m512i)b, _mm512_movepi32_mask((__m512i)mask), (__m512i)a);
#elif defined(__AVX2__)
    return (vint)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)mask);
#else
    return (mask & a) | (~mask & b);
#endif
}

/* Selects by bitwise operations, which a compiler simplifies where `a` or `b` is constant. */
static inline vfloat v_select(vint mask, vfloat a, vfloat b)
{
    return (vfloat)((mask & (vint)a) | (~mask & (vint)b));
}

/* How many lanes of a mask are all ones. */
static inline int v_count(vint mask)
{
#if defined(__AVX512F__)
    return __builtin_popcount(_mm512_movepi32_mask((__m512i)mask));
#elif defined(__AVX2__)
    return __builtin_popcount((unsigned)_mm256_movemask_ps((__m256)mask));
#else
    int count = 0;
    for (int lane = 0; lane < LANES; lane++)
        count -= mask[lane];
    return count;
#endif
}

/* The max of each pair of lanes; where a lane of `a` is NaN, the lane of `b`. */
static inline vfloat v_max(vfloat a, vfloat b)
{
#if defined(__AVX512F__)
    return (vfloat)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vfloat)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return v_select(a > b, a, b);
#endif
}

static inline vfloat v_sqrt(vfloat a)
{
#if defined(__AVX512F__)
    return (vfloat)_mm512_sqrt_ps((__m512)a);
#elif defined(__AVX2__)
    return (vfloat)_mm256_sqrt_ps((__m256)a);
#else
    vfloat root;
    for (int lane = 0; lane < LANES; lane++)
        root[lane] = __builtin_sqrtf(a[lane]);
    return root;
#endif
}

/* 0, 1, 2, ... */
static inline vint v_lanes(void)
{
#if LANES == 16
    return (vint){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif LANES == 8
    return (vint){0, 1, 2, 3, 4, 5, 6, 7};
#else
    return (vint){0, 1, 2, 3};
#endif
}

/* Shuffles of a butterfly reduction: lane i takes lane i ^ n. */
#if LANES == 16
#define V_BUTTERFLY_8 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7
#define V_BUTTERFLY_4 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11
#define V_BUTTERFLY_2 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
#define V_BUTTERFLY_1 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#elif LANES == 8
#define V_BUTTERFLY_4 4, 5, 6, 7, 0, 1, 2, 3
#define V_BUTTERFLY_2 2, 3, 0, 1, 6, 7, 4, 5
#define V_BUTTERFLY_1 1, 0, 3, 2, 5, 4, 7, 6
#else
#define V_BUTTERFLY_2 2, 3, 0, 1
#define V_BUTTERFLY_1 1, 0, 3, 2
#endif

/* Sum and max over lanes, always in the same order: the lower half with the upper, and so on. */
static inline float v_sum(vfloat v)
{
#if LANES == 16
    v += __builtin_shufflevector(v, v, V_BUTTERFLY_8);
#endif
#if LANES >= 8
    v += __builtin_shufflevector(v, v, V_BUTTERFLY_4);
#endif
    v += __builtin_shufflevector(v, v, V_BUTTERFLY_2);
    v += __builtin_shufflevector(v, v, V_BUTTERFLY_1);
    return v[0];
}

static inline float v_max_lane(vfloat v)
{
#if LANES == 16
    v = v_max(v, __builtin_shufflevector(v, v, V_BUTTERFLY_8));
#endif
#if LANES >= 8
    v = v_max(v, __builtin_shufflevector(v, v, V_BUTTERFLY_4));
#endif
    v = v_max(v, __builtin_shufflevector(v, v, V_BUTTERFLY_2));
    v = v_max(v, __builtin_shufflevector(v, v, V_BUTTERFLY_1));
    return v[0];
}

/* Deinterleaves two vectors (a0 b0 a1 b1 ...) into a and b, and interleaves them again. */
#if LANES == 16
#define V_EVEN     0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define V_ODD      1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define V_ZIP_LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define V_ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif LANES == 8
#define V_EVEN     0, 2, 4, 6, 8, 10, 12, 14
#define V_ODD      1, 3, 5, 7, 9, 11, 13, 15
#define V_ZIP_LOW  0, 8, 1, 9, 2, 10, 3, 11
#define V_ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define V_EVEN     0, 2, 4, 6
#define V_ODD      1, 3, 5, 7
#define V_ZIP_LOW  0, 4, 1, 5
#define V_ZIP_HIGH 2, 6, 3, 7
#endif

static inline vfloat v_even(vfloat low, vfloat high)
{
    return __builtin_shufflevector(low, high, V_EVEN);
}

static inline vfloat v_odd(vfloat low, vfloat high)
{
    return __builtin_shufflevector(low, high, V_ODD);
}

static inline vfloat v_zip_low(vfloat even, vfloat odd)
{
    return __builtin_shufflevector(even, odd, V_ZIP_LOW);
}

static inline vfloat v_zip_high(vfloat even, vfloat odd)
{
    return __builtin_shufflevector(even, odd, V_ZIP_HIGH);
}

/* Separates even and odd lanes in the lane order that takes fewest instructions. v_deinterleaved_order
 * permutes other vectors to that order. */
#if defined(__AVX2__) && LANES == 8
static inline vfloat v_deinterleaved_order(vfloat v)
{
    return __builtin_shufflevector(v, v, 0, 1, 4, 5, 2, 3, 6, 7);
}

static inline void v_deinterleave(vfloat low, vfloat high, vfloat *even, vfloat *odd)
{
    *even = __builtin_shufflevector(low, high, 0, 2, 8, 10, 4, 6, 12, 14);
    *odd = __builtin_shufflevector(low, high, 1, 3, 9, 11, 5, 7, 13, 15);
}

static inline void v_interleave(vfloat even, vfloat odd, vfloat *low, vfloat *high)
{
    *low = __builtin_shufflevector(even, odd, 0, 8, 1, 9, 4, 12, 5, 13);
    *high = __builtin_shufflevector(even, odd, 2, 10, 3, 11, 6, 14, 7, 15);
}
#else
static inline vfloat v_deinterleaved_order(vfloat v)
{
    return v;
}

static inline void v_deinterleave(vfloat low, vfloat high, vfloat *even, vfloat *odd)
{
    *even = v_even(low, high);
    *odd = v_odd(low, high);
}

static inline void v_interleave(vfloat even, vfloat odd, vfloat *low, vfloat *high)
{
    *low = v_zip_low(even, odd);
    *high = v_zip_high(even, odd);
}
#endif

/* Steps that sum LANES vectors, each to one lane of the result. v_sum_neighbours, applied twice, adds
 * neighbours within 128 bits; then v_sum_quarters adds 128-bit lanes. Sums of `a` precede those of `b`. */
static inline vfloat v_sum_neighbours(vfloat a, vfloat b)
{
#if LANES == 16
    return __builtin_shufflevector(a, b, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30) +
           __builtin_shufflevector(a, b, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
#elif LANES == 8
    return __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14) +
           __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
#else
    return v_even(a, b) + v_odd(a, b);
#endif
}

static inline vfloat v_sum_quarters(vfloat a, vfloat b)
{
#if LANES == 16
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
           __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
#elif LANES == 8
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
#else
    return a + b; /* never called */
#endif
}

/* Zero-extends 16-bit lanes to 32 bits, and back (lanes of 0 ... 65535). __builtin_convertvector takes
 * several times as many instructions. */
static inline vint v_widen(vhalf half)
{
#if defined(__AVX512F__)
    return (vint)_mm512_cvtepu16_epi32((__m256i)half);
#elif defined(__AVX2__)
    return (vint)_mm256_cvtepu16_epi32((__m128i)half);
#elif defined(ROTARY_NEON)
    return (vint)vmovl_u16((uint16x4_t)half);
#else
    return __builtin_convertvector(half, vint);
#endif
}

static inline vhalf v_narrow(vint wide)
{
#if defined(__AVX512F__)
    return (vhalf)_mm512_cvtepi32_epi16((__m512i)wide);
#elif defined(__AVX2__)
    __m256i narrowed = _mm256_packus_epi32((__m256i)wide, (__m256i)wide);
    return (vhalf)_mm256_castsi256_si128(_mm256_permute4x64_epi64(narrowed, 0x08));
#else
    return __builtin_convertvector(wide, vhalf);
#endif
}

static inline vfloat v_from_bf16(vhalf half)
{
    return (vfloat)(v_widen(half) << 16);
}

/* bf16 in the upper halves, the lower halves undefined. Rounds to nearest even; NaN stays NaN, as in
 * base/half.h. */
static inline vint v_round_bf16(vfloat v)
{
    vint bits = (vint)v;
    vint rounded = bits + 0x7fff + ((bits >> 16) & 1);
    vint quiet = bits | 0x400000;
    vint is_nan = v != v;
    return v_blend(is_nan, quiet, rounded);
}

static inline vhalf v_to_bf16(vfloat v)
{
#if defined(__AVX512BF16__)
    return (vhalf)_mm512_cvtneps_pbh((__m512)v); /* flushes subnormals, which are below 2^-126, to zero */
#else
    return v_narrow((vint)((vuint)v_round_bf16(v) >> 16));
#endif
}

/* Deinterleaves pairs of bf16, one pair in each 32 bits, and interleaves them again. */
static inline void v_deinterleave_bf16(vint pairs, vfloat *even, vfloat *odd)
{
    *even = (vfloat)(pairs << 16);
    *odd = (vfloat)(pairs & (int32_t)0xffff0000);
}

static inline vint v_interleave_bf16(vfloat even, vfloat odd)
{
#if defined(__AVX512BF16__)
    const __m512i alternate =
        _mm512_set_epi32(0x1f000f, 0x1e000e, 0x1d000d, 0x1c000c, 0x1b000b, 0x1a000a, 0x190009, 0x180008,
                         0x170007, 0x160006, 0x150005, 0x140004, 0x130003, 0x120002, 0x110001, 0x100000);
    return (vint)_mm512_permutexvar_epi16(alternate, (__m512i)_mm512_cvtne2ps_pbh((__m512)odd, (__m512)even));
#else
    return (vint)((vuint)v_round_bf16(even) >> 16) | (v_round_bf16(odd) & (int32_t)0xffff0000);
#endif
}

/* The lower, or the upper, halves of two vectors of pairs of bf16 as pairs, that of `first` in the lower
 * half. */
static inline vint v_pair_lower(vint first, vint second)
{
    return (first & 0xffff) | (second << 16);
}

static inline vint v_pair_upper(vint first, vint second)
{
    return (vint)((vuint)first >> 16) | (second & (int32_t)0xffff0000);
}

/* sum + a . b over pairs of bf16: one instruction with AVX512_BF16. */
static inline vfloat v_add_pairs(vint a, vint b, vfloat sum)
{
#if defined(__AVX512BF16__)
    return (vfloat)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#else
    vfloat even[2], odd[2];
    v_deinterleave_bf16(a, &even[0], &odd[0]);
    v_deinterleave_bf16(b, &even[1], &odd[1]);
    return v_fma(even[0], even[1], v_fma(odd[0], odd[1], sum));
#endif
}

/* The first `count` bf16 elements of a vector (0 < count < 2 LANES); the others are zero. */
static inline vint v_load_part_words(const void *from, int64_t count)
{
#if defined(__AVX512F__)
    return (vint)_mm512_maskz_loadu_epi16((__mmask32)((1u << count) - 1u), from);
#else
    vint words = {0};
    memcpy(&words, from, (size_t)count * sizeof(uint16_t));
    return words;
#endif
}

static inline vfloat v_load_bf16(const uint16_t *from)
{
    vhalf half;
    memcpy(&half, from, sizeof half);
    return v_from_bf16(half);
}

static inline void v_store_bf16(uint16_t *to, vfloat v)
{
    vhalf half = v_to_bf16(v);
    memcpy(to, &half, sizeof half);
}

static inline vfloat v_load_part_bf16(const uint16_t *from, int64_t count)
{
    vhalf half = {0};
    memcpy(&half, from, (size_t)count * sizeof(uint16_t));
    return v_from_bf16(half);
}

static inline void v_store_part_bf16(uint16_t *to, vfloat v, int64_t count)
{
    vhalf half = v_to_bf16(v);
    memcpy(to, &half, (size_t)count * sizeof(uint16_t));
}

static inline vfloat v_from_f16(vhalf half)
{
#if defined(__AVX512F__)
    return (vfloat)_mm512_cvtph_ps((__m256i)half);
#elif defined(__F16C__)
    return (vfloat)_mm256_cvtph_ps((__m128i)half);
#elif defined(ROTARY_NEON)
    return (vfloat)vcvt_f32_f16((float16x4_t)half);
#else
    vfloat v = {0};
    for (int lane = 0; lane < LANES; lane++)
        v[lane] = rotary_f16_to_float(half[lane]);
    return v;
#endif
}

static inline vhalf v_to_f16(vfloat v)
{
#if defined(__AVX512F__)
    return (vhalf)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
    return (vhalf)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
#elif defined(ROTARY_NEON)
    return (vhalf)vcvt_f16_f32((float32x4_t)v);
#else
    vhalf half = {0};
    for (int lane = 0; lane < LANES; lane++)
        half[lane] = rotary_f16_from_float(v[lane]);
    return half;
#endif
}

/* The f16 elements of a vector, the first half of them in `low`. */
static inline void v_widen_f16(vint elements, vfloat *low, vfloat *high)
{
    vhalf halves[2];
    memcpy(halves, &elements, sizeof halves);
    *low = v_from_f16(halves[0]);
    *high = v_from_f16(halves[1]);
}

static inline vfloat v_load_f16(const uint16_t *from)
{
    vhalf half;
    memcpy(&half, from, sizeof half);
    return v_from_f16(half);
}

static inline void v_store_f16(uint16_t *to, vfloat v)
{
    vhalf half = v_to_f16(v);
    memcpy(to, &half, sizeof half);
}

static inline vfloat v_load_part_f16(const uint16_t *from, int64_t count)
{
    vhalf half = {0};
    memcpy(&half, from, (size_t)count * sizeof(uint16_t));
    return v_from_f16(half);
}

static inline void v_store_part_f16(uint16_t *to, vfloat v, int64_t count)
{
    vhalf half = v_to_f16(v);
    memcpy(to, &half, (size_t)count * sizeof(uint16_t));
}

#if defined(__AVX512F__)
/* Transposes 16 x 16 words of 32 bits: first within 128-bit lanes, then the lanes. */
static inline __attribute__((always_inline)) void v_transpose_words(__m512i r[16])
{
    __m512i t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    /* Now lane l of r[4 i + j] is column 4 l + j of rows 4 i ... 4 i + 3. */
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        __m512i even_01 = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88);
        __m512i odd_01 = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xdd);
        __m512i even_23 = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88);
        __m512i odd_23 = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xdd);
        r[j] = _mm512_shuffle_i32x4(even_01, even_23, 0x88);
        r[4 + j] = _mm512_shuffle_i32x4(odd_01, odd_23, 0x88);
        r[8 + j] = _mm512_shuffle_i32x4(even_01, even_23, 0xdd);
        r[12 + j] = _mm512_shuffle_i32x4(odd_01, odd_23, 0xdd);
    }
}

/* Interleaves the lower, or the upper, halves of two vectors of 32 words of 16 bits. */
static inline __m512i v_alternate_low(__m512i a, __m512i b)
{
    const __m512i index =
        _mm512_set_epi32(0x2f000f, 0x2e000e, 0x2d000d, 0x2c000c, 0x2b000b, 0x2a000a, 0x290009, 0x280008,
                         0x270007, 0x260006, 0x250005, 0x240004, 0x230003, 0x220002, 0x210001, 0x200000);
    return _mm512_permutex2var_epi16(a, index, b);
}

static inline __m512i v_alternate_high(__m512i a, __m512i b)
{
    const __m512i index =
        _mm512_set_epi32(0x3f001f, 0x3e001e, 0x3d001d, 0x3c001c, 0x3b001b, 0x3a001a, 0x390019, 0x380018,
                         0x370017, 0x360016, 0x350015, 0x340014, 0x330013, 0x320012, 0x310011, 0x300010);
    return _mm512_permutex2var_epi16(a, index, b);
}
#endif

#endif
