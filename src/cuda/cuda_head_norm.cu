/* SPDX-License-Identifier: Apache-2.0
 *
 * Norms of heads of matrices of the storage type. An item is a head of a row, and one block's at a time.
 */
#include "cuda/cuda_elements.h"
#include "cuda/norm_sums.h"

template <typename T>
struct head_norm_work {
    bool centred; /* LayerNorm */
    float epsilon;
    const float *gain, *bias;
    int64_t heads, width, items;
    tensor<T> out, in, d_in, d_out;
    float *mean, *rstd;
    float *partial; /* as of struct norm_gradients */
};

template <typename T>
__global__ void head_norm_forward_kernel(head_norm_work<T> work)
{
    const int64_t row = blockIdx.x / work.heads, first = blockIdx.x % work.heads * work.width;
    shared_array<float> scratch = shared_at<float>(0, MAX_WARPS);
    shared_array<float> x = shared_at<float>(MAX_WARPS * sizeof(float), (size_t)work.width);
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < work.width; i += blockDim.x) {
        const float value = work.in.get(row, first + i);
        x[i] = value;
        sum += value;
    }
    const norm_moments moments = block_moments(x, work.width, work.centred, sum, work.epsilon, scratch);
    for (int64_t i = threadIdx.x; i < work.width; i += blockDim.x)
        work.out.set(row, first + i,
                     normalised_value(x[i], moments, work.gain[i], work.bias ? work.bias[i] : 0.0f));
    if (threadIdx.x != 0)
        return;
    if (work.mean)
        work.mean[blockIdx.x] = moments.mean;
    if (work.rstd)
        work.rstd[blockIdx.x] = moments.rstd;
}

template <typename T>
__device__ void head_norm_backward_item(const head_norm_work<T> &work, int64_t item,
                                        shared_array<float> scratch, shared_array<float> sums)
{
    const int64_t row = item / work.heads, first = item % work.heads * work.width, width = work.width;
    const float mean = work.centred ? work.mean[item] : 0.0f, rstd = work.rstd[item];
    float mean_g = 0.0f, mean_gx = 0.0f;
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
        const float d = work.d_out.get(row, first + i), g = d * work.gain[i];
        const float x = (work.in.get(row, first + i) - mean) * rstd;
        mean_g += g;
        mean_gx += g * x;
        if (work.partial) {
            sums[i] += d * x;
            sums[width + i] += d;
        }
    }
    mean_g = work.centred ? block_sum(mean_g, scratch) / (float)width : 0.0f;
    mean_gx = block_sum(mean_gx, scratch) / (float)width;
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
        const float x = (work.in.get(row, first + i) - mean) * rstd;
        const float g = work.d_out.get(row, first + i) * work.gain[i];
        work.d_in.set(row, first + i, rstd * (g - mean_g - x * mean_gx));
    }
}

template <typename T>
__global__ void head_norm_backward_kernel(head_norm_work<T> work)
{
    sum_norm_rows(work.items, work.width, work.partial,
                  [&](int64_t item, shared_array<float> scratch, shared_array<float> sums) {
                      head_norm_backward_item(work, item, scratch, sums);
                  });
}

template <typename T>
static head_norm_work<T> work_of(const norm_weights &norm, const struct matrix &in, int64_t heads)
{
    head_norm_work<T> work = {};
    work.centred = norm.kind == NORM_LAYER;
    work.epsilon = norm.epsilon;
    work.gain = norm.gain;
    work.bias = norm.bias;
    work.heads = heads;
    work.width = in.columns / heads;
    work.items = in.rows * heads;
    work.in = tensor_of<T>(in);
    return work;
}

extern "C" rotary_status cuda_head_norm_forward(const struct backend *backend,
                                                const struct backend_head_norm_forward *call,
                                                rotary_error *error)
{
    return with_type(call->in.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        head_norm_work<T> work = work_of<T>(call->norm, call->in, call->heads);
        work.out = tensor_of<T>(call->out);
        work.mean = call->mean;
        work.rstd = call->rstd;
        return cuda_run(backend, norm_launch("head_norm_forward", work.items, work.width, 1), error,
                        head_norm_forward_kernel<T>, work);
    });
}

extern "C" rotary_status cuda_head_norm_backward(const struct backend *backend,
                                                 const struct backend_head_norm_backward *call,
                                                 rotary_error *error)
{
    norm_gradients gradients;
    rotary_status status =
        norm_gradients_begin(backend, call->d_gain, call->d_bias, call->in.rows * call->heads,
                             call->in.columns / call->heads, &gradients, error);
    if (status != ROTARY_OK)
        return status;
    status = with_type(call->in.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        head_norm_work<T> work = work_of<T>(call->norm, call->in, call->heads);
        work.d_in = tensor_of<T>(call->d_in);
        work.d_out = tensor_of<T>(call->d_out);
        work.mean = const_cast<float *>(call->mean);
        work.rstd = const_cast<float *>(call->rstd);
        work.partial = gradients.partial;
        cuda_launch launch =
            norm_launch("head_norm_backward", divide_up(work.items, NORM_ROWS), work.width, 2);
        return cuda_run(backend, launch, error, head_norm_backward_kernel<T>, work);
    });
    return status == ROTARY_OK ? norm_gradients_end(backend, &gradients, error) : status;
}
