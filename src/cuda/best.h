/* SPDX-License-Identifier: Apache-2.0
 *
 * The largest of a row of logits, and logits under a softcap.
 */
#ifndef ROTARY_CUDA_BEST_H
#define ROTARY_CUDA_BEST_H

#include "cuda/device.h"

struct best {
    float value;
    int index;
};

/* The larger one, of equals the first. */
__device__ inline best better(best a, best b)
{
    return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

/* Over the block; scratch as in block_sum. */
__device__ inline best block_best(best mine, shared_array<float> values, shared_array<int> indices)
{
    const unsigned warp = threadIdx.x / WARP;
    for (int bits = WARP / 2; bits > 0; bits /= 2) {
        best other;
        other.value = __shfl_xor_sync(WHOLE_WARP, mine.value, bits);
        other.index = __shfl_xor_sync(WHOLE_WARP, mine.index, bits);
        mine = better(mine, other);
    }
    if (threadIdx.x % WARP == 0) {
        values[warp] = mine.value;
        indices[warp] = mine.index;
    }
    __syncthreads();
    for (unsigned i = 0; i < blockDim.x / WARP; i++)
        mine = better(mine, best{values[i], indices[i]});
    __syncthreads();
    return mine;
}

__device__ inline float capped(float x, float cap)
{
    return cap > 0.0f ? cap * tanhf(x / cap) : x;
}

#endif
