/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/residual.h"

#include "base/integer.h"
#include "base/threads.h"
#include "kernel/layer/layer_kernels.h"

enum { BLOCK_ROWS = 64 };

struct residual_work {
    const struct layer_kernels *kernels;
    struct matrix storage;
    const float *from;
    float *to;
};

static int64_t blocks_of(int64_t rows)
{
    return divide_up(rows, BLOCK_ROWS);
}

static int64_t block_end(int64_t index, int64_t rows)
{
    return min_i64((index + 1) * BLOCK_ROWS, rows);
}

static void cast_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct residual_work *work = argument;
    struct matrix out = work->storage;
    for (int64_t row = index * BLOCK_ROWS; row < block_end(index, out.rows); row++) {
        const float *from = work->from + row * out.columns;
        void *to = matrix_rows(out, row, 1).data;
        work->kernels->to_storage(out.dtype, to, from, out.columns);
    }
}

static void add_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct residual_work *work = argument;
    struct matrix in = work->storage;
    for (int64_t row = index * BLOCK_ROWS; row < block_end(index, in.rows); row++) {
        float *to = work->to + row * in.columns;
        const void *from = matrix_rows(in, row, 1).data;
        work->kernels->column_sums(to, in.dtype, from, 1, in.columns, in.stride);
    }
}

void residual_cast(const struct backend *backend, struct matrix out, const float *from)
{
    struct residual_work work = {.kernels = backend->kernels, .storage = out, .from = from};
    rotary_parallel_for(backend->threads, blocks_of(out.rows), cast_block, &work);
}

void residual_add(const struct backend *backend, float *to, struct matrix from)
{
    struct residual_work work = {.kernels = backend->kernels, .storage = from, .to = to};
    rotary_parallel_for(backend->threads, blocks_of(from.rows), add_block, &work);
}
