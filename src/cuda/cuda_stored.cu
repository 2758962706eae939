/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights as a file has them, which stay in the host's memory: some of their rows are copied to the device for
 * each call. For few rows of the input each number is converted and multiplied where it is; for more, the rows
 * of the weight are converted to the storage type and multiplied as other weights are.
 */
#include "cuda/cuda_elements.h"
#include "cuda/launch.h"
#include "cuda/products.h"

extern "C" {
#include "base/element.h"
}

enum { THREADS = 128, FEW_ROWS = 8, ROWS_AT_ONCE = 4096, WARPS = THREADS / WARP };

/* ---- Elements of a file. ---- */

__device__ static inline float half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    if (magnitude >= 0x7c00u)
        return __uint_as_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x0400u)
        return __uint_as_float(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
    return __uint_as_float(__float_as_uint((float)magnitude * 5.9604644775390625e-8f) | sign);
}

__device__ static inline float stored_element(const void *data, int64_t at, rotary_dtype dtype)
{
    if (dtype == ROTARY_F32)
        return static_cast<const float *>(data)[at];
    const uint16_t bits = static_cast<const uint16_t *>(data)[at];
    return dtype == ROTARY_F16 ? half_to_float(bits) : __uint_as_float((uint32_t)bits << 16);
}

template <typename T>
__global__ void convert_kernel(T *to, const void *from, int64_t count, rotary_dtype dtype)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at < count)
        to[at] = from_float<T>(stored_element(from, at, dtype));
}

/* ---- Products. ---- */

/* Rows first ... first + count - 1 of the weight, which are on the device. */
struct device_rows {
    const void *data;
    rotary_dtype dtype;
    int64_t first, count, inner;
};

template <typename In, typename Out>
struct few_rows_work {
    tensor<Out> out;
    tensor<In> in;
    device_rows part;
    const float *bias;
    bool relu;
};

/* A warp for an element of the output. */
template <typename In, typename Out>
__global__ void few_rows_kernel(few_rows_work<In, Out> work)
{
    const int64_t row = blockIdx.y, within = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP;
    if (within >= work.part.count)
        return;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x % WARP; i < work.part.inner; i += WARP)
        sum = fmaf(work.in.get(row, i),
                   stored_element(work.part.data, within * work.part.inner + i, work.part.dtype), sum);
    sum = warp_sum(sum);
    if (threadIdx.x % WARP != 0)
        return;
    const int64_t column = work.part.first + within;
    if (work.bias)
        sum += work.bias[column];
    work.out.set(row, column, work.relu && sum < 0.0f ? 0.0f : sum);
}

static rotary_status multiply_few(const struct backend *backend, const struct backend_stored_matmul *call,
                                  const device_rows &part, rotary_error *error)
{
    cuda_launch launch = {};
    launch.name = "few_rows";
    launch.grid = dim3(cuda_blocks(part.count, WARPS), (unsigned)call->in.rows, 1);
    launch.threads = THREADS;
    return with_type(call->in.dtype, [&](auto in) {
        return with_type(call->out.dtype, [&](auto out) {
            typedef decltype(in) In;
            typedef decltype(out) Out;
            few_rows_work<In, Out> work = {};
            work.out = tensor_of<Out>(call->out);
            work.in = tensor_of<In>(call->in);
            work.part = part;
            work.bias = call->bias;
            work.relu = call->epilogue == MATMUL_EPILOGUE_RELU;
            return cuda_run(backend, launch, error, few_rows_kernel<In, Out>, work);
        });
    });
}

static rotary_status multiply_many(const struct backend *backend, const struct backend_stored_matmul *call,
                                   const device_rows &part, rotary_error *error)
{
    const int64_t elements = part.count * part.inner;
    void *memory = NULL;
    rotary_status status = cuda_scratch(backend, CUDA_SCRATCH_WEIGHT,
                                        (size_t)elements * rotary_dtype_size(call->in.dtype), &memory, error);
    cuda_launch launch = {};
    launch.name = "convert";
    launch.grid = dim3(cuda_blocks(elements, THREADS), 1, 1);
    launch.threads = THREADS;
    if (status == ROTARY_OK)
        status = with_type(call->in.dtype, [&](auto zero) {
            typedef decltype(zero) T;
            return cuda_run(backend, launch, error, convert_kernel<T>, static_cast<T *>(memory), part.data,
                            elements, part.dtype);
        });
    struct cuda_product product = {};
    product.out = matrix_block(call->out, 0, call->out.rows, part.first, part.count);
    product.a = call->in;
    product.b = matrix_of(memory, call->in.dtype, part.count, part.inner);
    product.b_transposed = true;
    product.epilogue = call->epilogue;
    const float *bias = call->bias ? call->bias + part.first : NULL;
    return status == ROTARY_OK ? cuda_multiply(backend, &product, bias, error) : status;
}

extern "C" rotary_status cuda_stored_matmul(const struct backend *backend,
                                            const struct backend_stored_matmul *call, rotary_error *error)
{
    const struct stored_weight *weight = call->weight;
    rotary_status status = ROTARY_OK;
    device_rows part = {};
    part.inner = weight->columns;
    for (; status == ROTARY_OK && part.first < weight->rows; part.first += part.count) {
        const struct stored_rows *rows = stored_part(weight, part.first);
        void *memory = NULL;
        part.dtype = rows->dtype;
        part.count = min_i64(rows->first + rows->rows - part.first, ROWS_AT_ONCE);
        status =
            cuda_upload(backend, CUDA_SCRATCH_STORED, stored_row(weight, rows, part.first),
                        (size_t)(part.count * part.inner) * rotary_dtype_size(part.dtype), &memory, error);
        part.data = memory;
        if (status == ROTARY_OK)
            status = call->in.rows <= FEW_ROWS ? multiply_few(backend, call, part, error)
                                               : multiply_many(backend, call, part, error);
    }
    return status;
}

/* ---- Embedding. ---- */

/* Rows of the table, converted on the host: there are few, and only the host has the file. */
static void fill_rows(const struct backend_stored_embedding *call, const int32_t *tokens, float *out)
{
    const int64_t width = call->table->columns;
    for (int64_t row = 0; row < call->rows; row++) {
        const struct stored_rows *part = stored_part(call->table, tokens[row]);
        const void *from = stored_row(call->table, part, tokens[row]);
        for (int64_t i = 0; i < width; i++)
            out[row * width + i] = call->scale * rotary_element(from, i, part->dtype);
    }
}

extern "C" rotary_status cuda_stored_embedding(const struct backend *backend,
                                               const struct backend_stored_embedding *call,
                                               rotary_error *error)
{
    const size_t elements = (size_t)(call->rows * call->table->columns);
    int32_t *tokens = static_cast<int32_t *>(malloc((size_t)max_i64(call->rows, 1) * sizeof *tokens));
    float *out = static_cast<float *>(malloc((elements ? elements : 1) * sizeof *out));
    rotary_status status = tokens && out ? ROTARY_OK : rotary_fail_memory(error, "for an embedding");
    if (status == ROTARY_OK)
        status = backend->operations->read(backend, tokens, call->tokens, (size_t)call->rows * sizeof *tokens,
                                           error);
    if (status == ROTARY_OK) {
        fill_rows(call, tokens, out);
        status = backend->operations->write(backend, call->out, out, elements * sizeof *out, error);
    }
    free(tokens);
    free(out);
    return status;
}
