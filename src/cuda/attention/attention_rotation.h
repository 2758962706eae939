/* SPDX-License-Identifier: Apache-2.0
 *
 * One channel of a rotated vector. Whoever loads or stores a row asks for its channels one by one, so there is
 * one text for all pairings, spans and directions.
 */
#ifndef ROTARY_CUDA_ATTENTION_ATTENTION_ROTATION_H
#define ROTARY_CUDA_ATTENTION_ATTENTION_ROTATION_H

#include "cuda/attention/attention_sequence.h"

/* The cosines and sines of a token, NULL where there is no rotation. */
struct rotation_row {
    const float *cosine, *sine;
    int start, pairs;
    bool interleaved;
};

/* `place` is that of the token in the tensor [batch, time]. */
static __device__ __forceinline__ rotation_row rotation_row_of(const cuda_attention_rotation &rotation,
                                                               int64_t place, int64_t position)
{
    rotation_row row = {nullptr, nullptr, rotation.start, rotation.pairs, rotation.interleaved};
    if (rotation.cosine) {
        const int64_t at =
            (rotation.rows ? rotation.rows[place] : position - rotation.origin) * rotation.row_stride;
        row.cosine = rotation.cosine + at;
        row.sine = rotation.sine + at;
    }
    return row;
}

/* Channel `channel` of R x, or of R^T x with a direction of -1; load(c) is channel c of x. */
template <class LOAD>
static __device__ __forceinline__ float rotated_channel(const rotation_row &row, float direction, int channel,
                                                        LOAD load)
{
    const int in_span = channel - row.start, pairs = row.pairs;
    if (!row.cosine || in_span < 0 || in_span >= 2 * pairs)
        return load(channel);
    const bool second = row.interleaved ? in_span % 2 : in_span >= pairs;
    const int pair = row.interleaved ? in_span / 2 : in_span - (second ? pairs : 0),
              step = row.interleaved ? 1 : pairs;
    const float cosine = row.cosine[pair], sine = direction * row.sine[pair], x = load(channel);
    return second ? fmaf(load(channel - step), sine, x * cosine)
                  : fmaf(-load(channel + step), sine, x * cosine);
}

/* The vector of a token and head in a view. */
template <typename T>
static __device__ __forceinline__ const T *vector_of(const rotary_attention_const_view &view, int64_t batch,
                                                     int64_t time, int64_t head)
{
    return (const T *)view.data + batch * view.batch_stride + time * view.time_stride +
           head * view.head_stride;
}

template <typename T>
static __device__ __forceinline__ T *vector_of(const rotary_attention_view &view, int64_t batch, int64_t time,
                                               int64_t head)
{
    return (T *)view.data + batch * view.batch_stride + time * view.time_stride + head * view.head_stride;
}

#endif
