/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that the bf16 kernels share: rotating rows of bf16 on loads and stores, packing tiles.
 */
#ifndef ROTARY_KERNEL_ATTENTION_BF16_H
#define ROTARY_KERNEL_ATTENTION_BF16_H

#include "kernel/attention/bf16_matmul.h"
#include "kernel/attention/tile.h"

#define LN_2 0x1.62e43p-1f

static inline __mmask16 first_lanes(int64_t count)
{
    return (__mmask16)(count >= 16 ? 0xffffu : (1u << count) - 1u);
}

static inline __m512 widen(__m256i half)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

static inline __m256i narrow(__m512 v)
{
    return (__m256i)_mm512_cvtneps_pbh(v);
}

/* The squares of the 32 elements of a vector, summed in pairs. */
static inline __m512 add_squares(__m512 sum, const uint16_t *elements)
{
    __m512bh v = (__m512bh)_mm512_loadu_si512(elements);
    return _mm512_dpbf16_ps(sum, v, v);
}

/* Two vectors as the lower and upper half of one. */
static inline __m512i narrow_two(__m512 low, __m512 high)
{
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* Rotates 16 pairs: x their first channels, y their second. */
static inline void rotate_pairs(__m512 *x, __m512 *y, __m512 c, __m512 s)
{
    __m512 rotated = _mm512_fnmadd_ps(*y, s, _mm512_mul_ps(*x, c));
    *y = _mm512_fmadd_ps(*x, s, _mm512_mul_ps(*y, c));
    *x = rotated;
}

/* to[0 ... width - 1] = factor times from[0 ... head_dim - 1], rotated as query or key `index`; zero from
 * head_dim on.
 */
static inline void rotate_in(uint16_t *to, const uint16_t *from, int64_t head_dim, int64_t width,
                             float factor, const struct rotary_attention_rotation *rotation, int64_t index)
{
    __m512 f = _mm512_set1_ps(factor);
    int64_t pairs = rotation->cosine ? rotation->dim / 2 : 0;
    if (pairs * 2 < width)
        for (int64_t at = 0; at < width; at += 16) {
            __m256i half = _mm256_maskz_loadu_epi16(first_lanes(max_i64(0, head_dim - at)), from + at);
            _mm256_storeu_si256((__m256i *)(to + at), narrow(_mm512_mul_ps(widen(half), f)));
        }
    int64_t row = rotation_row(rotation, index) * pairs;
    const float *cosine = rotation->cosine + row, *sine = rotation->sine + row;
    for (int64_t pair = 0; pair < pairs; pair += 16) {
        __mmask16 lanes = first_lanes(pairs - pair);
        __m512 c = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, cosine + pair), f);
        __m512 s = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, sine + pair), f);
        if (rotation->interleaved) {
            int64_t at = rotation->start + 2 * pair;
            __m512 x, y;
            v_deinterleave_bf16((vint)_mm512_maskz_loadu_epi32(lanes, from + at), (vfloat *)&x, (vfloat *)&y);
            rotate_pairs(&x, &y, c, s);
            _mm512_mask_storeu_epi32(to + at, lanes, (__m512i)v_interleave_bf16((vfloat)x, (vfloat)y));
        } else {
            int64_t at = rotation->start + pair;
            __m512 x = widen(_mm256_maskz_loadu_epi16(lanes, from + at));
            __m512 y = widen(_mm256_maskz_loadu_epi16(lanes, from + at + pairs));
            rotate_pairs(&x, &y, c, s);
            _mm256_mask_storeu_epi16(to + at, lanes, narrow(x));
            _mm256_mask_storeu_epi16(to + at + pairs, lanes, narrow(y));
        }
    }
}

/* Does so in the usual case: half-split pairs over the full head, no padding, halves of full vectors. */
static inline void rotate_in_dense(uint16_t *to, const uint16_t *from, int64_t pairs, bool scaled,
                                   __m512 factor, const float *cosine, const float *sine)
{
    for (int64_t pair = 0; pair < pairs; pair += 16) {
        __m512 c = _mm512_loadu_ps(cosine + pair), s = _mm512_loadu_ps(sine + pair);
        __m512 x = widen(_mm256_loadu_si256((const __m256i *)(from + pair)));
        __m512 y = widen(_mm256_loadu_si256((const __m256i *)(from + pair + pairs)));
        rotate_pairs(&x, &y, c, s);
        if (scaled) {
            x = _mm512_mul_ps(x, factor);
            y = _mm512_mul_ps(y, factor);
        }
        _mm256_storeu_si256((__m256i *)(to + pair), narrow(x));
        _mm256_storeu_si256((__m256i *)(to + pair + pairs), narrow(y));
    }
}

/* The prefetch distance in rows. The prefetch may run past the last row: clamping it, as fetch_ahead does,
 * takes longer than rotating a short row. */
enum { AHEAD = 12 };

/* Writes queries, or keys, first ... first + count - 1 of one head, rotated and scaled, to padded rows. */
static inline void rotate_rows_in(uint16_t *to, const rotary_attention_problem *problem,
                                  rotary_attention_const_view view, int64_t sequence, int64_t head,
                                  int64_t first, int64_t count, float factor, bool keys,
                                  const struct rotary_attention_rotation *rotation)
{
    int64_t head_dim = problem->head_dim, width = rotary_attention_row(head_dim), pairs = rotation->dim / 2;
    bool full = rotation->cosine && !rotation->interleaved && rotation->dim == width && pairs % 16 == 0;
    bool plain = !rotation->cosine && head_dim == width && factor == 1.0f;
    int64_t ahead = count > 1 ? AHEAD * view.time_stride : 0; /* the stride of one entry may be anything */
    for (int64_t at = 0; at < count; at++) {
        const uint16_t *from =
            vector_at(problem, view, sequence, keys ? key_row(problem, first + at) : first + at, head);
        for (int64_t channel = 0; channel < head_dim; channel += 32)
            _mm_prefetch((const char *)(from + ahead + channel), _MM_HINT_T0);
        int64_t row = rotation_row(rotation, first + at) * pairs;
        const float *cosine = rotation->cosine + row, *sine = rotation->sine + row;
        for (int64_t channel = 0; plain && channel < width; channel += 32)
            _mm512_storeu_si512(to + at * width + channel, _mm512_loadu_si512(from + channel));
        if (plain)
            continue;
        if (full)
            rotate_in_dense(to + at * width, from, pairs, factor != 1.0f, _mm512_set1_ps(factor), cosine,
                            sine);
        else
            rotate_in(to + at * width, from, head_dim, width, factor, rotation, first + at);
    }
}

/* The transposed rotation of x and y; a factor may be multiplied into c and s. */
static inline void rotate_pairs_transposed(__m512 *x, __m512 *y, __m512 c, __m512 s)
{
    __m512 rotated = _mm512_fmadd_ps(*y, s, _mm512_mul_ps(*x, c));
    *y = _mm512_fnmadd_ps(*x, s, _mm512_mul_ps(*y, c));
    *x = rotated;
}

/* The rotated channels in the usual case: half-split pairs, halves of full vectors. */
static inline void rotate_halves_out(uint16_t *to, const float *from, int64_t pairs, __m512 factor,
                                     const float *cosine, const float *sine)
{
    for (int64_t pair = 0; pair < pairs; pair += 16) {
        __m512 c = _mm512_mul_ps(_mm512_loadu_ps(cosine + pair), factor);
        __m512 s = _mm512_mul_ps(_mm512_loadu_ps(sine + pair), factor);
        __m512 x = _mm512_loadu_ps(from + pair), y = _mm512_loadu_ps(from + pair + pairs);
        rotate_pairs_transposed(&x, &y, c, s);
        _mm256_storeu_si256((__m256i *)(to + pair), narrow(x));
        _mm256_storeu_si256((__m256i *)(to + pair + pairs), narrow(y));
    }
}

/* to[0 ... head_dim - 1] = factor times the transposed rotation of from as query or key `index`. */
static inline void rotate_out(uint16_t *to, const float *from, int64_t head_dim, float factor,
                              const struct rotary_attention_rotation *rotation, int64_t index)
{
    __m512 f = _mm512_set1_ps(factor);
    int64_t pairs = rotation->cosine ? rotation->dim / 2 : 0;
    if (pairs * 2 < head_dim) {
        int64_t at = 0;
        for (; at + 16 <= head_dim; at += 16)
            _mm256_storeu_si256((__m256i *)(to + at), narrow(_mm512_mul_ps(_mm512_loadu_ps(from + at), f)));
        __mmask16 lanes = first_lanes(head_dim - at);
        __m512 rest = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, from + at), f);
        _mm256_mask_storeu_epi16(to + at, lanes, narrow(rest));
    }
    int64_t row = rotation_row(rotation, index) * pairs;
    const float *cosine = rotation->cosine + row, *sine = rotation->sine + row;
    if (pairs % 16 == 0 && !rotation->interleaved) {
        rotate_halves_out(to + rotation->start, from + rotation->start, pairs, f, cosine, sine);
        return;
    }
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    for (int64_t pair = 0; pair < pairs; pair += 16) {
        __mmask16 lanes = first_lanes(pairs - pair);
        __m512 c = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, cosine + pair), f);
        __m512 s = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, sine + pair), f);
        if (rotation->interleaved) {
            int64_t at = rotation->start + 2 * pair, left = 2 * (pairs - pair);
            __m512 low = _mm512_maskz_loadu_ps(first_lanes(left), from + at);
            __m512 high = _mm512_maskz_loadu_ps(first_lanes(max_i64(0, left - 16)), from + at + 16);
            __m512 x = _mm512_permutex2var_ps(low, even, high), y = _mm512_permutex2var_ps(low, odd, high);
            rotate_pairs_transposed(&x, &y, c, s);
            _mm512_mask_storeu_epi32(to + at, lanes, (__m512i)v_interleave_bf16((vfloat)x, (vfloat)y));
        } else {
            int64_t at = rotation->start + pair;
            __m512 x = _mm512_maskz_loadu_ps(lanes, from + at),
                   y = _mm512_maskz_loadu_ps(lanes, from + at + pairs);
            rotate_pairs_transposed(&x, &y, c, s);
            _mm256_mask_storeu_epi16(to + at, lanes, narrow(x));
            _mm256_mask_storeu_epi16(to + at + pairs, lanes, narrow(y));
        }
    }
}

/* Transposes a 16 x 16 matrix of dwords; rows are so many dwords apart. */
static inline void transpose_dwords(void *to, int64_t to_row, const void *from, int64_t row)
{
    const int32_t *rows = from;
    __m512i words[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        words[i] = _mm512_loadu_si512(rows + i * row);
    v_transpose_words(words);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        _mm512_storeu_si512((int32_t *)to + i * to_row, words[i]);
}

/* Packs 32 rows of `width` channels as the right-hand side of a matmul that sums over rows: tile t holds
 * channels 16t ... 16t + 15. */
static inline void pack_pairs(uint16_t *tiles, const uint16_t *rows, int64_t width)
{
    for (int64_t channel = 0; channel < width; channel += 32)
        for (int64_t row = 0; row < 32; row += 2) {
            __m512i even = _mm512_loadu_si512(rows + row * width + channel);
            __m512i odd = _mm512_loadu_si512(rows + (row + 1) * width + channel);
            uint16_t *to = tiles + channel / SIDE * TILE + row / 2 * 32;
            _mm512_storeu_si512(to, v_alternate_low(even, odd));
            _mm512_storeu_si512(to + TILE, v_alternate_high(even, odd));
        }
}

/* Packs 16 rows of `width` channels as the right-hand side of a matmul that sums over channels: tile t holds
 * channels 32t ... 32t + 31. */
static inline void pack_transposed(uint16_t *tiles, const uint16_t *rows, int64_t width)
{
    for (int64_t channel = 0; channel < width; channel += DEPTH)
        transpose_dwords(tiles + channel / DEPTH * TILE, SIDE, rows + channel, width / 2);
}

#endif
