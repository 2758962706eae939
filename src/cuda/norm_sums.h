/* SPDX-License-Identifier: Apache-2.0
 *
 * What norms of rows and of heads share: moments of a row, and the gradients of gain and bias, which are
 * summed for NORM_ROWS rows in a block and then over the blocks in their order.
 */
#ifndef ROTARY_CUDA_NORM_SUMS_H
#define ROTARY_CUDA_NORM_SUMS_H

#include "cuda/device.h"
#include "cuda/launch.h"

enum { NORM_ROWS = 16 };

struct norm_moments {
    float mean, rstd;
};

/* The moments of a row in shared memory, where each thread has written its own columns; `sum` is the thread's. */
__device__ inline norm_moments block_moments(shared_array<float> x, int64_t width, bool centred, float sum,
                                             float epsilon, shared_array<float> scratch)
{
    norm_moments moments = {0.0f, 0.0f};
    if (centred)
        moments.mean = block_sum(sum, scratch) / (float)width;
    float square = 0.0f;
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
        const float away = x[i] - moments.mean;
        square += away * away;
    }
    moments.rstd = 1.0f / sqrtf(block_sum(square, scratch) / (float)width + epsilon);
    return moments;
}

__device__ inline float normalised_value(float x, norm_moments moments, float gain, float bias)
{
    return gain * ((x - moments.mean) * moments.rstd) + bias;
}

/* Threads for a row, and shared memory for the sums of a block and `rows` rows. */
cuda_launch norm_launch(const char *name, int64_t blocks, int64_t width, int rows);

/* The rows of a block, `rows` in all: add(row, scratch, sums) adds what one has to `sums`, [2, width], which become the
 * block's part of `partial`, unless that is NULL. */
template <typename Add>
__device__ inline void sum_norm_rows(int64_t rows, int64_t width, float *partial, Add add)
{
    const int64_t first = (int64_t)blockIdx.x * NORM_ROWS, end = first + NORM_ROWS;
    shared_array<float> scratch = shared_at<float>(0, MAX_WARPS);
    shared_array<float> sums = shared_at<float>(MAX_WARPS * sizeof(float), (size_t)(2 * width));
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
        sums[i] = 0.0f;
        sums[width + i] = 0.0f;
    }
    for (int64_t row = first; row < end && row < rows; row++)
        add(row, scratch, sums);
    for (int64_t i = threadIdx.x; i < width && partial; i += blockDim.x) {
        float *own = partial + (int64_t)blockIdx.x * 2 * width;
        own[i] = sums[i];
        own[width + i] = sums[width + i];
    }
}

struct norm_gradients {
    float *d_gain, *d_bias, *partial; /* partial NULL: neither is wanted */
    int64_t blocks, width;
};

/* Memory for the sums of the blocks that have `rows` rows. */
rotary_status norm_gradients_begin(const struct backend *backend, float *d_gain, float *d_bias, int64_t rows,
                                   int64_t width, norm_gradients *gradients, rotary_error *error);
/* d_gain += and d_bias += the sums. */
rotary_status norm_gradients_end(const struct backend *backend, const norm_gradients *gradients,
                                 rotary_error *error);

#endif
