/* SPDX-License-Identifier: Apache-2.0
 *
 * The position-wise feed-forward sublayer:
 *     relu, gelu   down(dropout(activation(up(x))))
 *     swiglu       down(dropout(silu(gate(x)) * up(x)))   (Shazeer 2020), gate and up being one projection
 */
#include "backend/profile.h"
#include "base/fail.h"
#include "layer/sublayer_parts.h"

#include <stdlib.h>

struct feed_forward {
    struct sublayer sublayer;
    enum activation activation;
    struct linear *up;   /* "<name>.up": for gated activations gate rows, then up rows */
    struct linear *down; /* "<name>.down" */
    /* Saved: the input of the activation, gate | up for gated ones, or for relu, whose gradient follows from
     * it, the output. The backward pass puts the gradient of the saved input in its place. */
    struct matrix pre_activation;
    /* The output of the activation: saved for relu, else scratch, where the backward pass makes it again. */
    struct matrix hidden;
    struct matrix d_hidden; /* scratch; `hidden` itself unless that is saved */
};

static struct feed_forward *of(struct sublayer *sublayer)
{
    return (struct feed_forward *)sublayer;
}

/* Matrices of `up`. */
static int64_t gates_of(enum activation activation)
{
    return activation_is_gated(activation) ? 2 : 1;
}

static int64_t pre_activation_columns(const struct feed_forward *layer)
{
    const int64_t widths = layer->activation == ACTIVATION_RELU ? 0 : gates_of(layer->activation);
    return widths * layer->sublayer.config.hidden;
}

static void destroy(struct sublayer *sublayer)
{
    struct feed_forward *layer = of(sublayer);
    linear_destroy(layer->up);
    linear_destroy(layer->down);
    free(layer);
}

static rotary_status create(struct sublayer **sublayer, const struct backend *backend,
                            const struct sublayer_config *config, struct parameters *parameters,
                            rotary_error *error)
{
    struct feed_forward *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for sublayer \"%s\"", config->name);
    made->activation = config->activation;
    int64_t gates = gates_of(config->activation);
    const struct sublayer_linear up = {.name = "up",
                                       .inputs = config->width,
                                       .outputs = gates * config->hidden,
                                       .first_outputs = config->hidden,
                                       .next_outputs = config->hidden,
                                       .bias = config->in_bias};
    const struct sublayer_linear down = {.name = "down",
                                         .inputs = config->hidden,
                                         .outputs = config->width,
                                         .bias = config->out_bias,
                                         .joins = true};
    rotary_status status = sublayer_add_linear(&made->up, backend, config, &up, parameters, error);
    if (status == ROTARY_OK)
        status = sublayer_add_linear(&made->down, backend, config, &down, parameters, error);
    if (status == ROTARY_OK)
        *sublayer = &made->sublayer;
    else
        destroy(&made->sublayer);
    return status;
}

static size_t weight_bytes(const struct sublayer *sublayer)
{
    const struct feed_forward *layer = (const struct feed_forward *)sublayer;
    return linear_bytes(layer->up) + linear_bytes(layer->down);
}

static void carve_saved(struct sublayer *sublayer, struct rotary_arena *arena)
{
    struct feed_forward *layer = of(sublayer);
    layer->pre_activation = sublayer_push(sublayer, arena, pre_activation_columns(layer));
    if (layer->activation == ACTIVATION_RELU)
        layer->hidden = sublayer_push(sublayer, arena, sublayer->config.hidden);
}

static void carve_scratch(struct sublayer *sublayer, struct rotary_arena *arena)
{
    struct feed_forward *layer = of(sublayer);
    bool saves_hidden = layer->activation == ACTIVATION_RELU;
    if (saves_hidden && !sublayer->config.training)
        return;
    layer->d_hidden = sublayer_push(sublayer, arena, sublayer->config.hidden);
    if (!saves_hidden)
        layer->hidden = layer->d_hidden;
}

/* `columns` are those of all matrices that the pass reads and writes, dropout apart. */
static void record_profile(const struct feed_forward *layer, double begin, const char *what,
                           struct matrix hidden, int64_t columns)
{
    profile_end(layer->sublayer.backend->profile, begin, "feed_forward.activation", what, 0.0,
                (double)(hidden.rows * columns) * (double)rotary_dtype_size(hidden.dtype));
}

/* hidden = dropout(activation(up(in))). ReLU is the epilogue of the matmul; what it gives it keeps, so that
 * dropout can follow as a pass of the same operation. */
static rotary_status activate(struct feed_forward *layer, const struct parameters *parameters,
                              struct matrix in, struct dropout dropout, rotary_error *error)
{
    const struct backend *backend = layer->sublayer.backend;
    bool relu = layer->activation == ACTIVATION_RELU;
    struct matrix hidden = first_rows(layer->hidden, in.rows),
                  pre = relu ? hidden : first_rows(layer->pre_activation, in.rows);
    rotary_status status = linear_forward(layer->up, parameters, pre, in,
                                          relu ? MATMUL_EPILOGUE_RELU : MATMUL_EPILOGUE_NONE, error);
    if (status != ROTARY_OK || (relu && !(dropout.probability > 0.0f)))
        return status;
    const struct backend_activation_forward call = {
        .kind = layer->activation, .out = hidden, .pre = pre, .dropout = dropout};
    double begin = profile_begin(backend->profile);
    status = backend->operations->activation_forward(backend, &call, error);
    record_profile(layer, begin, "forward", hidden, pre.columns + hidden.columns);
    return status;
}

static rotary_status run(struct feed_forward *layer, const struct parameters *parameters, struct matrix out,
                         struct matrix in, struct dropout dropout, rotary_error *error)
{
    rotary_status status = activate(layer, parameters, in, dropout, error);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->down, parameters, out, first_rows(layer->hidden, in.rows),
                          MATMUL_EPILOGUE_NONE, error);
}

static rotary_status forward(struct sublayer *sublayer, const struct parameters *parameters,
                             const struct sublayer_forward_call *call, rotary_error *error)
{
    return run(of(sublayer), parameters, call->out, call->in, call->activation_dropout, error);
}

static rotary_status decode(struct sublayer *sublayer, const struct parameters *parameters,
                            const struct sublayer_decode_call *call, rotary_error *error)
{
    const struct dropout none = {0};
    return run(of(sublayer), parameters, call->out, call->in, none, error);
}

static rotary_status backward(struct sublayer *sublayer, struct parameters *parameters,
                              const struct sublayer_backward_call *call, rotary_error *error)
{
    struct feed_forward *layer = of(sublayer);
    int64_t rows = call->in.rows;
    bool relu = layer->activation == ACTIVATION_RELU;
    struct matrix hidden = first_rows(layer->hidden, rows), d_hidden = first_rows(layer->d_hidden, rows);
    struct matrix saved = relu ? hidden : first_rows(layer->pre_activation, rows);
    struct matrix d_pre = relu ? d_hidden : saved;
    rotary_status status = linear_input_gradient(layer->down, parameters, d_hidden, call->d_out, error);
    if (status != ROTARY_OK)
        return status;
    const struct backend *backend = sublayer->backend;
    const struct backend_activation_backward activation = {.kind = layer->activation,
                                                           .d_pre = d_pre,
                                                           .d_out = d_hidden,
                                                           .saved = saved,
                                                           .out = relu ? (struct matrix){0} : hidden,
                                                           .dropout = call->activation_dropout};
    double begin = profile_begin(backend->profile);
    status = backend->operations->activation_backward(backend, &activation, error);
    record_profile(layer, begin, "backward", d_hidden,
                   saved.columns + d_hidden.columns + d_pre.columns + activation.out.columns);
    if (status == ROTARY_OK)
        status = linear_weight_gradient(layer->down, parameters, call->d_out, hidden, error);
    if (status != ROTARY_OK)
        return status;
    return linear_backward(layer->up, parameters, call->d_in, d_pre, call->in, error);
}

const struct sublayer_type feed_forward_sublayer = {.name = "feed_forward",
                                                    .create = create,
                                                    .destroy = destroy,
                                                    .weight_bytes = weight_bytes,
                                                    .carve_saved = carve_saved,
                                                    .carve_scratch = carve_scratch,
                                                    .forward = forward,
                                                    .backward = backward,
                                                    .decode = decode};
