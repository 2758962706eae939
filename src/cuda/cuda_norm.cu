/* SPDX-License-Identifier: Apache-2.0
 *
 * Norms of rows of the residual stream, with the residual sum and dropout in the same pass. A row is one
 * block's; column i is that of thread i % threads, in every pass over the row.
 */
#include "cuda/cuda_elements.h"
#include "cuda/dropout_mask.h"
#include "cuda/launch.h"
#include "cuda/norm_sums.h"

template <typename T>
struct norm_forward_work {
    norm_kind kind;
    float epsilon;
    const float *gain, *bias;
    int64_t width;
    const float *residual;
    tensor<T> sublayer_output; /* data NULL: none */
    dropout_mask mask;
    float *residual_sum;
    tensor<T> normalised;
    float *normalised_f32, *mean, *rstd;
};

/* The row of residual sums, in f32 in shared memory behind the scratch of sums. */
template <typename T>
__global__ void norm_forward_kernel(norm_forward_work<T> work)
{
    const int64_t row = blockIdx.x, width = work.width;
    shared_array<float> scratch = shared_at<float>(0, MAX_WARPS);
    shared_array<float> x = shared_at<float>(MAX_WARPS * sizeof(float), (size_t)width);
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
        float value = work.residual[row * width + i];
        if (work.sublayer_output.data) {
            value += work.sublayer_output.get(row, i) * dropout_factor(work.mask, row, i);
            work.residual_sum[row * width + i] = value;
        }
        x[i] = value;
        sum += value;
    }
    norm_moments moments = {0.0f, 1.0f};
    if (work.kind != NORM_NONE)
        moments = block_moments(x, width, work.kind == NORM_LAYER, sum, work.epsilon, scratch);
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
        float y = x[i];
        if (work.kind != NORM_NONE)
            y = normalised_value(y, moments, work.gain[i], work.bias ? work.bias[i] : 0.0f);
        if (work.normalised.data)
            work.normalised.set(row, i, y);
        if (work.normalised_f32)
            work.normalised_f32[row * width + i] = y;
    }
    if (work.mean && threadIdx.x == 0) {
        work.mean[row] = moments.mean;
        work.rstd[row] = moments.rstd;
    }
}

extern "C" rotary_status cuda_norm_forward(const struct backend *backend,
                                           const struct backend_norm_forward *call, rotary_error *error)
{
    return with_type(backend->storage, [&](auto zero) {
        typedef decltype(zero) T;
        norm_forward_work<T> work = {};
        work.kind = call->norm.kind;
        work.epsilon = call->norm.epsilon;
        work.gain = call->norm.gain;
        work.bias = call->norm.bias;
        work.width = call->width;
        work.residual = call->residual;
        work.sublayer_output = tensor_of<T>(call->sublayer_output);
        work.mask = dropout_mask_of(call->dropout);
        work.residual_sum = call->residual_sum;
        work.normalised = tensor_of<T>(call->normalised);
        work.normalised_f32 = call->normalised_f32;
        work.mean = call->mean;
        work.rstd = call->rstd;
        cuda_launch launch = norm_launch("norm_forward", call->rows, call->width, 1);
        return cuda_run(backend, launch, error, norm_forward_kernel<T>, work);
    });
}

template <typename T>
struct norm_backward_work {
    norm_kind kind;
    const float *gain;
    int64_t rows, width;
    const float *residual_sum, *mean, *rstd;
    tensor<T> d_normalised;
    const float *d_normalised_f32;
    bool accumulate;
    float *d_residual;
    tensor<T> d_sublayer_output;
    dropout_mask mask;
    float *partial; /* [blocks][2][width]; NULL: no gradient of gain and bias is wanted */
};

template <typename T>
__device__ float norm_d(const norm_backward_work<T> &work, int64_t row, int64_t i)
{
    const float d = work.d_normalised.data ? work.d_normalised.get(row, i) : 0.0f;
    return work.d_normalised_f32 ? d + work.d_normalised_f32[row * work.width + i] : d;
}

/* One row; adds d x and d to the block's sums. */
template <typename T>
__device__ void norm_backward_row(const norm_backward_work<T> &work, int64_t row, shared_array<float> scratch,
                                  shared_array<float> sums)
{
    const int64_t width = work.width;
    const bool plain = work.kind == NORM_NONE;
    const float mean = work.kind == NORM_LAYER ? work.mean[row] : 0.0f, rstd = plain ? 1.0f : work.rstd[row];
    float mean_g = 0.0f, mean_gx = 0.0f;
    for (int64_t i = threadIdx.x; i < width && !plain; i += blockDim.x) {
        const float d = norm_d(work, row, i), g = d * work.gain[i];
        const float x = (work.residual_sum[row * width + i] - mean) * rstd;
        mean_g += g;
        mean_gx += g * x;
        if (work.partial) {
            sums[i] += d * x;
            sums[width + i] += d;
        }
    }
    if (!plain) {
        mean_g = work.kind == NORM_LAYER ? block_sum(mean_g, scratch) / (float)width : 0.0f;
        mean_gx = block_sum(mean_gx, scratch) / (float)width;
    }
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
        float d = norm_d(work, row, i);
        if (!plain) {
            const float x = (work.residual_sum[row * width + i] - mean) * rstd;
            d = rstd * (d * work.gain[i] - mean_g - x * mean_gx);
        }
        if (work.accumulate)
            d += work.d_residual[row * width + i];
        work.d_residual[row * width + i] = d;
        if (work.d_sublayer_output.data)
            work.d_sublayer_output.set(row, i, d * dropout_factor(work.mask, row, i));
    }
}

template <typename T>
__global__ void norm_backward_kernel(norm_backward_work<T> work)
{
    sum_norm_rows(work.rows, work.width, work.partial,
                  [&](int64_t row, shared_array<float> scratch, shared_array<float> sums) {
                      norm_backward_row(work, row, scratch, sums);
                  });
}

extern "C" rotary_status cuda_norm_backward(const struct backend *backend,
                                            const struct backend_norm_backward *call, rotary_error *error)
{
    norm_gradients gradients;
    rotary_status status =
        norm_gradients_begin(backend, call->d_gain, call->d_bias, call->rows, call->width, &gradients, error);
    if (status != ROTARY_OK)
        return status;
    status = with_type(backend->storage, [&](auto zero) {
        typedef decltype(zero) T;
        norm_backward_work<T> work = {};
        work.kind = call->norm.kind;
        work.gain = call->norm.gain;
        work.rows = call->rows;
        work.width = call->width;
        work.residual_sum = call->residual_sum;
        work.mean = call->mean;
        work.rstd = call->rstd;
        work.d_normalised = tensor_of<T>(call->d_normalised);
        work.d_normalised_f32 = call->d_normalised_f32;
        work.accumulate = call->accumulate;
        work.d_residual = call->d_residual;
        work.d_sublayer_output = tensor_of<T>(call->d_sublayer_output);
        work.mask = dropout_mask_of(call->dropout);
        work.partial = call->norm.kind == NORM_NONE ? NULL : gradients.partial;
        cuda_launch launch = norm_launch("norm_backward", divide_up(call->rows, NORM_ROWS), call->width, 2);
        return cuda_run(backend, launch, error, norm_backward_kernel<T>, work);
    });
    if (status != ROTARY_OK || call->norm.kind == NORM_NONE)
        return status;
    return norm_gradients_end(backend, &gradients, error);
}
