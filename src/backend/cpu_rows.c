/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions between the f32 residual stream and matrices of the storage type, sums, copies and dropout of
 * rows, in the cpu backend.
 */
#include "backend/cpu.h"

#include "base/integer.h"
#include "base/threads.h"

#include <string.h>

enum { BLOCK_ROWS = 64 };

struct work {
    const struct layer_kernels *kernels;
    const void *call;
    struct layer_mask mask; /* of dropout */
    int64_t rows;
    void (*row)(const struct work *work, int64_t row);
};

static void run_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct work *work = argument;
    int64_t end = min_i64((index + 1) * BLOCK_ROWS, work->rows);
    for (int64_t row = index * BLOCK_ROWS; row < end; row++)
        work->row(work, row);
}

static rotary_status run(const struct backend *backend, struct work *work)
{
    work->kernels = cpu_of(backend)->kernels;
    rotary_parallel_for(backend->threads, divide_up(work->rows, BLOCK_ROWS), run_block, work);
    return ROTARY_OK;
}

static void cast_row(const struct work *work, int64_t row)
{
    const struct backend_cast *call = work->call;
    struct matrix out = call->out;
    work->kernels->to_storage(out.dtype, matrix_rows(out, row, 1).data, call->in + row * out.columns,
                              out.columns);
}

rotary_status cpu_cast(const struct backend *backend, const struct backend_cast *call, rotary_error *error)
{
    (void)error;
    struct work work = {.call = call, .rows = call->out.rows, .row = cast_row};
    return run(backend, &work);
}

static void add_row(const struct work *work, int64_t row)
{
    const struct backend_add *call = work->call;
    struct matrix in = call->in;
    work->kernels->column_sums(call->to + row * in.columns, in.dtype, matrix_rows(in, row, 1).data, 1,
                               in.columns, in.stride);
}

rotary_status cpu_add(const struct backend *backend, const struct backend_add *call, rotary_error *error)
{
    (void)error;
    struct work work = {.call = call, .rows = call->in.rows, .row = add_row};
    return run(backend, &work);
}

enum { SCALE_BLOCK = 1 << 10 }; /* elements */

static void scale_block(const struct work *work, int64_t block)
{
    const struct backend_scale *call = work->call;
    const int64_t end = min_i64((block + 1) * SCALE_BLOCK, call->count);
    for (int64_t i = block * SCALE_BLOCK; i < end; i++)
        call->to[i] *= call->factor;
}

rotary_status cpu_scale(const struct backend *backend, const struct backend_scale *call, rotary_error *error)
{
    (void)error;
    struct work work = {.call = call, .rows = divide_up(call->count, SCALE_BLOCK), .row = scale_block};
    return run(backend, &work);
}

enum { CHUNK = 256 }; /* columns of a row that is added to; their sums are f32 until they are stored */

static void add_to_row(const struct work *work, int64_t row)
{
    const struct backend_add_to_rows *call = work->call;
    for (int64_t first = 0; first < call->rows.columns; first += CHUNK) {
        float sum[CHUNK];
        int64_t count = min_i64(CHUNK, call->rows.columns - first);
        struct matrix part = matrix_block(call->rows, row, 1, first, count);
        memcpy(sum, call->vector + first, (size_t)count * sizeof *sum);
        work->kernels->column_sums(sum, part.dtype, part.data, 1, count, part.stride);
        work->kernels->to_storage(part.dtype, part.data, sum, count);
    }
}

rotary_status cpu_add_to_rows(const struct backend *backend, const struct backend_add_to_rows *call,
                              rotary_error *error)
{
    (void)error;
    struct work work = {.call = call, .rows = call->rows.rows, .row = add_to_row};
    return run(backend, &work);
}

static void add_matrix_row(const struct work *work, int64_t row)
{
    const struct backend_add_matrix *call = work->call;
    for (int64_t first = 0; first < call->to.columns; first += CHUNK) {
        float sum[CHUNK] = {0};
        int64_t count = min_i64(CHUNK, call->to.columns - first);
        struct matrix to = matrix_block(call->to, row, 1, first, count),
                      in = matrix_block(call->in, row, 1, first, count);
        work->kernels->column_sums(sum, to.dtype, to.data, 1, count, to.stride);
        work->kernels->column_sums(sum, in.dtype, in.data, 1, count, in.stride);
        work->kernels->to_storage(to.dtype, to.data, sum, count);
    }
}

rotary_status cpu_add_matrix(const struct backend *backend, const struct backend_add_matrix *call,
                             rotary_error *error)
{
    (void)error;
    struct work work = {.call = call, .rows = call->to.rows, .row = add_matrix_row};
    return run(backend, &work);
}

static void copy_row(const struct work *work, int64_t row)
{
    const struct backend_copy_rows *call = work->call;
    memcpy(matrix_rows(call->out, row, 1).data,
           matrix_rows(call->in, call->index ? call->index[row] : row, 1).data,
           (size_t)call->out.columns * rotary_dtype_size(call->out.dtype));
}

rotary_status cpu_copy_rows(const struct backend *backend, const struct backend_copy_rows *call,
                            rotary_error *error)
{
    (void)error;
    struct work work = {.call = call, .rows = call->out.rows, .row = copy_row};
    return run(backend, &work);
}

static void scatter_row(const struct work *work, int64_t row)
{
    const struct backend_scatter_rows *call = work->call;
    memcpy(matrix_rows(call->out, call->index[row], 1).data, matrix_rows(call->in, row, 1).data,
           (size_t)call->in.columns * rotary_dtype_size(call->in.dtype));
}

rotary_status cpu_scatter_rows(const struct backend *backend, const struct backend_scatter_rows *call,
                               rotary_error *error)
{
    (void)error;
    struct work work = {.call = call, .rows = call->in.rows, .row = scatter_row};
    return run(backend, &work);
}

static void drop_row(const struct work *work, int64_t row)
{
    const struct backend_drop *call = work->call;
    work->kernels->drop(call->out.dtype, matrix_rows(call->out, row, 1).data,
                        matrix_rows(call->in, row, 1).data, row, call->out.columns, &work->mask);
}

rotary_status cpu_drop(const struct backend *backend, const struct backend_drop *call, rotary_error *error)
{
    struct work work = {
        .call = call, .mask = dropout_mask(call->dropout), .rows = call->out.rows, .row = drop_row};
    if (work.mask.threshold)
        return run(backend, &work);
    const struct backend_copy_rows copy = {.out = call->out, .in = call->in};
    return call->out.data == call->in.data ? ROTARY_OK : cpu_copy_rows(backend, &copy, error);
}
