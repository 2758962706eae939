/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations of the cpu backend.
 */
#include "backend/cpu.h"

#include "base/integer.h"
#include "base/threads.h"

enum { BLOCK_ELEMENTS = 1 << 15 };

struct rows {
    const struct layer_kernels *kernels;
    enum activation kind;
    struct matrix out, pre;            /* forward; in a backward pass `out` may have no data */
    struct matrix d_pre, d_out, saved; /* backward */
    struct layer_mask mask;
    int64_t count, block;
};

/* Gated ones have that of the gate. */
static enum layer_activation kernel_of(enum activation kind)
{
    static const enum layer_activation kernels[] = {[ACTIVATION_RELU] = LAYER_RELU,
                                                    [ACTIVATION_GELU] = LAYER_GELU,
                                                    [ACTIVATION_SWIGLU] = LAYER_SILU,
                                                    [ACTIVATION_GELU_TANH] = LAYER_GELU_TANH,
                                                    [ACTIVATION_GEGLU_TANH] = LAYER_GELU_TANH,
                                                    [ACTIVATION_TANH] = LAYER_TANH};
    return kernels[kind];
}

static char *row_of(const struct matrix *matrix, int64_t row)
{
    return matrix_rows(*matrix, row, 1).data;
}

/* Offset in bytes of `up` in a row gate | up. */
static size_t up_offset(const struct matrix *matrix)
{
    return (size_t)(matrix->columns / 2) * rotary_dtype_size(matrix->dtype);
}

static void forward_row(const struct rows *rows, int64_t row)
{
    const char *pre = row_of(&rows->pre, row);
    char *out = row_of(&rows->out, row);
    if (activation_is_gated(rows->kind))
        rows->kernels->gated(kernel_of(rows->kind), rows->out.dtype, out, pre, pre + up_offset(&rows->pre),
                             rows->out.columns);
    else
        rows->kernels->activate(kernel_of(rows->kind), rows->out.dtype, out, pre, rows->out.columns);
    if (rows->mask.threshold)
        rows->kernels->drop(rows->out.dtype, out, out, row, rows->out.columns, &rows->mask);
}

static void backward_row(const struct rows *rows, int64_t row)
{
    const char *saved = row_of(&rows->saved, row);
    char *d_out = row_of(&rows->d_out, row), *d_pre = row_of(&rows->d_pre, row),
         *out = rows->out.data ? row_of(&rows->out, row) : NULL;
    if (rows->mask.threshold)
        rows->kernels->drop(rows->d_out.dtype, d_out, d_out, row, rows->d_out.columns, &rows->mask);
    if (activation_is_gated(rows->kind))
        rows->kernels->gated_backward(kernel_of(rows->kind), rows->d_out.dtype, d_pre,
                                      d_pre + up_offset(&rows->d_pre), out, d_out, saved,
                                      saved + up_offset(&rows->saved), rows->d_out.columns);
    else
        rows->kernels->activate_backward(kernel_of(rows->kind), rows->d_out.dtype, d_pre, out, d_out, saved,
                                         rows->d_out.columns);
    if (out && rows->mask.threshold)
        rows->kernels->drop(rows->out.dtype, out, out, row, rows->out.columns, &rows->mask);
}

static void run_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct rows *rows = argument;
    int64_t end = (index + 1) * rows->block;
    for (int64_t row = index * rows->block; row < end && row < rows->count; row++)
        if (rows->d_pre.data)
            backward_row(rows, row);
        else
            forward_row(rows, row);
}

static rotary_status run(const struct backend *backend, struct rows *rows, struct matrix shape)
{
    rows->kernels = cpu_of(backend)->kernels;
    rows->count = shape.rows;
    rows->block = max_i64(BLOCK_ELEMENTS / shape.columns, 1);
    rotary_parallel_for(backend->threads, divide_up(rows->count, rows->block), run_block, rows);
    return ROTARY_OK;
}

rotary_status cpu_activation_forward(const struct backend *backend,
                                     const struct backend_activation_forward *call, rotary_error *error)
{
    (void)error;
    struct rows rows = {
        .kind = call->kind, .out = call->out, .pre = call->pre, .mask = dropout_mask(call->dropout)};
    return run(backend, &rows, call->out);
}

rotary_status cpu_activation_backward(const struct backend *backend,
                                      const struct backend_activation_backward *call, rotary_error *error)
{
    (void)error;
    struct rows rows = {.kind = call->kind,
                        .d_pre = call->d_pre,
                        .d_out = call->d_out,
                        .saved = call->saved,
                        .out = call->out,
                        .mask = dropout_mask(call->dropout)};
    return run(backend, &rows, call->d_out);
}
