/* SPDX-License-Identifier: Apache-2.0
 *
 * What forward and both backward passes have in common: rows that stay, tiles of rows that pass by two at a
 * time while the next two are on their way, and sums that are rotated back as they are stored.
 */
#ifndef ROTARY_CUDA_ATTENTION_ATTENTION_STREAM_H
#define ROTARY_CUDA_ATTENTION_ATTENTION_STREAM_H

#include "cuda/attention/attention_scores.h"
#include "cuda/attention/attention_tile.h"

/* Shared memory: STAYING tiles of 16 MS rows a warp, then two stages of two tiles of 8 NS rows. Sums are
 * staged over all of it when the last tile has passed. */
template <typename T, int WIDTH, int MS, int NS, int STAYING>
struct tile_memory {
    enum {
        ROWS = 16 * MS * WARPS,
        COLUMNS = 8 * NS,
        STRIDE = tile_row<T, WIDTH>::STRIDE,
        STAGED_STRIDE = WIDTH + 4,
        TILES = (STAYING * ROWS + 4 * COLUMNS) * STRIDE * (int)sizeof(T),
        STAGED = ROWS * STAGED_STRIDE * (int)sizeof(float),
        BYTES = TILES > STAGED ? TILES : STAGED
    };

    static __device__ __forceinline__ shared_array<T> staying(int which)
    {
        return shared_at<T>(which * ROWS * STRIDE * sizeof(T), ROWS * STRIDE);
    }

    /* The rows of a warp in it. */
    static __device__ __forceinline__ shared_array<const T> of_warp(int which)
    {
        return staying(which) + warp_of_thread() * 16 * MS * STRIDE;
    }

    static __device__ __forceinline__ shared_array<T> passing(int stage, int which)
    {
        return shared_at<T>((STAYING * ROWS + (2 * stage + which) * COLUMNS) * STRIDE * sizeof(T),
                            COLUMNS * STRIDE);
    }

    /* To be read. */
    static __device__ __forceinline__ shared_array<const T> passed(int stage, int which)
    {
        return passing(stage, which);
    }

    static __device__ __forceinline__ shared_array<float> staged(void)
    {
        return shared_at<float>(warp_of_thread() * 16 * MS * STAGED_STRIDE * sizeof(float),
                                16 * MS * STAGED_STRIDE);
    }
};

/* Calls load(stage, first) and then step(stage, first) for each tile of `columns` rows of a range. Copies that
 * the caller began before are complete too when the first step begins, or when this returns. */
template <class LOAD, class STEP>
static __device__ __forceinline__ void each_tile(const range &rows, int columns, LOAD load, STEP step)
{
    int stage = 0;
    if (rows.begin < rows.end)
        load(0, rows.begin);
    copy_async_commit();
    for (int64_t first = rows.begin; first < rows.end; first += columns) {
        if (first + columns < rows.end)
            load(1 - stage, first + columns);
        copy_async_commit();
        copy_async_wait<1>();
        __syncthreads();
        step(stage, first);
        __syncthreads();
        stage = 1 - stage;
    }
    copy_async_wait<0>();
    __syncthreads();
}

/* Puts the sums of a warp into shared memory, where any of its lanes finds any of them. */
template <class MEMORY, int MS, int NS>
static __device__ __forceinline__ void stage_sums(const float (&c)[MS][NS][4])
{
    const shared_array<float> staged = MEMORY::staged();
    __syncwarp();
    each_element<MS, NS>([&](int i, int j, int e) {
        staged[fragment_row(i, e) * MEMORY::STAGED_STRIDE + fragment_column(j, e)] = c[i][j][e];
    });
    __syncwarp();
}

/* Stores `factor` times staged row `row` of the warp, rotated back, and `more` (NULL: nothing). */
template <class MEMORY, typename T>
static __device__ __forceinline__ void store_row(T *to, const rotation_row &angles, int row, float factor,
                                                 const float *more, int64_t channels)
{
    const shared_array<float> staged = MEMORY::staged() + row * MEMORY::STAGED_STRIDE;
    for (int channel = lane_of_thread(); channel < channels; channel += WARP) {
        const float value =
            factor * rotated_channel(angles, -1.0f, channel, [&](int c) { return (float)staged[c]; });
        to[channel] = from_float<T>(more ? value + more[channel] : value);
    }
}

/* The rows of a thread block, of which there may be none: blockIdx.x counts the blocks of `rows` of the longest sequence, the last first,
 * in which a causal mask leaves the most to do; then sequences. */
struct block_of_rows {
    int64_t sequence, first;
};

static __device__ __forceinline__ block_of_rows block_of(int64_t longest, int rows)
{
    const int64_t blocks = larger(1, (longest + rows - 1) / rows);
    return {(int64_t)blockIdx.x / blocks, (blocks - 1 - (int64_t)blockIdx.x % blocks) * rows};
}

#endif
