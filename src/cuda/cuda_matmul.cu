/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products with packed weights, and their gradients. A packed weight has the layout of its source, in
 * its own type: the library multiplies by either.
 */
#include "cuda/cuda_elements.h"
#include "cuda/launch.h"
#include "cuda/products.h"

enum { THREADS = 128, SUM_ROWS = 128 /* of a block of column sums */ };

struct packed_weight {
    struct packed_weight_config config;
    struct matrix data; /* [inner, columns]; transposed: [columns, inner] */
};

extern "C" rotary_status cuda_packed_weight_create(const struct backend *backend,
                                                   struct packed_weight **weight,
                                                   const struct packed_weight_config *config,
                                                   rotary_error *error)
{
    struct packed_weight *made = static_cast<struct packed_weight *>(calloc(1, sizeof *made));
    if (!made)
        return rotary_fail_memory(error, "for a packed weight");
    made->config = *config;
    made->data = matrix_of(NULL, config->dtype, config->transposed ? config->columns : config->inner,
                           config->transposed ? config->inner : config->columns);
    rotary_status status = backend->operations->allocate(
        backend, &made->data.data, cuda_packed_weight_bytes(backend, made), "a packed weight", error);
    if (status == ROTARY_OK)
        *weight = made;
    else
        free(made);
    return status;
}

extern "C" void cuda_packed_weight_destroy(const struct backend *backend, struct packed_weight *weight)
{
    if (weight)
        backend->operations->release(backend, weight->data.data);
    free(weight);
}

extern "C" size_t cuda_packed_weight_bytes(const struct backend *backend, const struct packed_weight *weight)
{
    (void)backend;
    return (size_t)(weight->config.inner * weight->config.columns) * rotary_dtype_size(weight->config.dtype);
}

extern "C" int64_t cuda_weight_columns(const struct packed_weight *weight)
{
    return weight->config.columns;
}

extern "C" rotary_status cuda_pack_weight(const struct backend *backend,
                                          const struct backend_pack_weight *call, rotary_error *error)
{
    struct backend_cast cast;
    cast.out = call->weight->data;
    cast.in = call->source;
    return cuda_cast(backend, &cast, error);
}

/* ---- A product of any strides, slow and right. ---- */

template <typename In, typename Out>
struct plain_work {
    tensor<Out> out;
    tensor<In> a, b;
    int64_t inner;
    bool a_transposed, b_transposed, accumulate, relu;
    const Out *bias;
};

template <typename In, typename Out>
__global__ void plain_product_kernel(plain_work<In, Out> work)
{
    const int64_t row = blockIdx.x, column = (int64_t)blockIdx.y * THREADS + threadIdx.x;
    if (column >= work.out.columns)
        return;
    float sum = 0.0f;
    for (int64_t i = 0; i < work.inner; i++)
        sum = fmaf(work.a_transposed ? work.a.get(i, row) : work.a.get(row, i),
                   work.b_transposed ? work.b.get(column, i) : work.b.get(i, column), sum);
    if (work.accumulate)
        sum += work.out.get(row, column);
    if (work.bias)
        sum += to_float(work.bias[column]);
    work.out.set(row, column, work.relu && sum < 0.0f ? 0.0f : sum);
}

template <typename In, typename Out>
static rotary_status plain_product(const struct backend *backend, const struct cuda_product *product,
                                   rotary_error *error)
{
    plain_work<In, Out> work = {};
    work.out = tensor_of<Out>(product->out);
    work.a = tensor_of<In>(product->a);
    work.b = tensor_of<In>(product->b);
    work.inner = product->b_transposed ? product->b.columns : product->b.rows;
    work.a_transposed = product->a_transposed;
    work.b_transposed = product->b_transposed;
    work.accumulate = product->accumulate;
    work.relu = product->epilogue == MATMUL_EPILOGUE_RELU;
    work.bias = static_cast<const Out *>(product->bias);
    cuda_launch launch = {};
    launch.name = "plain_product";
    launch.grid = dim3((unsigned)product->out.rows, cuda_blocks(product->out.columns, THREADS), 1);
    launch.threads = THREADS;
    return cuda_run(backend, launch, error, plain_product_kernel<In, Out>, work);
}

/* The bias in the type of the output, which is what the library adds. */
static rotary_status bias_of(const struct backend *backend, const float *bias, struct matrix out,
                             const void **typed, rotary_error *error)
{
    void *memory = NULL;
    *typed = bias;
    if (!bias || out.dtype == ROTARY_F32)
        return ROTARY_OK;
    rotary_status status = cuda_scratch(backend, CUDA_SCRATCH_BIAS,
                                        (size_t)out.columns * rotary_dtype_size(out.dtype), &memory, error);
    struct backend_cast cast;
    cast.out = matrix_of(memory, out.dtype, 1, out.columns);
    cast.in = bias;
    *typed = memory;
    return status == ROTARY_OK ? cuda_cast(backend, &cast, error) : status;
}

extern "C" rotary_status cuda_multiply(const struct backend *backend, const struct cuda_product *product,
                                       const float *bias, rotary_error *error)
{
    struct cuda_product run = *product;
    bool done = false;
    if (run.out.rows == 0 || run.out.columns == 0)
        return ROTARY_OK;
    rotary_status status = bias_of(backend, bias, run.out, &run.bias, error);
    if (status == ROTARY_OK)
        status = cuda_products_run(backend, &run, &done, error);
    if (status != ROTARY_OK || done)
        return status;
    return with_type(run.a.dtype, [&](auto in) {
        return with_type(run.out.dtype, [&](auto out) {
            return plain_product<decltype(in), decltype(out)>(backend, &run, error);
        });
    });
}

extern "C" rotary_status cuda_matmul(const struct backend *backend, const struct backend_matmul *call,
                                     rotary_error *error)
{
    struct cuda_product product = {};
    product.out = call->out;
    product.a = call->in;
    product.b = call->weight->data;
    product.b_transposed = call->weight->config.transposed;
    product.epilogue = call->epilogue;
    return cuda_multiply(backend, &product, call->bias, error);
}

/* ---- Gradients. ---- */

/* The sums of SUM_ROWS rows. */
template <typename T>
__global__ void column_sums_kernel(tensor<T> a, float *partial)
{
    const int64_t column = (int64_t)blockIdx.y * THREADS + threadIdx.x,
                  first = (int64_t)blockIdx.x * SUM_ROWS;
    if (column >= a.columns)
        return;
    float sum = 0.0f;
    for (int64_t row = first; row < first + SUM_ROWS && row < a.rows; row++)
        sum += a.get(row, column);
    partial[(int64_t)blockIdx.x * a.columns + column] = sum;
}

__global__ void add_partial_sums_kernel(const float *partial, int64_t blocks, int64_t columns, float *sums)
{
    const int64_t column = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (column >= columns)
        return;
    float sum = 0.0f;
    for (int64_t block = 0; block < blocks; block++)
        sum += partial[block * columns + column];
    sums[column] += sum;
}

static rotary_status add_column_sums(const struct backend *backend, struct matrix a, float *sums,
                                     rotary_error *error)
{
    const int64_t blocks = divide_up(a.rows, SUM_ROWS);
    void *memory = NULL;
    rotary_status status = cuda_scratch(backend, CUDA_SCRATCH_SUMS,
                                        (size_t)(blocks * a.columns) * sizeof(float), &memory, error);
    float *partial = static_cast<float *>(memory);
    cuda_launch launch = {};
    launch.name = "column_sums";
    launch.grid = dim3((unsigned)blocks, cuda_blocks(a.columns, THREADS), 1);
    launch.threads = THREADS;
    if (status == ROTARY_OK)
        status = with_type(a.dtype, [&](auto zero) {
            typedef decltype(zero) T;
            return cuda_run(backend, launch, error, column_sums_kernel<T>, tensor_of<T>(a), partial);
        });
    launch.name = "add_partial_sums";
    launch.grid = dim3(cuda_blocks(a.columns, THREADS), 1, 1);
    return status == ROTARY_OK
               ? cuda_run(backend, launch, error, add_partial_sums_kernel, partial, blocks, a.columns, sums)
               : status;
}

extern "C" rotary_status cuda_weight_gradient(const struct backend *backend,
                                              const struct backend_weight_gradient *call, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (call->a.rows == 0)
        return ROTARY_OK;
    if (call->sums)
        status = add_column_sums(backend, call->a, call->sums, error);
    if (status != ROTARY_OK || !call->gradient)
        return status;
    struct cuda_product product = {};
    product.out = matrix_of(call->gradient, ROTARY_F32, call->a.columns, call->b.columns);
    product.a = call->a;
    product.a_transposed = true;
    product.b = call->b;
    product.accumulate = true;
    return cuda_multiply(backend, &product, NULL, error);
}
