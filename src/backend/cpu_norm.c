/* SPDX-License-Identifier: Apache-2.0
 *
 * Residual sums and their norms in the cpu backend.
 */
#include "backend/cpu.h"

#include "base/integer.h"
#include "base/threads.h"

#include <string.h>

enum { BLOCK_ROWS = 64 }; /* rows of a work item, which sums them into one partial gradient */

static int64_t blocks_of(int64_t rows)
{
    return divide_up(rows, BLOCK_ROWS);
}

static int64_t rows_of_block(int64_t index, int64_t rows)
{
    return min_i64(rows - index * BLOCK_ROWS, BLOCK_ROWS);
}

/* ---- LayerNorm and RMSNorm. ---- */

struct forward {
    const struct layer_kernels *kernels;
    struct layer_norm_forward all; /* of all rows; each block derives its own */
    struct matrix sublayer_output, normalised;
};

static void forward_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct forward *forward = argument;
    struct layer_norm_forward work = forward->all;
    int64_t first = index * BLOCK_ROWS, offset = first * work.width;
    work.first = first;
    work.rows = rows_of_block(index, forward->all.rows);
    work.residual += offset;
    if (forward->sublayer_output.data) {
        work.sublayer_output = matrix_rows(forward->sublayer_output, first, work.rows).data;
        work.residual_sum += offset;
    }
    if (forward->normalised.data)
        work.normalised = matrix_rows(forward->normalised, first, work.rows).data;
    if (work.normalised_f32)
        work.normalised_f32 += offset;
    if (work.mean) {
        work.mean += first;
        work.rstd += first;
    }
    forward->kernels->norm_forward(&work);
}

static rotary_status norm_forward(const struct backend *backend, const struct backend_norm_forward *call)
{
    struct forward forward = {.kernels = cpu_of(backend)->kernels,
                              .sublayer_output = call->sublayer_output,
                              .normalised = call->normalised,
                              .all = {.rows = call->rows,
                                      .width = call->width,
                                      .rms = call->norm.kind == NORM_RMS,
                                      .epsilon = call->norm.epsilon,
                                      .gain = call->norm.gain,
                                      .bias = call->norm.bias,
                                      .storage = backend->storage,
                                      .residual = call->residual,
                                      .sublayer_output_stride = call->sublayer_output.stride,
                                      .mask = dropout_mask(call->dropout),
                                      .residual_sum = call->residual_sum,
                                      .normalised_stride = call->normalised.stride,
                                      .normalised_f32 = call->normalised_f32,
                                      .mean = call->mean,
                                      .rstd = call->rstd}};
    rotary_parallel_for(backend->threads, blocks_of(call->rows), forward_block, &forward);
    return ROTARY_OK;
}

struct backward {
    const struct layer_kernels *kernels;
    struct layer_norm_backward all;
    struct matrix d_normalised, d_sublayer_output;
    float *partial; /* [blocks][2][width]: partial d_gain, d_bias */
};

static void backward_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    struct layer_norm_backward work = backward->all;
    int64_t first = index * BLOCK_ROWS, offset = first * work.width;
    float *partial = backward->partial + index * 2 * work.width;
    memset(partial, 0, (size_t)(2 * work.width) * sizeof(float));
    work.first = first;
    work.rows = rows_of_block(index, backward->all.rows);
    work.residual_sum += offset;
    work.mean += first;
    work.rstd += first;
    if (backward->d_normalised.data)
        work.d_normalised = matrix_rows(backward->d_normalised, first, work.rows).data;
    if (work.d_normalised_f32)
        work.d_normalised_f32 += offset;
    work.d_residual += offset;
    if (backward->d_sublayer_output.data)
        work.d_sublayer_output = matrix_rows(backward->d_sublayer_output, first, work.rows).data;
    work.d_gain = partial;
    work.d_bias = work.rms ? NULL : partial + work.width;
    backward->kernels->norm_backward(&work);
}

void cpu_add_norm_gradients(const struct backend *backend, const struct cpu_norm_gradients *sums)
{
    const struct layer_kernels *kernels = cpu_of(backend)->kernels;
    int64_t width = sums->width;
    if (sums->d_gain)
        kernels->column_sums(sums->d_gain, ROTARY_F32, sums->partial, sums->blocks, width, 2 * width);
    if (sums->d_bias)
        kernels->column_sums(sums->d_bias, ROTARY_F32, sums->partial + width, sums->blocks, width, 2 * width);
}

static rotary_status norm_backward(const struct backend *backend, const struct backend_norm_backward *call,
                                   rotary_error *error)
{
    int64_t blocks = blocks_of(call->rows), width = call->width;
    void *partial;
    rotary_status status = cpu_scratch(backend, &partial, blocks * 2 * width, sizeof(float), error);
    if (status != ROTARY_OK)
        return status;
    struct backward backward = {.kernels = cpu_of(backend)->kernels,
                                .d_normalised = call->d_normalised,
                                .d_sublayer_output = call->d_sublayer_output,
                                .partial = partial,
                                .all = {.rows = call->rows,
                                        .width = width,
                                        .rms = call->norm.kind == NORM_RMS,
                                        .accumulate = call->accumulate,
                                        .storage = backend->storage,
                                        .gain = call->norm.gain,
                                        .residual_sum = call->residual_sum,
                                        .mean = call->mean,
                                        .rstd = call->rstd,
                                        .d_normalised_stride = call->d_normalised.stride,
                                        .d_normalised_f32 = call->d_normalised_f32,
                                        .d_residual = call->d_residual,
                                        .d_sublayer_output_stride = call->d_sublayer_output.stride,
                                        .mask = dropout_mask(call->dropout)}};
    rotary_parallel_for(backend->threads, blocks, backward_block, &backward);
    const struct cpu_norm_gradients sums = {
        .d_gain = call->d_gain, .d_bias = call->d_bias, .partial = partial, .blocks = blocks, .width = width};
    cpu_add_norm_gradients(backend, &sums);
    return ROTARY_OK;
}

/* ---- The sum alone. ---- */

struct sum {
    const struct layer_kernels *kernels;
    const struct backend_norm_forward *forward; /* one of these two is NULL */
    const struct backend_norm_backward *backward;
    struct layer_mask mask;
    int64_t rows, width;
    float *row; /* [workers][width] */
};

static void sum_row(const struct sum *sum, int64_t row, float *buffer)
{
    const struct backend_norm_forward *call = sum->forward;
    int64_t width = sum->width;
    size_t bytes = (size_t)width * sizeof(float);
    const float *x = call->residual + row * width;
    struct matrix f = call->sublayer_output, h = call->normalised;
    if (f.data) {
        float *to = call->residual_sum + row * width;
        if (to != x)
            memcpy(to, x, bytes);
        sum->kernels->from_storage(f.dtype, buffer, matrix_rows(f, row, 1).data, width);
        sum->kernels->embed_backward(to, NULL, buffer, 1.0f, row, 0, width, &sum->mask);
        x = to;
    }
    if (h.data)
        sum->kernels->to_storage(h.dtype, matrix_rows(h, row, 1).data, x, width);
    if (call->normalised_f32)
        memcpy(call->normalised_f32 + row * width, x, bytes);
}

static void sum_row_backward(const struct sum *sum, int64_t row, float *d)
{
    const struct backend_norm_backward *call = sum->backward;
    int64_t width = sum->width;
    size_t bytes = (size_t)width * sizeof(float);
    float *d_residual = call->d_residual + row * width;
    struct matrix d_f = call->d_sublayer_output, d_h = call->d_normalised;
    if (d_h.data)
        sum->kernels->from_storage(d_h.dtype, d, matrix_rows(d_h, row, 1).data, width);
    else
        memset(d, 0, bytes);
    if (call->d_normalised_f32)
        sum->kernels->column_sums(d, ROTARY_F32, call->d_normalised_f32 + row * width, 1, width, width);
    if (call->accumulate)
        sum->kernels->column_sums(d, ROTARY_F32, d_residual, 1, width, width);
    memcpy(d_residual, d, bytes);
    if (!d_f.data)
        return;
    sum->kernels->embed(d, d_residual, NULL, 1.0f, row, 0, width, &sum->mask);
    sum->kernels->to_storage(d_f.dtype, matrix_rows(d_f, row, 1).data, d, width);
}

static void sum_block(void *argument, int64_t index, int worker)
{
    const struct sum *sum = argument;
    int64_t first = index * BLOCK_ROWS, rows = rows_of_block(index, sum->rows);
    float *buffer = sum->row + worker * sum->width;
    for (int64_t row = first; row < first + rows; row++)
        if (sum->forward)
            sum_row(sum, row, buffer);
        else
            sum_row_backward(sum, row, buffer);
}

static rotary_status run_sum(const struct backend *backend, struct sum *sum, rotary_error *error)
{
    void *memory;
    rotary_status status = cpu_scratch(backend, &memory, backend->threads * sum->width, sizeof(float), error);
    if (status != ROTARY_OK)
        return status;
    sum->kernels = cpu_of(backend)->kernels;
    sum->row = memory;
    rotary_parallel_for(backend->threads, blocks_of(sum->rows), sum_block, sum);
    return ROTARY_OK;
}

rotary_status cpu_norm_forward(const struct backend *backend, const struct backend_norm_forward *call,
                               rotary_error *error)
{
    if (call->norm.kind != NORM_NONE)
        return norm_forward(backend, call);
    struct sum sum = {
        .forward = call, .mask = dropout_mask(call->dropout), .rows = call->rows, .width = call->width};
    return run_sum(backend, &sum, error);
}

rotary_status cpu_norm_backward(const struct backend *backend, const struct backend_norm_backward *call,
                                rotary_error *error)
{
    if (call->norm.kind != NORM_NONE)
        return norm_backward(backend, call, error);
    struct sum sum = {
        .backward = call, .mask = dropout_mask(call->dropout), .rows = call->rows, .width = call->width};
    return run_sum(backend, &sum, error);
}
