/* SPDX-License-Identifier: Apache-2.0
 *
 * Means of rows that follow one another, as of the tokens of a sequence, in the cpu backend.
 */
#include "backend/cpu.h"

#include "base/integer.h"
#include "base/threads.h"

enum { BLOCK_COLUMNS = 256 }; /* summed at once, in f32 */

struct forward_work {
    const struct layer_kernels *kernels;
    const struct backend_mean_rows_forward *call;
};

struct backward_work {
    const struct layer_kernels *kernels;
    const struct backend_mean_rows_backward *call;
};

static void mean_row(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct forward_work *work = argument;
    const struct backend_mean_rows_forward *call = work->call;
    const int64_t rows = call->counts[index];
    for (int64_t first = 0, columns; first < call->out.columns; first += columns) {
        columns = min_i64(BLOCK_COLUMNS, call->out.columns - first);
        const struct matrix in = matrix_block(call->in, call->first[index], rows, first, columns),
                            out = matrix_block(call->out, index, 1, first, columns);
        float sums[BLOCK_COLUMNS] = {0};
        work->kernels->column_sums(sums, in.dtype, in.data, rows, columns, in.stride);
        for (int64_t i = 0; i < columns; i++)
            sums[i] /= (float)rows;
        work->kernels->to_storage(out.dtype, out.data, sums, columns);
    }
}

rotary_status cpu_mean_rows_forward(const struct backend *backend,
                                    const struct backend_mean_rows_forward *call, rotary_error *error)
{
    (void)error;
    struct forward_work work = {cpu_of(backend)->kernels, call};
    rotary_parallel_for(backend->threads, call->out.rows, mean_row, &work);
    return ROTARY_OK;
}

static void spread_row(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward_work *work = argument;
    const struct backend_mean_rows_backward *call = work->call;
    const int64_t rows = call->counts[index];
    for (int64_t first = 0, columns; first < call->d_out.columns; first += columns) {
        columns = min_i64(BLOCK_COLUMNS, call->d_out.columns - first);
        const struct matrix d_out = matrix_block(call->d_out, index, 1, first, columns),
                            d_in = matrix_block(call->d_in, call->first[index], rows, first, columns);
        float share[BLOCK_COLUMNS];
        work->kernels->from_storage(d_out.dtype, share, d_out.data, columns);
        for (int64_t i = 0; i < columns; i++)
            share[i] /= (float)rows;
        for (int64_t row = 0; row < rows; row++)
            work->kernels->to_storage(d_in.dtype, matrix_rows(d_in, row, 1).data, share, columns);
    }
}

rotary_status cpu_mean_rows_backward(const struct backend *backend,
                                     const struct backend_mean_rows_backward *call, rotary_error *error)
{
    (void)error;
    struct backward_work work = {cpu_of(backend)->kernels, call};
    rotary_parallel_for(backend->threads, call->d_out.rows, spread_row, &work);
    return ROTARY_OK;
}
