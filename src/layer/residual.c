/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/residual.h"

#include "base/threads.h"
#include "kernel/layer/layer_kernels.h"

enum { ROWS_A_PIECE = 64 };

struct passage {
    const struct layer_kernels *kernels;
    struct matrix narrow;
    const float *from;
    float *to;
};

static int64_t pieces(int64_t rows)
{
    return (rows + ROWS_A_PIECE - 1) / ROWS_A_PIECE;
}

static int64_t piece_end(int64_t index, int64_t rows)
{
    int64_t end = (index + 1) * ROWS_A_PIECE;
    return end < rows ? end : rows;
}

static void read_piece(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct passage *passage = argument;
    struct matrix out = passage->narrow;
    for (int64_t row = index * ROWS_A_PIECE; row < piece_end(index, out.rows); row++) {
        const float *from = passage->from + row * out.columns;
        void *to = matrix_rows(out, row, 1).data;
        passage->kernels->to_storage(out.dtype, to, from, out.columns);
    }
}

static void add_piece(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct passage *passage = argument;
    struct matrix in = passage->narrow;
    for (int64_t row = index * ROWS_A_PIECE; row < piece_end(index, in.rows); row++) {
        float *to = passage->to + row * in.columns;
        const void *from = matrix_rows(in, row, 1).data;
        passage->kernels->column_sums(to, in.dtype, from, 1, in.columns, in.stride);
    }
}

void residual_read(const struct compute *compute, struct matrix out, const float *from)
{
    struct passage passage = {.kernels = compute->kernels, .narrow = out, .from = from};
    rotary_parallel_for(compute->threads, pieces(out.rows), read_piece, &passage);
}

void residual_add(const struct compute *compute, float *to, struct matrix from)
{
    struct passage passage = {.kernels = compute->kernels, .narrow = from, .to = to};
    rotary_parallel_for(compute->threads, pieces(from.rows), add_piece, &passage);
}
