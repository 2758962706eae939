/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles: rows of vectors in shared memory, and the two products that attention is made of, for bf16 by mma and
 * for f32 by fused multiply-adds. Sums are fragments of a warp, spread over its lanes as C of m16n8k16 is
 * (cuda/ptx.h), for both types: so what is done to scores and sums is one text.
 *
 * A warp has 16 MS rows. c[i][j][e] of a lane is the sum of row 16 i + g + 8 (e / 2) and column 8 j + 2 t +
 * e % 2, with g = lane / 4 and t = lane % 4.
 */
#ifndef ROTARY_CUDA_ATTENTION_ATTENTION_TILE_H
#define ROTARY_CUDA_ATTENTION_ATTENTION_TILE_H

#include "cuda/attention/attention_rotation.h"
#include "cuda/ptx.h"

enum { WARPS = 4, THREADS = WARP * WARPS };

static __device__ __forceinline__ int lane_of_thread(void)
{
    return (int)(threadIdx.x % WARP);
}

static __device__ __forceinline__ int warp_of_thread(void)
{
    return (int)(threadIdx.x / WARP);
}

/* The row and the column of element e of fragment (i, j), from the first ones of the warp on. */
static __device__ __forceinline__ int fragment_row(int i, int e)
{
    return 16 * i + lane_of_thread() / 4 + 8 * (e / 2);
}

static __device__ __forceinline__ int fragment_column(int j, int e)
{
    return 8 * j + 2 * (lane_of_thread() % 4) + e % 2;
}

/* The sum, and the largest, over the four lanes that share the rows of a fragment; the same bits in each. */
static __device__ __forceinline__ float quad_sum(float value)
{
    value += __shfl_xor_sync(WHOLE_WARP, value, 1);
    return value + __shfl_xor_sync(WHOLE_WARP, value, 2);
}

static __device__ __forceinline__ float quad_max(float value)
{
    value = fmaxf(value, __shfl_xor_sync(WHOLE_WARP, value, 1));
    return fmaxf(value, __shfl_xor_sync(WHOLE_WARP, value, 2));
}

template <int MS, int NS>
static __device__ __forceinline__ void clear(float (&c)[MS][NS][4])
{
#pragma unroll
    for (int i = 0; i < MS; i++)
#pragma unroll
        for (int j = 0; j < NS; j++)
            c[i][j][0] = c[i][j][1] = c[i][j][2] = c[i][j][3] = 0.0f;
}

/* Calls visit(i, j, e) for the elements of a lane's fragments. */
template <int MS, int NS, class VISIT>
static __device__ __forceinline__ void each_element(VISIT visit)
{
#pragma unroll
    for (int i = 0; i < MS; i++)
#pragma unroll
        for (int j = 0; j < NS; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                visit(i, j, e);
}

/* Rows of WIDTH channels. A row is 16 bytes longer, so that neither the eight rows of a matrix nor the columns
 * of a fragment share banks. */
template <typename T, int WIDTH>
struct tile_row {
    enum { CHUNK = 16 / (int)sizeof(T), STRIDE = WIDTH + CHUNK };
};

/* ---- Products of bf16. ---- */

/* c[MS][NS] += A B^T of rows a of the warp and 8 NS rows b. */
template <int WIDTH, int MS, int NS>
static __device__ __forceinline__ void add_scores(float (&c)[MS][NS][4], shared_array<const bf16> a,
                                                  shared_array<const bf16> b)
{
    /* Of more steps at a time, matrices loaded in advance take registers that sums need. */
    enum { STRIDE = tile_row<bf16, WIDTH>::STRIDE, STEPS = MS > 1 ? WIDTH / 16 : 4 };
    const int lane = lane_of_thread();
    const shared_array<const bf16> a_row = a + (lane % 16 * STRIDE + lane / 16 * 8),
                                   b_row = b + ((lane / 16 * 8 + lane % 8) * STRIDE + lane / 8 % 2 * 8);
#pragma unroll STEPS
    for (int k = 0; k < WIDTH; k += 16) {
        uint32_t left[MS][4];
#pragma unroll
        for (int i = 0; i < MS; i++)
            warp_load_matrices(left[i], a_row + (16 * i * STRIDE + k));
#pragma unroll
        for (int j = 0; j < NS; j += 2) {
            uint32_t right[4];
            warp_load_matrices(right, b_row + (8 * j * STRIDE + k));
#pragma unroll
            for (int i = 0; i < MS; i++) {
                warp_mma(c[i][j], left[i], right);
                warp_mma(c[i][j + 1], left[i], right + 2);
            }
        }
    }
}

/* The weights of columns 8 k ... 8 k + 15, rounded to bf16: C of one product is A of the next. */
template <int NS>
static __device__ __forceinline__ void round_weights(uint32_t (&a)[4], const float (&w)[NS][4], int k)
{
    a[0] = bf16_pair(w[k][0], w[k][1]);
    a[1] = bf16_pair(w[k][2], w[k][3]);
    a[2] = bf16_pair(w[k + 1][0], w[k + 1][1]);
    a[3] = bf16_pair(w[k + 1][2], w[k + 1][3]);
}

/* c[MS][WIDTH / 8] += W B of weights w and 8 NS rows b. */
template <int WIDTH, int MS, int NS>
static __device__ __forceinline__ void add_vectors(float (&c)[MS][WIDTH / 8][4], const float (&w)[MS][NS][4],
                                                   shared_array<const bf16> b)
{
    enum { STRIDE = tile_row<bf16, WIDTH>::STRIDE };
    const int lane = lane_of_thread();
    const shared_array<const bf16> b_row = b + (lane % 16 * STRIDE + lane / 16 * 8);
#pragma unroll
    for (int k = 0; k < NS; k += 2) {
        uint32_t left[MS][4];
#pragma unroll
        for (int i = 0; i < MS; i++)
            round_weights(left[i], w[i], k);
#pragma unroll
        for (int j = 0; j < WIDTH / 8; j += 2) {
            uint32_t right[4];
            warp_load_transposed(right, b_row + (8 * k * STRIDE + 8 * j));
#pragma unroll
            for (int i = 0; i < MS; i++) {
                warp_mma(c[i][j], left[i], right);
                warp_mma(c[i][j + 1], left[i], right + 2);
            }
        }
    }
}

/* ---- The same of f32. ---- */

/* c += the product of two numbers of its rows, and two of its columns. */
static __device__ __forceinline__ void add_products(float (&c)[4], float upper, float lower, float left,
                                                    float right)
{
    c[0] = fmaf(upper, left, c[0]);
    c[1] = fmaf(upper, right, c[1]);
    c[2] = fmaf(lower, left, c[2]);
    c[3] = fmaf(lower, right, c[3]);
}

template <int WIDTH, int MS, int NS>
static __device__ __forceinline__ void add_scores(float (&c)[MS][NS][4], shared_array<const float> a,
                                                  shared_array<const float> b)
{
    enum { STRIDE = tile_row<float, WIDTH>::STRIDE };
#pragma unroll 4
    for (int k = 0; k < WIDTH; k++)
#pragma unroll
        for (int i = 0; i < MS; i++) {
            const float upper = a[fragment_row(i, 0) * STRIDE + k],
                        lower = a[fragment_row(i, 2) * STRIDE + k];
#pragma unroll
            for (int j = 0; j < NS; j++)
                add_products(c[i][j], upper, lower, b[fragment_column(j, 0) * STRIDE + k],
                             b[fragment_column(j, 1) * STRIDE + k]);
        }
}

/* A weight of a row is with one of the four lanes that share it. */
template <int WIDTH, int MS, int NS>
static __device__ __forceinline__ void add_vectors(float (&c)[MS][WIDTH / 8][4], const float (&w)[MS][NS][4],
                                                   shared_array<const float> b)
{
    enum { STRIDE = tile_row<float, WIDTH>::STRIDE };
    const int quad = lane_of_thread() / 4 * 4;
#pragma unroll
    for (int k = 0; k < 8 * NS; k++)
#pragma unroll
        for (int i = 0; i < MS; i++) {
            const int from = quad + k % 8 / 2;
            const float upper = __shfl_sync(WHOLE_WARP, w[i][k / 8][k % 2], from),
                        lower = __shfl_sync(WHOLE_WARP, w[i][k / 8][2 + k % 2], from);
#pragma unroll
            for (int j = 0; j < WIDTH / 8; j++)
                add_products(c[i][j], upper, lower, b[k * STRIDE + fragment_column(j, 0)],
                             b[k * STRIDE + fragment_column(j, 1)]);
        }
}

/* ---- Loads. ---- */

/* Where rows of vectors come from: packed rows, or those of a cache, of which key n is row (ring_first + n)
 * mod capacity. Rows from `rows` on, and channels from `channels` on, are zero and not read. */
template <typename T>
struct row_source {
    const T *first;
    int64_t stride, rows, ring_first, capacity; /* capacity 0: row n */
    int channels;
    bool aligned; /* to 16 bytes, each row and its channels */
};

template <typename T>
static __device__ __forceinline__ row_source<T> packed_source(const void *packed, int64_t at, int width)
{
    return {(const T *)packed + at, width, INT64_MAX, 0, 0, width, true};
}

/* Begins to load `count` rows from row `first` on into a tile. */
template <int WIDTH, typename T>
static __device__ void load_rows(shared_array<T> tile, const row_source<T> &source, int64_t first, int count)
{
    enum { CHUNK = tile_row<T, WIDTH>::CHUNK, STRIDE = tile_row<T, WIDTH>::STRIDE };
    for (int at = (int)threadIdx.x; at < count * (WIDTH / CHUNK); at += THREADS) {
        const int row = at / (WIDTH / CHUNK), channel = at % (WIDTH / CHUNK) * CHUNK;
        int64_t from = first + row;
        const bool exists = from < source.rows && channel < source.channels;
        if (source.capacity > 0)
            from = (source.ring_first + from) % source.capacity;
        const T *data = exists ? source.first + from * source.stride + channel : source.first;
        const shared_array<T> to = tile + (row * STRIDE + channel);
        if (source.aligned) {
            copy_async(to, data, exists ? 16 : 0);
            continue;
        }
        for (int i = 0; i < CHUNK; i++)
            to[i] = exists && channel + i < source.channels ? data[i] : T{};
    }
}

#endif
