/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels are written with: elements of the storage types, sums over a warp and a block, shared memory.
 *
 * A kernel uses dynamic shared memory alone, through shared_array, so that the emulation of a device
 * (tests/support/cuda_emulated) sees every access to it. It uses no atomics: results have the same bits each
 * time. It waits by __syncthreads and __syncwarp, with all threads of the block or the warp.
 */
#ifndef ROTARY_CUDA_DEVICE_H
#define ROTARY_CUDA_DEVICE_H

#include <cuda_runtime.h>
#include <stdint.h>

enum { WARP = 32, MAX_WARPS = 32 };
#define WHOLE_WARP 0xffffffffu

/* ---- Shared memory. ---- */

#ifdef __CUDACC__
template <typename T>
using shared_array = T *;

/* `count` elements, `offset` bytes from the beginning of the block's. */
template <typename T>
__device__ inline shared_array<T> shared_at(size_t offset, size_t count)
{
    extern __shared__ __align__(128) unsigned char shared_memory_of_block[];
    (void)count;
    return reinterpret_cast<T *>(shared_memory_of_block + offset);
}
#else
#include <emulated_shared.h> /* the same names */
#endif

/* ---- Elements of tensors. ---- */

/* It is what base/half.h has: the upper half of an f32. */
struct bf16 {
    uint16_t bits;
};

__device__ inline float to_float(float x)
{
    return x;
}

__device__ inline float to_float(bf16 x)
{
    return __uint_as_float((uint32_t)x.bits << 16);
}

/* Rounds to nearest even. */
template <typename T>
__device__ inline T from_float(float x);

template <>
__device__ inline float from_float<float>(float x)
{
    return x;
}

template <>
__device__ inline bf16 from_float<bf16>(float x)
{
    const uint32_t bits = __float_as_uint(x);
    bf16 rounded;
    rounded.bits = (bits & 0x7fffffffu) > 0x7f800000u
                       ? (uint16_t)(bits >> 16 | 0x40u)
                       : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    return rounded;
}

/* ---- Sums and maxima: each thread gets the result. The order is that of a tree over the lanes. ---- */

struct add_numbers {
    template <typename T>
    __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};

struct larger_number {
    __device__ float operator()(float a, float b) const
    {
        return fmaxf(a, b);
    }
};

template <typename T, typename Combine>
__device__ inline T warp_reduce(T x, Combine combine)
{
    for (int bits = WARP / 2; bits > 0; bits /= 2)
        x = combine(x, __shfl_xor_sync(WHOLE_WARP, x, bits));
    return x;
}

template <typename T>
__device__ inline T warp_sum(T x)
{
    return warp_reduce(x, add_numbers());
}

/* Over a block of whole warps, in one dimension. `scratch` has MAX_WARPS elements that nothing else uses; all
 * threads are done with it when this returns. */
template <typename T, typename Combine>
__device__ inline T block_reduce(T x, shared_array<T> scratch, Combine combine)
{
    const unsigned warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    x = warp_reduce(x, combine);
    if (threadIdx.x % WARP == 0)
        scratch[warp] = x;
    __syncthreads();
    T all = scratch[0];
    for (unsigned i = 1; i < warps; i++)
        all = combine(all, (T)scratch[i]);
    __syncthreads();
    return all;
}

template <typename T>
__device__ inline T block_sum(T x, shared_array<T> scratch)
{
    return block_reduce(x, scratch, add_numbers());
}

__device__ inline float block_max(float x, shared_array<float> scratch)
{
    return block_reduce(x, scratch, larger_number());
}

#endif
