/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations: an element of the hidden layer is one thread's.
 */
#include "cuda/cuda_elements.h"
#include "cuda/dropout_mask.h"
#include "cuda/launch.h"

enum { THREADS = 256 };

struct activated {
    float value, slope;
};

/* sqrt(2 / pi) and the coefficient of Hendrycks and Gimpel 2016. */
#define GELU_SCALE 0.7978845608028654f
#define GELU_CUBE  0.044715f

__device__ static inline activated gelu(float x)
{
    const float cumulative = 0.5f * erfcf(-x * 0.7071067811865476f);
    const float density = expf(-0.5f * x * x) * 0.3989422804014327f;
    return activated{x * cumulative, cumulative + x * density};
}

__device__ static inline activated gelu_tanh(float x)
{
    const float t = tanhf(GELU_SCALE * (x + GELU_CUBE * x * x * x));
    const float slope = GELU_SCALE * (1.0f + 3.0f * GELU_CUBE * x * x);
    return activated{0.5f * x * (1.0f + t), 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * slope};
}

/* Gated ones have that of the gate. */
__device__ static inline activated activate(activation kind, float x)
{
    if (kind == ACTIVATION_GELU)
        return gelu(x);
    if (kind == ACTIVATION_GELU_TANH || kind == ACTIVATION_GEGLU_TANH)
        return gelu_tanh(x);
    if (kind == ACTIVATION_TANH) {
        const float t = tanhf(x);
        return activated{t, 1.0f - t * t};
    }
    if (kind == ACTIVATION_SWIGLU) {
        const float s = 1.0f / (1.0f + expf(-x));
        return activated{x * s, s * (1.0f + x * (1.0f - s))};
    }
    return activated{x > 0.0f ? x : 0.0f, x > 0.0f ? 1.0f : 0.0f};
}

template <typename T>
struct activation_work {
    activation kind;
    bool gated;
    tensor<T> out, pre, d_out, d_pre; /* forward: out and pre; backward: out again where it has data */
    dropout_mask mask;
};

template <typename T>
__global__ void activation_forward_kernel(activation_work<T> work)
{
    const int64_t columns = work.out.columns, blocks = (columns + THREADS - 1) / THREADS;
    const int64_t row = blockIdx.x / blocks, i = blockIdx.x % blocks * THREADS + threadIdx.x;
    if (i >= columns)
        return;
    const float up = work.gated ? work.pre.get(row, columns + i) : 1.0f;
    const float y = activate(work.kind, work.pre.get(row, i)).value * up;
    work.out.set(row, i, y * dropout_factor(work.mask, row, i));
}

/* What is read of an element comes before what is written, which may be in its place. */
template <typename T>
__global__ void activation_backward_kernel(activation_work<T> work)
{
    const int64_t columns = work.d_out.columns, blocks = (columns + THREADS - 1) / THREADS;
    const int64_t row = blockIdx.x / blocks, i = blockIdx.x % blocks * THREADS + threadIdx.x;
    if (i >= columns)
        return;
    const float kept = dropout_factor(work.mask, row, i), d = work.d_out.get(row, i) * kept;
    const activated y = activate(work.kind, work.pre.get(row, i));
    const float up = work.gated ? work.pre.get(row, columns + i) : 1.0f;
    work.d_pre.set(row, i, d * up * y.slope);
    if (work.gated)
        work.d_pre.set(row, columns + i, d * y.value);
    if (work.out.data)
        work.out.set(row, i, kept * (y.value * up));
}

static cuda_launch over(const char *name, const struct matrix &shape)
{
    cuda_launch launch = {};
    launch.name = name;
    launch.grid = dim3((unsigned)(shape.rows * divide_up(shape.columns, THREADS)), 1, 1);
    launch.threads = THREADS;
    return launch;
}

extern "C" rotary_status cuda_activation_forward(const struct backend *backend,
                                                 const struct backend_activation_forward *call,
                                                 rotary_error *error)
{
    return with_type(call->out.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        activation_work<T> work = {};
        work.kind = call->kind;
        work.gated = activation_is_gated(call->kind);
        work.out = tensor_of<T>(call->out);
        work.pre = tensor_of<T>(call->pre);
        work.mask = dropout_mask_of(call->dropout);
        return cuda_run(backend, over("activation_forward", call->out), error, activation_forward_kernel<T>,
                        work);
    });
}

extern "C" rotary_status cuda_activation_backward(const struct backend *backend,
                                                  const struct backend_activation_backward *call,
                                                  rotary_error *error)
{
    return with_type(call->d_out.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        activation_work<T> work = {};
        work.kind = call->kind;
        work.gated = activation_is_gated(call->kind);
        work.pre = tensor_of<T>(call->saved);
        work.d_out = tensor_of<T>(call->d_out);
        work.d_pre = tensor_of<T>(call->d_pre);
        work.out = tensor_of<T>(call->out);
        work.mask = dropout_mask_of(call->dropout);
        return cuda_run(backend, over("activation_backward", call->d_out), error,
                        activation_backward_kernel<T>, work);
    });
}
