/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches of rotated keys and values: new tokens are appended, sequences are reordered, tokens are removed.
 */
#include "cuda/attention/attention_launch.h"
#include "cuda/attention/attention_stream.h"
#include "cuda/launch.h"

/* to = from, rotated: the lanes of a warp have its channels. */
template <typename T>
static __device__ __forceinline__ void rotate_vector(T *to, const T *from, const rotation_row &angles,
                                                     int64_t channels)
{
    for (int channel = lane_of_thread(); channel < channels; channel += WARP)
        to[channel] =
            from_float<T>(rotated_channel(angles, 1.0f, channel, [&](int c) { return to_float(from[c]); }));
}

/* ---- New tokens. ---- */

/* Token blockIdx.x of sequence blockIdx.y; its warps take the heads of keys, then those of values. */
template <typename T>
__global__ void __launch_bounds__(THREADS) cache_append_kernel(const __grid_constant__ cache_append append)
{
    const int64_t token = blockIdx.x, b = blockIdx.y, length = append.lengths[b],
                  row = (length + token) % append.capacity;
    for (int64_t at = warp_of_thread(); at < append.caches * append.heads; at += WARPS) {
        const int which = at >= append.heads;
        const int64_t head = at % append.heads;
        rotate_vector(vector_of<T>(append.to[which], b, row, head),
                      vector_of<T>(append.from[which], b, token, head),
                      rotation_row_of(append.rotation[which], b * append.tokens + token, length + token),
                      append.head_dim);
    }
}

rotary_status cuda_append_rows(const struct backend *backend, const struct cache_append *append,
                               rotary_error *error)
{
    const cuda_launch launch = {"cache_append", dim3((unsigned)append->tokens, (unsigned)append->batch),
                                THREADS, 0};
    return append->bf16 ? cuda_run(backend, launch, error, cache_append_kernel<bf16>, *append)
                        : cuda_run(backend, launch, error, cache_append_kernel<float>, *append);
}

/* ---- Sequences that move. ---- */

/* The rows of a source that hold tokens: 0 ... rows - 1. */
static __device__ __forceinline__ int64_t held_rows(const cache_reorder &reorder, int64_t source)
{
    return reorder.lengths ? smaller(reorder.lengths[source], reorder.capacity) : reorder.capacity;
}

/* A warp has 32 channels of a row and head of all sequences. It keeps those that move in shared memory, so that
 * no source is overwritten before it is read; a lane reads back only what it kept. */
template <typename T>
__global__ void __launch_bounds__(WARP) cache_reorder_kernel(const __grid_constant__ cache_reorder reorder)
{
    const int64_t row = blockIdx.x, head = blockIdx.y;
    const int lane = lane_of_thread(), channel = (int)(blockIdx.z / reorder.caches) * WARP + lane;
    const rotary_attention_view &cache = reorder.cache[blockIdx.z % reorder.caches];
    const shared_array<T> kept = shared_at<T>(0, reorder.batch * WARP);
    if (channel >= reorder.head_dim)
        return;
    for (int64_t b = 0; b < reorder.batch; b++) {
        const int64_t source = reorder.source[b];
        if (source != b && row < held_rows(reorder, source))
            kept[b * WARP + lane] = vector_of<T>(cache, source, row, head)[channel];
    }
    for (int64_t b = 0; b < reorder.batch; b++) {
        const int64_t source = reorder.source[b];
        if (source != b && row < held_rows(reorder, source))
            vector_of<T>(cache, b, row, head)[channel] = kept[b * WARP + lane];
    }
}

rotary_status cuda_reorder_rows(const struct backend *backend, const struct cache_reorder *reorder,
                                rotary_error *error)
{
    const dim3 grid((unsigned)reorder->rows, (unsigned)reorder->heads,
                    reorder->caches * cuda_blocks(reorder->head_dim, WARP));
    const size_t bytes = (size_t)reorder->batch * WARP * (reorder->bf16 ? sizeof(bf16) : sizeof(float));
    return reorder->bf16 ? cuda_run(backend, {"cache_reorder", grid, WARP, bytes}, error,
                                    cache_reorder_kernel<bf16>, *reorder)
                         : cuda_run(backend, {"cache_reorder", grid, WARP, bytes}, error,
                                    cache_reorder_kernel<float>, (*reorder));
}

/* ---- Tokens that leave. ---- */

/* A warp moves the rows of head blockIdx.x of sequence blockIdx.y down, the first of them first. */
template <typename T>
__global__ void __launch_bounds__(WARP) cache_shift_kernel(const __grid_constant__ cache_shift shift)
{
    const int64_t head = blockIdx.x, b = blockIdx.y, keep = shift.keep[b], discard = shift.discard[b],
                  left = shift.lengths[b] - discard;
    const rotary_attention_view &cache = shift.cache[blockIdx.z];
    const rotation_row angles = rotation_row_of(shift.rotation[blockIdx.z], b, b);
    for (int64_t row = keep; discard > 0 && row < left; row++) {
        rotate_vector<T>(vector_of<T>(cache, b, row, head), vector_of<T>(cache, b, row + discard, head),
                         angles, shift.head_dim);
        __syncwarp(); /* the next row may overwrite what other lanes read of this one */
    }
}

rotary_status cuda_shift_rows(const struct backend *backend, const struct cache_shift *shift,
                              rotary_error *error)
{
    const dim3 grid((unsigned)shift->heads, (unsigned)shift->batch, shift->caches);
    const cuda_launch launch = {"cache_shift", grid, WARP, 0};
    return shift->bf16 ? cuda_run(backend, launch, error, cache_shift_kernel<bf16>, *shift)
                       : cuda_run(backend, launch, error, cache_shift_kernel<float>, *shift);
}
