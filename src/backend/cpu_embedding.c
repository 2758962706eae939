/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of embedding tables and of their gradients, in the cpu backend.
 */
#include "backend/cpu.h"

#include "base/integer.h"
#include "base/threads.h"

enum {
    BLOCK_ROWS = 128,  /* of a forward work item */
    SLICE_COLUMNS = 64 /* of a backward work item, and of a draw of dropout */
};

struct gather {
    const struct layer_kernels *kernels;
    const struct backend_embedding_forward *call;
    struct layer_mask mask;
};

static const struct layer_mask keep_all = {.scale = 1.0f};

/* The row of the token's type, and dropout of the sum. */
static void add_type(const struct gather *gather, int64_t row)
{
    const struct backend_embedding_forward *call = gather->call;
    int64_t width = call->width, type = call->types ? call->types[row] : 0;
    float *out = call->out + row * width;
    gather->kernels->column_sums(out, ROTARY_F32, call->type_table + type * width, 1, width, width);
    if (gather->mask.threshold)
        gather->kernels->drop(ROTARY_F32, out, out, row, width, &gather->mask);
}

static void gather_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct gather *gather = argument;
    const struct backend_embedding_forward *call = gather->call;
    int64_t width = call->width, end = min_i64((index + 1) * BLOCK_ROWS, call->rows);
    for (int64_t row = index * BLOCK_ROWS; row < end; row++) {
        int64_t position = call->positions ? call->positions[row] : row % call->time;
        gather->kernels->embed(call->out + row * width, call->table + call->tokens[row] * width,
                               call->position_table ? call->position_table + position * width : NULL,
                               call->scale, row, 0, width, call->type_table ? &keep_all : &gather->mask);
        if (call->type_table)
            add_type(gather, row);
    }
}

rotary_status cpu_embedding_forward(const struct backend *backend,
                                    const struct backend_embedding_forward *call, rotary_error *error)
{
    (void)error;
    struct gather gather = {
        .kernels = cpu_of(backend)->kernels, .call = call, .mask = dropout_mask(call->dropout)};
    rotary_parallel_for(backend->threads, divide_up(call->rows, BLOCK_ROWS), gather_block, &gather);
    return ROTARY_OK;
}

struct scatter {
    const struct layer_kernels *kernels;
    const struct backend_embedding_backward *call;
    float *unwanted; /* [width]: where the gradient of a frozen table goes */
    struct layer_mask mask;
};

/* Adds a slice of columns of every row. Rows of the same token, or type, are summed in row order. */
static void scatter_slice(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct scatter *scatter = argument;
    const struct backend_embedding_backward *call = scatter->call;
    int64_t column = index * SLICE_COLUMNS, columns = min_i64(call->width - column, SLICE_COLUMNS);
    for (int64_t row = 0; row < call->rows; row++) {
        int64_t position = call->positions ? call->positions[row] : row % call->time;
        float *d_table = call->d_table ? call->d_table + call->tokens[row] * call->width + column
                                       : scatter->unwanted + column;
        float *d_position =
            call->d_position_table ? call->d_position_table + position * call->width + column : NULL;
        const float *d_out = call->d_out + row * call->width + column;
        scatter->kernels->embed_backward(d_table, d_position, d_out, call->scale, row, column, columns,
                                         &scatter->mask);
        int64_t type = call->types ? call->types[row] : 0;
        if (call->d_type_table)
            scatter->kernels->embed_backward(call->d_type_table + type * call->width + column, NULL, d_out,
                                             1.0f, row, column, columns, &scatter->mask);
    }
}

rotary_status cpu_embedding_backward(const struct backend *backend,
                                     const struct backend_embedding_backward *call, rotary_error *error)
{
    if (!call->d_table && !call->d_position_table && !call->d_type_table)
        return ROTARY_OK;
    struct scatter scatter = {
        .kernels = cpu_of(backend)->kernels, .call = call, .mask = dropout_mask(call->dropout)};
    void *memory;
    rotary_status status = cpu_scratch(backend, &memory, call->width, sizeof(float), error);
    if (status != ROTARY_OK)
        return status;
    scatter.unwanted = memory;
    rotary_parallel_for(backend->threads, divide_up(call->width, SLICE_COLUMNS), scatter_slice, &scatter);
    return ROTARY_OK;
}
