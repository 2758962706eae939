/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/norm.h"

#include "base/integer.h"
#include "base/threads.h"
#include "kernel/layer/layer_kernels.h"

#include <stdio.h>
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

rotary_status norm_create(struct norm *norm, const struct norm_config *config, struct parameters *parameters,
                          rotary_error *error)
{
    struct norm made = {.kind = config->kind, .width = config->width, .epsilon = config->epsilon, .bias = -1};
    struct parameter row = {.rows = config->width, .initial = INITIAL_ONE};
    snprintf(row.name, sizeof row.name, "%s.weight", config->name);
    rotary_status status = parameters_add(parameters, &row, &made.gain, error);
    if (status == ROTARY_OK && config->kind == NORM_LAYER) {
        row.initial = INITIAL_ZERO;
        snprintf(row.name, sizeof row.name, "%s.bias", config->name);
        status = parameters_add(parameters, &row, &made.bias, error);
    }
    if (status == ROTARY_OK)
        *norm = made;
    return status;
}

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
    work.normalised = matrix_rows(forward->normalised, first, work.rows).data;
    if (work.normalised_f32)
        work.normalised_f32 += offset;
    if (work.mean) {
        work.mean += first;
        work.rstd += first;
    }
    forward->kernels->norm_forward(&work);
}

void norm_forward(const struct norm *norm, const struct backend *backend, const struct parameters *parameters,
                  const struct norm_forward_call *call)
{
    struct forward forward = {.kernels = backend->kernels,
                              .sublayer_output = call->sublayer_output,
                              .normalised = call->normalised,
                              .all = {.rows = call->rows,
                                      .width = norm->width,
                                      .rms = norm->kind == NORM_RMS,
                                      .epsilon = norm->epsilon,
                                      .gain = parameter_value(parameters, norm->gain),
                                      .bias = parameter_value(parameters, norm->bias),
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
}

int64_t norm_scratch(const struct norm *norm, int64_t rows)
{
    return blocks_of(rows) * 2 * norm->width;
}

struct backward {
    const struct layer_kernels *kernels;
    struct layer_norm_backward all;
    struct matrix d_normalised, d_sublayer_output;
    float *scratch; /* [blocks][2][width]: partial d_gain, d_bias */
};

static void backward_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    struct layer_norm_backward work = backward->all;
    int64_t first = index * BLOCK_ROWS, offset = first * work.width;
    float *partial = backward->scratch + index * 2 * work.width;
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

void norm_backward(const struct norm *norm, const struct backend *backend, struct parameters *parameters,
                   const struct norm_backward_call *call)
{
    int64_t blocks = blocks_of(call->rows), width = norm->width;
    struct backward backward = {.kernels = backend->kernels,
                                .d_normalised = call->d_normalised,
                                .d_sublayer_output = call->d_sublayer_output,
                                .scratch = call->scratch,
                                .all = {.rows = call->rows,
                                        .width = width,
                                        .rms = norm->kind == NORM_RMS,
                                        .accumulate = call->accumulate,
                                        .storage = backend->storage,
                                        .gain = parameter_value(parameters, norm->gain),
                                        .residual_sum = call->residual_sum,
                                        .mean = call->mean,
                                        .rstd = call->rstd,
                                        .d_normalised_stride = call->d_normalised.stride,
                                        .d_normalised_f32 = call->d_normalised_f32,
                                        .d_residual = call->d_residual,
                                        .d_sublayer_output_stride = call->d_sublayer_output.stride,
                                        .mask = dropout_mask(call->dropout)}};
    rotary_parallel_for(backend->threads, blocks, backward_block, &backward);
    backend->kernels->column_sums(parameter_gradient(parameters, norm->gain), ROTARY_F32, call->scratch,
                                  blocks, width, 2 * width);
    if (norm->bias >= 0)
        backend->kernels->column_sums(parameter_gradient(parameters, norm->bias), ROTARY_F32,
                                      call->scratch + width, blocks, width, 2 * width);
}
