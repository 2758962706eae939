/* SPDX-License-Identifier: Apache-2.0
 *
 * The forward and backward passes of a stack, and decoding. stack.h has the equations.
 */
#include "backend/profile.h"
#include "base/arena.h"
#include "model/stack_parts.h"

struct pass;
/* Runs sublayer k - 1 of the stack: forward or decoding. */
typedef rotary_status run_sublayer(const struct pass *pass, struct sublayer *sublayer, struct matrix out,
                                   struct matrix in, int64_t k);

struct pass {
    struct stack *stack;
    const struct parameters *parameters;
    struct parameters *gradients; /* the same table, in the backward pass alone */
    int64_t rows;
    struct dropout dropout;
    run_sublayer *run;
    const struct stack_call *call;
    const struct stack_decode_call *decode;
    rotary_error *error;
};

static struct dropout dropout_at(const struct pass *pass, int64_t k)
{
    struct dropout dropout = pass->dropout;
    dropout.site = pass->stack->config.first_site + (uint32_t)k;
    return dropout;
}

/* Forward and backward each move about three f32 matrices and two of the storage type. */
static void record_norm_profile(const struct pass *pass, double begin, const char *what)
{
    const struct backend *backend = pass->stack->backend;
    double elements = (double)pass->rows * (double)pass->stack->config.width;
    profile_end(backend->profile, begin, "residual sum and norm", what, 0.0,
                elements * (3.0 * sizeof(float) + 2.0 * (double)rotary_dtype_size(backend->storage)));
}

/* x_0 and what the first sublayer reads, from the input. */
static rotary_status start_stream(const struct pass *pass)
{
    struct stack *stack = pass->stack;
    const struct stream_point *point = &stack->points[0];
    struct matrix normalised = first_rows(point->normalised, pass->rows);
    if (!point->has_norm) {
        const struct backend_cast cast = {.out = normalised, .in = point->stream};
        return stack->backend->operations->cast(stack->backend, &cast, pass->error);
    }
    const struct backend_norm_forward call = {.rows = pass->rows,
                                              .residual = point->stream,
                                              .normalised = normalised,
                                              .mean = point->mean,
                                              .rstd = point->rstd};
    return norm_forward(&point->norm, pass->parameters, &call, pass->error);
}

/* x_k and what the next sublayer reads, from the output of sublayer k. */
static rotary_status point_forward(const struct pass *pass, int64_t k)
{
    struct stack *stack = pass->stack;
    const struct stream_point *point = &stack->points[k];
    const struct backend_norm_forward call = {
        .rows = pass->rows,
        .residual = stack->points[k - 1].stream,
        .sublayer_output = first_rows(stack->sublayer_output, pass->rows),
        .dropout = dropout_at(pass, k),
        .residual_sum = point->sum,
        .normalised = first_rows(point->normalised, pass->rows),
        .normalised_f32 = point->norm_is_stream ? point->stream : NULL,
        .mean = point->mean,
        .rstd = point->rstd,
    };
    double begin = profile_begin(stack->backend->profile);
    rotary_status status = norm_forward(&point->norm, pass->parameters, &call, pass->error);
    record_norm_profile(pass, begin, "forward");
    return status;
}

/* The gradients of the sum and of the output of sublayer k, from that of what the next sublayer reads.
 * d_stream holds the gradient along the stream: where the norm is the stream, that of the normalised sum;
 * else that of the sum, and this adds to it. `last`: the first in the backward pass, where d_stream is
 * unset. */
static rotary_status point_backward(const struct pass *pass, int64_t k, bool last)
{
    struct stack *stack = pass->stack;
    const struct stream_point *point = &stack->points[k];
    struct backend_norm_backward call = {
        .rows = pass->rows,
        .residual_sum = point->sum,
        .mean = point->mean,
        .rstd = point->rstd,
        .d_normalised = first_rows(stack->d_normalised, pass->rows),
        .accumulate = !point->norm_is_stream && !last,
        .d_normalised_f32 = point->norm_is_stream && !last ? stack->d_stream : NULL,
        .d_residual = stack->d_stream,
        .dropout = dropout_at(pass, k),
    };
    if (k > 0)
        call.d_sublayer_output = first_rows(stack->sublayer_output, pass->rows);
    double begin = profile_begin(stack->backend->profile);
    rotary_status status = norm_backward(&point->norm, pass->gradients, &call, pass->error);
    record_norm_profile(pass, begin, "backward");
    return status;
}

static rotary_status run(const struct pass *pass)
{
    struct stack *stack = pass->stack;
    rotary_status status = start_stream(pass);
    for (int64_t k = 1; status == ROTARY_OK && k <= stack->count; k++) {
        struct matrix in = first_rows(stack->points[k - 1].normalised, pass->rows),
                      out = first_rows(stack->sublayer_output, pass->rows);
        status = pass->run(pass, stack->sublayers[k - 1].sublayer, out, in, k - 1);
        if (status == ROTARY_OK)
            status = point_forward(pass, k);
    }
    return status;
}

static rotary_status run_forward(const struct pass *pass, struct sublayer *sublayer, struct matrix out,
                                 struct matrix in, int64_t k)
{
    (void)k;
    const struct sublayer_forward_call call = {.tokens = pass->call->tokens, .out = out, .in = in};
    return sublayer->type->forward(sublayer, pass->parameters, &call, pass->error);
}

rotary_status stack_forward(struct stack *stack, const struct parameters *parameters,
                            const struct stack_call *call, rotary_error *error)
{
    struct pass pass = {.stack = stack,
                        .parameters = parameters,
                        .rows = sublayer_rows(&call->tokens),
                        .dropout = call->dropout,
                        .run = run_forward,
                        .call = call,
                        .error = error};
    return run(&pass);
}

static rotary_status run_decode(const struct pass *pass, struct sublayer *sublayer, struct matrix out,
                                struct matrix in, int64_t k)
{
    const struct stack_decode_call *decode = pass->decode;
    const struct sublayer_decode_call call = {.batch = decode->batch,
                                              .counts = decode->counts,
                                              .lengths = decode->lengths,
                                              .out = out,
                                              .in = in,
                                              .cache = decode->cache->sublayers[k],
                                              .workspace = decode->cache->workspace};
    return sublayer->type->decode(sublayer, pass->parameters, &call, pass->error);
}

rotary_status stack_decode(struct stack *stack, const struct parameters *parameters,
                           const struct stack_decode_call *call, rotary_error *error)
{
    struct pass pass = {.stack = stack,
                        .parameters = parameters,
                        .rows = call->rows,
                        .run = run_decode,
                        .decode = call,
                        .error = error};
    return run(&pass);
}

rotary_status stack_backward(struct stack *stack, struct parameters *parameters,
                             const struct stack_call *call, rotary_error *error)
{
    struct pass pass = {.stack = stack,
                        .parameters = parameters,
                        .gradients = parameters,
                        .rows = sublayer_rows(&call->tokens),
                        .dropout = call->dropout,
                        .error = error};
    for (int64_t k = stack->count; k >= 1; k--) {
        rotary_status status = point_backward(&pass, k, k == stack->count);
        if (status != ROTARY_OK)
            return status;
        struct sublayer *sublayer = stack->sublayers[k - 1].sublayer;
        const struct sublayer_backward_call backward = {
            .tokens = call->tokens,
            .d_in = first_rows(stack->d_normalised, pass.rows),
            .d_out = first_rows(stack->sublayer_output, pass.rows),
            .in = first_rows(stack->points[k - 1].normalised, pass.rows)};
        status = sublayer->type->backward(sublayer, parameters, &backward, error);
        if (status != ROTARY_OK)
            return status;
    }
    if (stack->points[0].has_norm)
        return point_backward(&pass, 0, false);
    const struct backend_add add = {.to = stack->d_stream, .in = first_rows(stack->d_normalised, pass.rows)};
    return stack->backend->operations->add(stack->backend, &add, error);
}
