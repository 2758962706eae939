/* SPDX-License-Identifier: Apache-2.0
 *
 * Norms of heads in the cpu backend: a row is converted to f32, and its heads are the rows of the norm's
 * kernel.
 */
#include "backend/cpu.h"

#include "base/integer.h"
#include "base/threads.h"

#include <string.h>

enum { BLOCK_ROWS = 64 }; /* rows of a work item, which sums them into one partial gradient */

struct heads {
    const struct layer_kernels *kernels;
    const struct backend_head_norm_forward *forward; /* one of these two is NULL */
    const struct backend_head_norm_backward *backward;
    struct matrix in;
    int64_t heads, width; /* width: of a head */
    float *rows;          /* [workers][2][heads * width]: input and its gradient in f32 */
    float *partial;       /* [blocks][2][width]: partial d_gain, d_bias */
};

static void forward_row(const struct heads *heads, int64_t row, const float *x)
{
    const struct backend_head_norm_forward *call = heads->forward;
    const struct layer_norm_forward work = {.rows = heads->heads,
                                            .width = heads->width,
                                            .rms = call->norm.kind == NORM_RMS,
                                            .epsilon = call->norm.epsilon,
                                            .gain = call->norm.gain,
                                            .bias = call->norm.bias,
                                            .storage = call->out.dtype,
                                            .residual = x,
                                            .normalised = matrix_rows(call->out, row, 1).data,
                                            .normalised_stride = heads->width,
                                            .mean = call->mean ? call->mean + row * heads->heads : NULL,
                                            .rstd = call->rstd ? call->rstd + row * heads->heads : NULL};
    heads->kernels->norm_forward(&work);
}

static void backward_row(const struct heads *heads, int64_t row, float *x, float *partial)
{
    const struct backend_head_norm_backward *call = heads->backward;
    bool rms = call->norm.kind == NORM_RMS;
    const struct layer_norm_backward work = {.rows = heads->heads,
                                             .width = heads->width,
                                             .rms = rms,
                                             .storage = call->d_out.dtype,
                                             .gain = call->norm.gain,
                                             .residual_sum = x,
                                             .mean = call->mean + row * heads->heads,
                                             .rstd = call->rstd + row * heads->heads,
                                             .d_normalised = matrix_rows(call->d_out, row, 1).data,
                                             .d_normalised_stride = heads->width,
                                             .d_residual = x + heads->heads * heads->width,
                                             .d_sublayer_output = matrix_rows(call->d_in, row, 1).data,
                                             .d_sublayer_output_stride = heads->width,
                                             .mask = {.scale = 1.0f},
                                             .d_gain = partial,
                                             .d_bias = rms ? NULL : partial + heads->width};
    heads->kernels->norm_backward(&work);
}

static void run_block(void *argument, int64_t index, int worker)
{
    const struct heads *heads = argument;
    int64_t first = index * BLOCK_ROWS, columns = heads->heads * heads->width;
    int64_t end = min_i64(first + BLOCK_ROWS, heads->in.rows);
    float *x = heads->rows + worker * 2 * columns, *partial = heads->partial + index * 2 * heads->width;
    if (heads->backward)
        memset(partial, 0, (size_t)(2 * heads->width) * sizeof(float));
    for (int64_t row = first; row < end; row++) {
        heads->kernels->from_storage(heads->in.dtype, x, matrix_rows(heads->in, row, 1).data, columns);
        if (heads->backward)
            backward_row(heads, row, x, partial);
        else
            forward_row(heads, row, x);
    }
}

static rotary_status run(const struct backend *backend, struct heads *heads, rotary_error *error)
{
    int64_t blocks = divide_up(heads->in.rows, BLOCK_ROWS),
            rows = backend->threads * 2 * heads->heads * heads->width;
    void *memory;
    rotary_status status =
        cpu_scratch(backend, &memory, rows + blocks * 2 * heads->width, sizeof(float), error);
    if (status != ROTARY_OK)
        return status;
    heads->kernels = cpu_of(backend)->kernels;
    heads->rows = memory;
    heads->partial = heads->rows + rows;
    rotary_parallel_for(backend->threads, blocks, run_block, heads);
    return ROTARY_OK;
}

rotary_status cpu_head_norm_forward(const struct backend *backend,
                                    const struct backend_head_norm_forward *call, rotary_error *error)
{
    struct heads heads = {
        .forward = call, .in = call->in, .heads = call->heads, .width = call->in.columns / call->heads};
    return run(backend, &heads, error);
}

rotary_status cpu_head_norm_backward(const struct backend *backend,
                                     const struct backend_head_norm_backward *call, rotary_error *error)
{
    struct heads heads = {
        .backward = call, .in = call->in, .heads = call->heads, .width = call->in.columns / call->heads};
    rotary_status status = run(backend, &heads, error);
    if (status != ROTARY_OK)
        return status;
    const struct cpu_norm_gradients sums = {.d_gain = call->d_gain,
                                            .d_bias = call->d_bias,
                                            .partial = heads.partial,
                                            .blocks = divide_up(call->in.rows, BLOCK_ROWS),
                                            .width = heads.width};
    cpu_add_norm_gradients(backend, &sums);
    return ROTARY_OK;
}
