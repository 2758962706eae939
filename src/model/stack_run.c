/* SPDX-License-Identifier: Apache-2.0
 *
 * The forward and backward passes of a stack, and decoding. stack.h has the equations.
 */
#include "backend/profile.h"
#include "model/stack_parts.h"

struct pass;
/* Runs sublayers[k]: forward or decoding. */
typedef rotary_status run_sublayer(const struct pass *pass, int64_t k, struct matrix out, struct matrix in);

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

static struct matrix rows_of(const struct pass *pass, struct matrix m)
{
    return m.data ? first_rows(m, pass->rows) : m;
}

static struct dropout at_site(const struct pass *pass, struct dropout dropout, int64_t k)
{
    dropout.site = pass->stack->config.first_site + (uint32_t)k;
    return dropout;
}

static struct dropout activation_dropout_at(const struct pass *pass, int64_t k)
{
    struct dropout dropout = at_site(pass, pass->call->activation_dropout, k);
    dropout.site += DROPOUT_ACTIVATION_SITES;
    return dropout;
}

static struct dropout dropout_at(const struct pass *pass, int64_t k)
{
    return at_site(pass, pass->dropout, k);
}

/* Forward and backward each move about three f32 matrices and two of the storage type. */
static void record_norm_profile(const struct pass *pass, double begin, const char *what)
{
    const struct backend *backend = pass->stack->backend;
    double elements = (double)pass->rows * (double)pass->stack->config.width;
    profile_end(backend->profile, begin, "residual sum and norm", what, 0.0,
                elements * (3.0 * sizeof(float) + 2.0 * (double)rotary_dtype_size(backend->storage)));
}

static rotary_status norm_stream(const struct pass *pass, const struct stack_norm *norm, const float *stream)
{
    const struct backend_norm_forward call = {.rows = pass->rows,
                                              .residual = stream,
                                              .normalised = rows_of(pass, norm->normalised),
                                              .mean = norm->mean,
                                              .rstd = norm->rstd};
    return norm_forward(&norm->norm, pass->parameters, &call, pass->error);
}

/* The norms of those sublayers that read point k through one of their own. */
static rotary_status run_own_norms(const struct pass *pass, int64_t k)
{
    const struct stack *stack = pass->stack;
    rotary_status status = ROTARY_OK;
    for (int64_t j = k; status == ROTARY_OK && j < stack->count && stack->sublayers[j].reads == k; j++)
        if (stack->sublayers[j].has_own_norm)
            status = norm_stream(pass, &stack->sublayers[j].own, stack->points[k].stream);
    return status;
}

/* The norm of point k in the backward pass, where its memory has that of a later point: of the same sum, it
 * has the same bits. */
static rotary_status norm_again(const struct pass *pass, int64_t k)
{
    const struct stream_point *point = &pass->stack->points[k];
    if (point->fused.norm.kind == NORM_NONE)
        return ROTARY_OK;
    double begin = profile_begin(pass->stack->backend->profile);
    rotary_status status = norm_stream(pass, &point->fused, point->sum);
    record_norm_profile(pass, begin, "again in the backward pass");
    return status;
}

/* What the first sublayer reads, from the input. */
static rotary_status start_stream(const struct pass *pass)
{
    struct stack *stack = pass->stack;
    const struct stream_point *point = &stack->points[0];
    rotary_status status = ROTARY_OK;
    if (point->fused.norm.kind != NORM_NONE) {
        status = norm_stream(pass, &point->fused, point->stream);
    } else if (point->is_read) {
        const struct backend_cast call = {.out = rows_of(pass, point->fused.normalised), .in = point->stream};
        status = stack->backend->operations->cast(stack->backend, &call, pass->error);
    }
    return status == ROTARY_OK ? run_own_norms(pass, 0) : status;
}

/* y_k from the output of sublayer k. */
static rotary_status norm_output(const struct pass *pass, const struct stack_sublayer *row)
{
    if (!row->wiring.norm_output)
        return ROTARY_OK;
    const struct backend_head_norm_forward call = {.heads = 1,
                                                   .out = rows_of(pass, pass->stack->sublayer_output),
                                                   .in = rows_of(pass, row->output),
                                                   .mean = row->output_norm.mean,
                                                   .rstd = row->output_norm.rstd};
    return head_norm_forward(&row->output_norm.norm, pass->parameters, &call, pass->error);
}

/* x_k and what the sublayers after it read, from y_k. */
static rotary_status point_forward(const struct pass *pass, int64_t k)
{
    struct stack *stack = pass->stack;
    const struct stream_point *point = &stack->points[k];
    struct backend_norm_forward call = {
        .rows = pass->rows,
        .residual = stack->points[k - 1].stream,
        .sublayer_output = rows_of(pass, stack->sublayer_output),
        .dropout = dropout_at(pass, k),
        .residual_sum = point->sum,
        .normalised_f32 = point->norm_is_stream ? point->stream : NULL,
        .mean = point->fused.mean,
        .rstd = point->fused.rstd,
    };
    if (point->is_read || point->fused.norm.kind != NORM_NONE)
        call.normalised = rows_of(pass, point->fused.normalised);
    double begin = profile_begin(stack->backend->profile);
    rotary_status status = norm_forward(&point->fused.norm, pass->parameters, &call, pass->error);
    if (status == ROTARY_OK)
        status = run_own_norms(pass, k);
    record_norm_profile(pass, begin, "forward");
    return status;
}

static rotary_status run(const struct pass *pass)
{
    struct stack *stack = pass->stack;
    rotary_status status = start_stream(pass);
    for (int64_t k = 1; status == ROTARY_OK && k <= stack->count; k++) {
        const struct stack_sublayer *row = &stack->sublayers[k - 1];
        struct matrix out = row->wiring.norm_output ? row->output : stack->sublayer_output;
        status = pass->run(pass, k - 1, rows_of(pass, out), rows_of(pass, stack_input_of(stack, k - 1)));
        if (status == ROTARY_OK)
            status = norm_output(pass, row);
        if (status == ROTARY_OK)
            status = point_forward(pass, k);
    }
    return status;
}

static rotary_status run_forward(const struct pass *pass, int64_t k, struct matrix out, struct matrix in)
{
    struct sublayer *sublayer = pass->stack->sublayers[k].sublayer;
    const struct sublayer_forward_call call = {.tokens = pass->call->tokens,
                                               .source = pass->call->source,
                                               .dropout = at_site(pass, pass->call->attention_dropout, k + 1),
                                               .activation_dropout = activation_dropout_at(pass, k + 1),
                                               .observer = pass->call->observer,
                                               .out = out,
                                               .in = in};
    return sublayer->type->forward(sublayer, pass->parameters, &call, pass->error);
}

rotary_status stack_forward(struct stack *stack, const struct parameters *parameters,
                            const struct stack_call *call, rotary_error *error)
{
    const struct pass pass = {.stack = stack,
                              .parameters = parameters,
                              .rows = sublayer_rows(&call->tokens),
                              .dropout = call->dropout,
                              .run = run_forward,
                              .call = call,
                              .error = error};
    return run(&pass);
}

static rotary_status run_decode(const struct pass *pass, int64_t k, struct matrix out, struct matrix in)
{
    struct sublayer *sublayer = pass->stack->sublayers[k].sublayer;
    const struct stack_decode_call *decode = pass->decode;
    const struct sublayer_decode_call call = {.batch = decode->batch,
                                              .counts = decode->counts,
                                              .lengths = decode->lengths,
                                              .positions = decode->positions,
                                              .beams = decode->cache->shape.beams,
                                              .source_lengths = decode->cache->source_lengths,
                                              .out = out,
                                              .in = in,
                                              .cache = decode->cache->sublayers[k],
                                              .workspace = decode->cache->workspace};
    return sublayer->type->decode(sublayer, pass->parameters, &call, pass->error);
}

rotary_status stack_decode(struct stack *stack, const struct parameters *parameters,
                           const struct stack_decode_call *call, rotary_error *error)
{
    const struct pass pass = {.stack = stack,
                              .parameters = parameters,
                              .rows = call->rows,
                              .run = run_decode,
                              .decode = call,
                              .error = error};
    return run(&pass);
}

/* ---- The backward pass. d_stream holds the gradient along the residual stream. ---- */

/* Adds what reaches x_k through sublayers[j], which reads it beside the next reader. */
static rotary_status add_parallel(const struct pass *pass, int64_t k, int64_t j)
{
    struct stack *stack = pass->stack;
    const struct stack_sublayer *row = &stack->sublayers[j];
    const struct stream_point *point = &stack->points[k];
    const struct stack_norm *norm = row->has_own_norm ? &row->own : &point->fused;
    struct matrix d_in = rows_of(pass, stack->d_parallel[row->part]);
    if (norm->norm.kind == NORM_NONE || (!row->has_own_norm && point->norm_is_stream)) {
        const struct backend_add call = {.to = stack->d_stream, .in = d_in};
        return stack->backend->operations->add(stack->backend, &call, pass->error);
    }
    const struct backend_norm_backward call = {.rows = pass->rows,
                                               .residual_sum = point->stream,
                                               .mean = norm->mean,
                                               .rstd = norm->rstd,
                                               .d_normalised = d_in,
                                               .accumulate = true,
                                               .d_residual = stack->d_stream};
    return norm_backward(&norm->norm, pass->gradients, &call, pass->error);
}

/* The gradients of the sum and of y_k, from those of all that reads x_k. Where the norm is the stream,
 * d_stream is the gradient of the normalised sum and is replaced by that of the sum; else this adds to it.
 * `last`: the first in the backward pass, where d_stream is unset and the output's gradient is given. */
static rotary_status point_backward(const struct pass *pass, int64_t k)
{
    struct stack *stack = pass->stack;
    const struct stream_point *point = &stack->points[k];
    bool last = k == stack->count;
    rotary_status status = ROTARY_OK;
    double begin = profile_begin(stack->backend->profile);
    for (int64_t j = k; status == ROTARY_OK && j < stack->count && stack->sublayers[j].reads == k; j++)
        if (stack_waits(stack, j))
            status = add_parallel(pass, k, j);
    struct backend_norm_backward call = {.rows = pass->rows,
                                         .residual_sum = point->sum,
                                         .mean = point->fused.mean,
                                         .rstd = point->fused.rstd,
                                         .d_residual = stack->d_stream,
                                         .dropout = dropout_at(pass, k)};
    if (last && pass->call->d_output) {
        call.d_normalised_f32 = pass->call->d_output;
    } else {
        if (point->has_next)
            call.d_normalised = rows_of(pass, stack->d_normalised);
        call.accumulate = !point->norm_is_stream && !last;
        if (!last && (point->norm_is_stream || !point->has_next)) {
            call.d_normalised_f32 = stack->d_stream;
            call.accumulate = false;
        }
    }
    if (k > 0)
        call.d_sublayer_output = rows_of(pass, stack->sublayer_output);
    if (status == ROTARY_OK)
        status = norm_backward(&point->fused.norm, pass->gradients, &call, pass->error);
    record_norm_profile(pass, begin, "backward");
    return status;
}

/* The gradient of the output of sublayer k from that of y_k, in place. */
static rotary_status output_norm_backward(const struct pass *pass, const struct stack_sublayer *row)
{
    if (!row->wiring.norm_output)
        return ROTARY_OK;
    struct matrix gradient = rows_of(pass, pass->stack->sublayer_output);
    const struct backend_head_norm_backward call = {.heads = 1,
                                                    .d_in = gradient,
                                                    .d_out = gradient,
                                                    .in = rows_of(pass, row->output),
                                                    .mean = row->output_norm.mean,
                                                    .rstd = row->output_norm.rstd};
    return head_norm_backward(&row->output_norm.norm, pass->gradients, &call, pass->error);
}

static rotary_status sublayer_backward(const struct pass *pass, int64_t k)
{
    struct stack *stack = pass->stack;
    const struct stack_sublayer *row = &stack->sublayers[k];
    struct matrix d_in = stack_waits(stack, k) ? stack->d_parallel[row->part] : stack->d_normalised;
    const struct sublayer_backward_call call = {.tokens = pass->call->tokens,
                                                .source = pass->call->source,
                                                .d_source = pass->call->d_source,
                                                .dropout =
                                                    at_site(pass, pass->call->attention_dropout, k + 1),
                                                .activation_dropout = activation_dropout_at(pass, k + 1),
                                                .d_in = rows_of(pass, d_in),
                                                .d_out = rows_of(pass, stack->sublayer_output),
                                                .in = rows_of(pass, stack_input_of(stack, k))};
    rotary_status status = row->has_own_norm ? ROTARY_OK : norm_again(pass, row->reads);
    if (status != ROTARY_OK)
        return status;
    return row->sublayer->type->backward(row->sublayer, pass->gradients, &call, pass->error);
}

rotary_status stack_backward(struct stack *stack, struct parameters *parameters,
                             const struct stack_call *call, rotary_error *error)
{
    const struct pass pass = {.stack = stack,
                              .parameters = parameters,
                              .gradients = parameters,
                              .rows = sublayer_rows(&call->tokens),
                              .dropout = call->dropout,
                              .call = call,
                              .error = error};
    rotary_status status = ROTARY_OK;
    for (int64_t k = stack->count; status == ROTARY_OK && k >= 1; k--) {
        status = point_backward(&pass, k);
        if (status == ROTARY_OK)
            status = output_norm_backward(&pass, &stack->sublayers[k - 1]);
        if (status == ROTARY_OK)
            status = sublayer_backward(&pass, k - 1);
        if (status == ROTARY_OK && call->watch)
            call->watch->complete(call->watch->argument, stack->sublayers[k - 1].first_row);
    }
    return status == ROTARY_OK ? point_backward(&pass, 0) : status;
}
