/* SPDX-License-Identifier: Apache-2.0
 *
 * p and ds of the backward pass in bf16, from the products s^T and dp^T of some keys and queries.
 */
#ifndef ROTARY_KERNEL_ATTENTION_BF16_DERIVATION_H
#define ROTARY_KERNEL_ATTENTION_BF16_DERIVATION_H

#include "kernel/attention/bf16.h"

enum {
    PART = 32 /* queries, and keys, of a block whose scores are computed at a time */,
    MARGIN = ROTARY_ATTENTION_TERM_MARGIN,
    DS_ROW = PART + MARGIN
};

static inline void apply_softcap(__m512 *score, __m512 *ds, float softcap)
{
    vfloat capped = v_tanh((vfloat)*score * v_set(LN_2 / softcap));
    *score = (__m512)(v_set(softcap * LOG2_E) * capped);
    *ds = (__m512)v_fma(-capped, capped, v_set(1.0f));
}

struct query_statistics {
    __m512 log_sum_exp[2], delta[2];
};

/* p of one key and 16 queries from their scores. `bias`, the sum of the score terms, may be NULL. */
static inline __attribute__((always_inline)) __m512 p_of(__m512 score, const float *bias, __m512 log_sum_exp,
                                                         float softcap, __m512 *d_softcap)
{
    *d_softcap = _mm512_set1_ps(1.0f);
    if (softcap > 0)
        apply_softcap(&score, d_softcap, softcap);
    if (bias)
        score = (__m512)v_add_bias((vfloat)score, v_load(bias), LOG2_E);
    /* p is at most 1, however coarse a log-sum-exp far from 0 is; a NaN stays. */
    return (__m512)v_exp2_coarse(
        (vfloat)_mm512_min_ps(_mm512_setzero_ps(), _mm512_sub_ps(score, log_sum_exp)));
}

/* Rows of a part, the first at these, in what terms make and need: the sum of the score terms, [PART,
 * bias_row], ds without the derivative of the softcap, [PART, DS_ROW], and w, [PART, PART]. NULL: there is none, or
 * it is not wanted. And the value term's products, [PART, product_row]. */
struct term_rows {
    const float *bias, *product;
    int64_t bias_row, product_row;
    float *ds_score, *w;
};

/* What p and ds of a part, at most 32 queries and keys, are made of, and where p^T and ds^T go. */
struct derivation {
    struct product score, dp;
    const struct term_rows *rows; /* NULL: there are no terms */
    struct query_statistics of_query;
    float softcap;
    const __mmask32 *visible; /* [PART]: the queries that see each key; NULL: all do */
    uint16_t *p, *ds, *ds_pairs;
};

/* p of ROWS_AT_ONCE keys from number `first` on, in f32 with the derivatives of the softcap, and in bf16. */
static inline __attribute__((always_inline)) void derive_p(const struct derivation *of, int64_t first,
                                                           float p[ROWS_AT_ONCE][PART],
                                                           float d_softcap[ROWS_AT_ONCE][PART])
{
    const struct term_rows *rows = of->rows;
    const struct product_rows scores = take_rows(&of->score, first);
#pragma GCC unroll 8
    for (int i = 0; i < ROWS_AT_ONCE; i++) {
        int64_t row = first + i;
        const float *bias = rows && rows->bias ? rows->bias + row * rows->bias_row : NULL;
        __m512 halves[2] = {scores.low[i], scores.high[i]}, slope;
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            halves[half] = p_of(halves[half], bias ? bias + half * 16 : NULL, of->of_query.log_sum_exp[half],
                                of->softcap, &slope);
            if (of->visible)
                halves[half] =
                    _mm512_maskz_mov_ps((__mmask16)(of->visible[row] >> (16 * half)), halves[half]);
            _mm512_storeu_ps(p[i] + half * 16, halves[half]);
            _mm512_storeu_ps(d_softcap[i] + half * 16, slope);
            if (rows && rows->w)
                _mm512_storeu_ps(rows->w + row * PART + half * 16, halves[half]);
        }
        _mm512_storeu_si512(of->p + row * PART, narrow_two(halves[0], halves[1]));
    }
}

/* ds of the same keys. */
static inline __attribute__((always_inline)) void derive_ds(const struct derivation *of, int64_t first,
                                                            float p[ROWS_AT_ONCE][PART],
                                                            float d_softcap[ROWS_AT_ONCE][PART])
{
    const struct term_rows *rows = of->rows;
    const struct product_rows dp = take_rows(&of->dp, first);
    __m512i words[ROWS_AT_ONCE];
#pragma GCC unroll 8
    for (int i = 0; i < ROWS_AT_ONCE; i++) {
        int64_t row = first + i;
        __m512 ds[2] = {dp.low[i], dp.high[i]};
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            if (rows && rows->product)
                ds[half] = _mm512_add_ps(
                    ds[half], _mm512_loadu_ps(rows->product + row * rows->product_row + half * 16));
            ds[half] = _mm512_mul_ps(_mm512_loadu_ps(p[i] + half * 16),
                                     _mm512_sub_ps(ds[half], of->of_query.delta[half]));
            if (of->visible)
                ds[half] = _mm512_maskz_mov_ps((__mmask16)(of->visible[row] >> (16 * half)), ds[half]);
            if (rows && rows->ds_score)
                _mm512_storeu_ps(rows->ds_score + row * DS_ROW + half * 16, ds[half]);
            if (of->softcap > 0)
                ds[half] = _mm512_mul_ps(ds[half], _mm512_loadu_ps(d_softcap[i] + half * 16));
        }
        words[i] = narrow_two(ds[0], ds[1]);
        _mm512_storeu_si512(of->ds + row * PART, words[i]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < ROWS_AT_ONCE; i += 2) {
        uint16_t *pairs = of->ds_pairs + (first + i) / 2 * 32;
        _mm512_storeu_si512(pairs, v_alternate_low(words[i], words[i + 1]));
        _mm512_storeu_si512(pairs + TILE, v_alternate_high(words[i], words[i + 1]));
    }
}

/* A few rows of each product at a time, so that the next run beside the exponentials. */
static inline __attribute__((always_inline)) void derive(const struct derivation *of)
{
    float p[ROWS_AT_ONCE][PART], d_softcap[ROWS_AT_ONCE][PART];
    for (int64_t first = 0; first < PART; first += ROWS_AT_ONCE) {
        derive_p(of, first, p, d_softcap);
        derive_ds(of, first, p, d_softcap);
    }
}

#endif
