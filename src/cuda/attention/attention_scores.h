/* SPDX-License-Identifier: Apache-2.0
 *
 * The score of one query and key from the product of their vectors, and the factor of its weight: softcap, the
 * score terms, dropout. Whoever has a tile asks for its elements one by one; what most problems lack is apart,
 * so that a tile without it is a few instructions an element.
 */
#ifndef ROTARY_CUDA_ATTENTION_ATTENTION_SCORES_H
#define ROTARY_CUDA_ATTENTION_ATTENTION_SCORES_H

#include "cuda/attention/attention_rotation.h"
#include "cuda/dropout_mask.h"

/* A bias of this or less hides a key. */
#define ATTENTION_MASKED (-1e30f)
#define LOG2_E           1.44269504f

/* One query and key of a query head. */
struct element {
    int64_t head, query, key;
};

struct score {
    float value; /* -infinity: hidden */
    float slope; /* the derivative of the softcap */
};

static __device__ __forceinline__ int64_t clipped(int64_t entry, int64_t count)
{
    return entry < 0 ? 0 : entry > count - 1 ? count - 1 : entry;
}

/* n - m by position. */
static __device__ __forceinline__ int64_t distance_of(const sequence &s, const element &at)
{
    return at.key - at.query - s.query_offset;
}

/* exp(x) where weights are of type T: rounding to bf16 hides the error of the product. */
template <typename T>
static __device__ __forceinline__ float exponential(float x)
{
    return sizeof(T) == sizeof(bf16) ? exp2f(x * LOG2_E) : expf(x);
}

/* ---- Score terms. ---- */

/* The vector of a table by distance. */
static __device__ __forceinline__ const float *distance_vector(const rotary_attention_distance_vectors &table,
                                                               const sequence &s, const element &at)
{
    const int64_t entry = clipped(distance_of(s, at) - table.first, table.distances);
    return table.data + at.head * table.head_stride + entry * table.distance_stride;
}

/* Where of a head's segments, inputs and scales a query and key are. */
struct piece {
    int64_t segment, input, scale;
    float x;
};

static __device__ inline piece piece_of(const rotary_attention_piecewise_bias &bias, const sequence &s,
                                        const element &at)
{
    piece piece;
    piece.input = clipped(distance_of(s, at) - bias.first, bias.distances);
    piece.scale = clipped(s.first_query + at.query, bias.positions);
    piece.x = bias.distance_inputs[piece.input] * bias.query_scales[piece.scale];
    int64_t begin = 0, end = bias.segments - 1;
    while (begin < end) {
        const int64_t middle = (begin + end) / 2;
        if (bias.knots[middle] <= piece.x)
            begin = middle + 1;
        else
            end = middle;
    }
    piece.segment = at.head * bias.segments + begin;
    return piece;
}

/* The biases of a query and key; -infinity hides the key. */
static __device__ inline float biases_of(const cuda_attention &problem, const sequence &s, const element &at)
{
    float sum = 0.0f;
    if (problem.bias.data) {
        const rotary_attention_bias &bias = problem.bias;
        const float entry = bias.data[s.batch * bias.batch_stride + at.head * bias.head_stride +
                                      (s.query + at.query) * bias.query_stride + s.bias_key + at.key];
        sum = entry <= ATTENTION_MASKED ? -INFINITY : entry;
    }
    if (problem.distance_bias.data) {
        const rotary_attention_distance_bias &bias = problem.distance_bias;
        const float entry =
            bias.data[at.head * bias.head_stride + clipped(distance_of(s, at) - bias.first, bias.distances)];
        sum = entry <= ATTENTION_MASKED ? -INFINITY : sum + entry;
    }
    if (problem.piecewise_bias.intercepts) {
        const piece piece = piece_of(problem.piecewise_bias, s, at);
        sum += fmaf(problem.piecewise_bias.slopes[piece.segment], piece.x,
                    problem.piecewise_bias.intercepts[piece.segment]);
    }
    return sum;
}

/* A key that is not rotated: plans that rotate keys refuse distance_queries in a cache. */
template <typename T>
static __device__ const T *plain_key(const cuda_attention &problem, const sequence &s, const element &at)
{
    const int64_t head = at.head / (problem.heads / problem.key_value_heads);
    return problem.lengths
               ? vector_of<T>(problem.key, s.batch, (s.ring_first + at.key) % problem.capacity, head)
               : vector_of<T>(problem.key, s.batch, s.key + at.key, head);
}

/* scale (q + b) . A + scale k . B. */
template <typename T>
static __device__ float vectors_of(const cuda_attention &problem, const sequence &s, const element &at)
{
    float sum = 0.0f;
    if (problem.distance_keys.data) {
        const float *vector = distance_vector(problem.distance_keys, s, at),
                    *bias = problem.query_bias ? problem.query_bias + at.head * problem.head_dim : nullptr;
        const T *query = vector_of<T>(problem.query, s.batch, s.query + at.query, at.head);
        for (int64_t i = 0; i < problem.head_dim; i++)
            sum = fmaf(to_float(query[i]) + (bias ? bias[i] : 0.0f), vector[i], sum);
    }
    if (problem.distance_queries.data) {
        const float *vector = distance_vector(problem.distance_queries, s, at);
        const T *key = plain_key<T>(problem, s, at);
        for (int64_t i = 0; i < problem.head_dim; i++)
            sum = fmaf(to_float(key[i]), vector[i], sum);
    }
    return problem.scale * sum;
}

/* Kernels of PLAIN_WORK are for problems whose scores are products alone, and weights what the softmax makes
 * them; those of ALL_WORK have smaller tiles, because calls need registers. */
enum work { PLAIN_WORK, ALL_WORK };

static inline bool is_plain(const cuda_attention &problem)
{
    return problem.softcap == 0.0f && !problem.bias.data && !problem.distance_bias.data &&
           !problem.piecewise_bias.intercepts && !problem.distance_keys.data &&
           !problem.distance_queries.data && problem.dropout.threshold == 0 && !problem.distance_values.data;
}

/* The score of a query and a key that it sees, whose rotated vectors have this product. */
template <typename T>
static __device__ __noinline__ score score_of(const cuda_attention &problem, const sequence &s,
                                              const element &at, float product)
{
    score score = {product * problem.scale, 1.0f};
    if (problem.softcap > 0.0f) {
        const float capped = tanhf(score.value / problem.softcap);
        score.value = problem.softcap * capped;
        score.slope = (1.0f - capped) * (1.0f + capped);
    }
    score.value += biases_of(problem, s, at) + vectors_of<T>(problem, s, at);
    return score;
}

/* ---- Dropout. ---- */

/* What a weight is multiplied by. The mask is that of kernel/attention/dropout_term.c: block (n / 32 * 16 + n %
 * 16, m / 4) has in half n / 16 % 2 of word m % 4 the bits of query m and key n. */
static __device__ __noinline__ float dropout_factor(const cuda_attention &problem, const sequence &s,
                                                    const element &at)
{
    if (problem.dropout.threshold == 0)
        return 1.0f;
    uint32_t seed[4] = {(uint32_t)s.number, (uint32_t)((uint64_t)s.number >> 32),
                        ROTARY_STREAM_ATTENTION_DROPOUT, (uint32_t)at.head},
             bits[4] = {(uint32_t)(at.key / 32 * 16 + at.key % 16), (uint32_t)(at.query / 4),
                        ROTARY_STREAM_ATTENTION_DROPOUT, 0};
    philox_rounds(seed, problem.dropout.seed);
    philox_rounds(bits, seed[0] | (uint64_t)seed[1] << 32);
    const int row = (int)(at.query % 4);
    const uint32_t word = row == 0   ? bits[0]
                          : row == 1 ? bits[1]
                          : row == 2 ? bits[2]
                                     : bits[3],
                   half = at.key / 16 % 2 ? word >> 16 : word & 0xffffu;
    return half < problem.dropout.threshold ? 0.0f : problem.dropout.scale;
}

/* ---- Backward. ---- */

/* What the backward pass makes of an element. */
struct weight_gradient {
    float weight;  /* of the value: p, and dropout's factor */
    float score;   /* ds, without the softcap's derivative */
    float product; /* with it */
};

/* A row of the saved log-sum-exp, and dout . out. */
struct saved_row {
    float log_sum_exp, delta;
};

/* Those of queries from `first` on, which is one. */
struct saved_rows {
    const float *log_sum_exp, *delta;
    int last;
};

static __device__ __forceinline__ saved_rows saved_rows_of(const cuda_attention &problem, const sequence &s,
                                                           int64_t head, int64_t first)
{
    const int64_t at = head_row(problem, s, head) + first;
    return {problem.log_sum_exp + at, problem.delta + at, (int)smaller(s.queries - 1 - first, INT32_MAX)};
}

/* Row `row` of them, or the last one. */
static __device__ __forceinline__ saved_row saved_row_at(const saved_rows &rows, int row)
{
    const int at = row < rows.last ? row : rows.last;
    return {rows.log_sum_exp[at], rows.delta[at]};
}

/* A query and a key that it sees have these. dp is g . (U v + V). */
template <typename T>
static __device__ weight_gradient weight_gradient_of(const cuda_attention &problem, const sequence &s,
                                                     const element &at, const saved_row &row, float product,
                                                     float dp)
{
    const score score = score_of<T>(problem, s, at, product);
    if (score.value == -INFINITY)
        return {0.0f, 0.0f, 0.0f};
    const float p = exponential<T>(score.value - row.log_sum_exp), factor = dropout_factor(problem, s, at),
                ds = p * fmaf(dp, factor, -row.delta);
    return {p * factor, ds, ds * score.slope};
}

#endif
