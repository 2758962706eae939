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

/* Of a row in shared memory, of which each thread has written its own columns; `sum` is the thread's. */
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
