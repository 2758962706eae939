/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the residual stream and of matrices of the storage type: an element is one thread's.
 */
#include "cuda/cuda_elements.h"
#include "cuda/dropout_mask.h"
#include "cuda/launch.h"

enum { THREADS = 256 };

/* ---- A thread for each element of [rows, columns]: the blocks of a row follow one another. ---- */

struct place {
    int64_t row, column;
};

__device__ static inline place place_of(int64_t columns)
{
    const int64_t blocks = (columns + THREADS - 1) / THREADS;
    place at;
    at.row = (int64_t)blockIdx.x / blocks;
    at.column = (int64_t)blockIdx.x % blocks * THREADS + threadIdx.x;
    return at;
}

static cuda_launch over(const char *name, int64_t rows, int64_t columns)
{
    cuda_launch launch = {};
    launch.name = name;
    launch.grid = dim3((unsigned)(rows * divide_up(columns, THREADS)), 1, 1);
    launch.threads = THREADS;
    return launch;
}

template <typename T>
__global__ void cast_kernel(tensor<T> out, const float *in)
{
    const place at = place_of(out.columns);
    if (at.column < out.columns)
        out.set(at.row, at.column, in[at.row * out.columns + at.column]);
}

extern "C" rotary_status cuda_cast(const struct backend *backend, const struct backend_cast *call,
                                   rotary_error *error)
{
    return with_type(call->out.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        return cuda_run(backend, over("cast", call->out.rows, call->out.columns), error, cast_kernel<T>,
                        tensor_of<T>(call->out), call->in);
    });
}

template <typename T>
__global__ void add_kernel(float *to, tensor<T> in)
{
    const place at = place_of(in.columns);
    if (at.column < in.columns)
        to[at.row * in.columns + at.column] += in.get(at.row, at.column);
}

extern "C" rotary_status cuda_add(const struct backend *backend, const struct backend_add *call,
                                  rotary_error *error)
{
    return with_type(call->in.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        return cuda_run(backend, over("add", call->in.rows, call->in.columns), error, add_kernel<T>, call->to,
                        tensor_of<T>(call->in));
    });
}

template <typename T>
__global__ void add_matrix_kernel(tensor<T> to, tensor<T> in)
{
    const place at = place_of(to.columns);
    if (at.column < to.columns)
        to.set(at.row, at.column, to.get(at.row, at.column) + in.get(at.row, at.column));
}

extern "C" rotary_status cuda_add_matrix(const struct backend *backend, const struct backend_add_matrix *call,
                                         rotary_error *error)
{
    return with_type(call->to.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        return cuda_run(backend, over("add_matrix", call->to.rows, call->to.columns), error,
                        add_matrix_kernel<T>, tensor_of<T>(call->to), tensor_of<T>(call->in));
    });
}

__global__ void scale_kernel(float *to, int64_t count, float factor)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at < count)
        to[at] *= factor;
}

extern "C" rotary_status cuda_scale(const struct backend *backend, const struct backend_scale *call,
                                    rotary_error *error)
{
    return cuda_run(backend, over("scale", 1, call->count), error, scale_kernel, call->to, call->count,
                    call->factor);
}

template <typename T>
__global__ void add_to_rows_kernel(tensor<T> rows, const float *vector)
{
    const place at = place_of(rows.columns);
    if (at.column < rows.columns)
        rows.set(at.row, at.column, rows.get(at.row, at.column) + vector[at.column]);
}

extern "C" rotary_status cuda_add_to_rows(const struct backend *backend,
                                          const struct backend_add_to_rows *call, rotary_error *error)
{
    return with_type(call->rows.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        return cuda_run(backend, over("add_to_rows", call->rows.rows, call->rows.columns), error,
                        add_to_rows_kernel<T>, tensor_of<T>(call->rows), call->vector);
    });
}

/* ---- Rows that are gathered and scattered. ---- */

/* An index is one of rows of the other matrix; NULL: the row itself. */
template <typename T>
__global__ void move_rows_kernel(tensor<T> out, tensor<T> in, const int64_t *from, const int64_t *to)
{
    const place at = place_of(in.columns);
    if (at.column >= in.columns)
        return;
    const int64_t source = from ? from[at.row] : at.row, destination = to ? to[at.row] : at.row;
    out.data[destination * out.stride + at.column] = in.data[source * in.stride + at.column];
}

/* The host's array on the device; NULL stays so. */
static rotary_status upload_rows(const struct backend *backend, enum cuda_scratch_use use,
                                 const int64_t *host, int64_t count, const int64_t **rows,
                                 rotary_error *error)
{
    void *memory = NULL;
    *rows = NULL;
    if (!host || count == 0)
        return ROTARY_OK;
    rotary_status status = cuda_upload(backend, use, host, (size_t)count * sizeof *host, &memory, error);
    *rows = static_cast<const int64_t *>(memory);
    return status;
}

extern "C" rotary_status cuda_copy_rows(const struct backend *backend, const struct backend_copy_rows *call,
                                        rotary_error *error)
{
    const int64_t *index;
    rotary_status status =
        upload_rows(backend, CUDA_SCRATCH_INDEX, call->index, call->out.rows, &index, error);
    if (status != ROTARY_OK)
        return status;
    return with_type(call->out.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        return cuda_run(backend, over("copy_rows", call->out.rows, call->in.columns), error,
                        move_rows_kernel<T>, tensor_of<T>(call->out), tensor_of<T>(call->in), index, nullptr);
    });
}

extern "C" rotary_status cuda_scatter_rows(const struct backend *backend,
                                           const struct backend_scatter_rows *call, rotary_error *error)
{
    const int64_t *index;
    rotary_status status =
        upload_rows(backend, CUDA_SCRATCH_INDEX, call->index, call->in.rows, &index, error);
    if (status != ROTARY_OK)
        return status;
    return with_type(call->out.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        return cuda_run(backend, over("scatter_rows", call->in.rows, call->in.columns), error,
                        move_rows_kernel<T>, tensor_of<T>(call->out), tensor_of<T>(call->in), nullptr, index);
    });
}

/* ---- Means of rows. ---- */

template <typename T>
__global__ void mean_rows_kernel(tensor<T> out, tensor<T> in, const int64_t *first, const int64_t *counts)
{
    const place at = place_of(out.columns);
    if (at.column >= out.columns)
        return;
    float sum = 0.0f;
    for (int64_t i = 0; i < counts[at.row]; i++)
        sum += in.get(first[at.row] + i, at.column);
    out.set(at.row, at.column, sum / (float)counts[at.row]);
}

template <typename T>
__global__ void mean_rows_backward_kernel(tensor<T> d_in, tensor<T> d_out, const int64_t *first,
                                          const int64_t *counts)
{
    const place at = place_of(d_out.columns);
    if (at.column >= d_out.columns)
        return;
    const float d = d_out.get(at.row, at.column) / (float)counts[at.row];
    for (int64_t i = 0; i < counts[at.row]; i++)
        d_in.set(first[at.row] + i, at.column, d);
}

struct means {
    const int64_t *first, *counts;
};

static rotary_status upload_means(const struct backend *backend, const int64_t *first, const int64_t *counts,
                                  int64_t count, means *made, rotary_error *error)
{
    rotary_status status = upload_rows(backend, CUDA_SCRATCH_INDEX, first, count, &made->first, error);
    if (status == ROTARY_OK)
        status = upload_rows(backend, CUDA_SCRATCH_INDEX2, counts, count, &made->counts, error);
    return status;
}

extern "C" rotary_status cuda_mean_rows_forward(const struct backend *backend,
                                                const struct backend_mean_rows_forward *call,
                                                rotary_error *error)
{
    means rows;
    rotary_status status = upload_means(backend, call->first, call->counts, call->out.rows, &rows, error);
    if (status != ROTARY_OK)
        return status;
    return with_type(call->out.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        return cuda_run(backend, over("mean_rows", call->out.rows, call->out.columns), error,
                        mean_rows_kernel<T>, tensor_of<T>(call->out), tensor_of<T>(call->in), rows.first,
                        rows.counts);
    });
}

extern "C" rotary_status cuda_mean_rows_backward(const struct backend *backend,
                                                 const struct backend_mean_rows_backward *call,
                                                 rotary_error *error)
{
    means rows;
    rotary_status status = upload_means(backend, call->first, call->counts, call->d_out.rows, &rows, error);
    if (status != ROTARY_OK)
        return status;
    return with_type(call->d_out.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        return cuda_run(backend, over("mean_rows_backward", call->d_out.rows, call->d_out.columns), error,
                        mean_rows_backward_kernel<T>, tensor_of<T>(call->d_in), tensor_of<T>(call->d_out),
                        rows.first, rows.counts);
    });
}

/* ---- Dropout. ---- */

template <typename T>
__global__ void drop_kernel(tensor<T> out, tensor<T> in, dropout_mask mask)
{
    const place at = place_of(out.columns);
    if (at.column < out.columns)
        out.set(at.row, at.column, in.get(at.row, at.column) * dropout_factor(mask, at.row, at.column));
}

extern "C" rotary_status cuda_drop(const struct backend *backend, const struct backend_drop *call,
                                   rotary_error *error)
{
    return with_type(call->out.dtype, [&](auto zero) {
        typedef decltype(zero) T;
        return cuda_run(backend, over("drop", call->out.rows, call->out.columns), error, drop_kernel<T>,
                        tensor_of<T>(call->out), tensor_of<T>(call->in), dropout_mask_of(call->dropout));
    });
}
