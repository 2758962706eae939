/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/norm_sums.h"

enum { MAX_THREADS = 256 };

cuda_launch norm_launch(const char *name, int64_t blocks, int64_t width, int rows)
{
    cuda_launch launch = {};
    launch.name = name;
    launch.grid = dim3((unsigned)blocks, 1, 1);
    launch.threads = (unsigned)min_i64(round_up(width, WARP), MAX_THREADS);
    launch.shared = (size_t)(MAX_WARPS + rows * width) * sizeof(float);
    return launch;
}

rotary_status norm_gradients_begin(const struct backend *backend, float *d_gain, float *d_bias, int64_t rows,
                                   int64_t width, norm_gradients *gradients, rotary_error *error)
{
    *gradients = norm_gradients{d_gain, d_bias, NULL, divide_up(rows, NORM_ROWS), width};
    void *memory = NULL;
    if (!d_gain && !d_bias)
        return ROTARY_OK;
    rotary_status status = cuda_scratch(
        backend, CUDA_SCRATCH_SUMS, (size_t)(gradients->blocks * 2 * width) * sizeof(float), &memory, error);
    gradients->partial = static_cast<float *>(memory);
    return status;
}

__global__ void norm_gradients_kernel(norm_gradients gradients)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, width = gradients.width;
    if (i >= width)
        return;
    float gain = 0.0f, bias = 0.0f;
    for (int64_t block = 0; block < gradients.blocks; block++) {
        gain += gradients.partial[block * 2 * width + i];
        bias += gradients.partial[block * 2 * width + width + i];
    }
    if (gradients.d_gain)
        gradients.d_gain[i] += gain;
    if (gradients.d_bias)
        gradients.d_bias[i] += bias;
}

rotary_status norm_gradients_end(const struct backend *backend, const norm_gradients *gradients,
                                 rotary_error *error)
{
    if (!gradients->partial)
        return ROTARY_OK;
    cuda_launch launch = {};
    launch.name = "norm_gradients";
    launch.grid = dim3(cuda_blocks(gradients->width, MAX_THREADS), 1, 1);
    launch.threads = MAX_THREADS;
    return cuda_run(backend, launch, error, norm_gradients_kernel, *gradients);
}
