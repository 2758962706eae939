/* SPDX-License-Identifier: Apache-2.0
 *
 * A bottleneck adapter (Houlsby et al. 2019) as a sublayer, with a norm inside:
 *
 *     up(gelu(norm(down(x))))
 *
 * It is all that a new type of sublayer takes, with one line in layer/sublayer_list.h.
 */
#include "base/fail.h"
#include "layer/sublayer_parts.h"

#include <stdio.h>
#include <stdlib.h>

struct adapter {
    struct sublayer sublayer;
    struct linear *down, *up;          /* "<name>.down", "<name>.up" */
    struct norm norm;                  /* "<name>.norm" */
    struct matrix narrow, normalised;  /* saved: [rows, hidden] */
    struct matrix activated, d_narrow; /* saved, scratch */
    float *mean, *rstd;                /* saved: [rows] */
};

static struct adapter *of(struct sublayer *sublayer)
{
    return (struct adapter *)sublayer;
}

static void destroy(struct sublayer *sublayer)
{
    linear_destroy(of(sublayer)->down);
    linear_destroy(of(sublayer)->up);
    free(sublayer);
}

static rotary_status create(struct sublayer **sublayer, const struct backend *backend,
                            const struct sublayer_config *config, struct parameters *parameters,
                            rotary_error *error)
{
    struct adapter *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for sublayer \"%s\"", config->name);
    char name[96];
    snprintf(name, sizeof name, "%s.norm", config->name);
    const struct norm_config norm = {
        .name = name, .kind = config->norm, .width = config->hidden, .epsilon = config->norm_epsilon};
    const struct sublayer_linear down = {
        .name = "down", .inputs = config->width, .outputs = config->hidden, .bias = config->in_bias};
    const struct sublayer_linear up = {.name = "up",
                                       .inputs = config->hidden,
                                       .outputs = config->width,
                                       .bias = config->out_bias,
                                       .joins = true};
    rotary_status status = sublayer_add_linear(&made->down, backend, config, &down, parameters, error);
    if (status == ROTARY_OK)
        status = norm_create(&made->norm, &norm, parameters, error);
    if (status == ROTARY_OK)
        status = sublayer_add_linear(&made->up, backend, config, &up, parameters, error);
    if (status == ROTARY_OK)
        *sublayer = &made->sublayer;
    else
        destroy(&made->sublayer);
    return status;
}

static size_t weight_bytes(const struct sublayer *sublayer)
{
    const struct adapter *layer = (const struct adapter *)sublayer;
    return linear_bytes(layer->down) + linear_bytes(layer->up);
}

static void carve_saved(struct sublayer *sublayer, struct rotary_arena *arena)
{
    struct adapter *layer = of(sublayer);
    int64_t rows = sublayer->config.batch * sublayer->config.time, hidden = sublayer->config.hidden;
    layer->narrow = sublayer_push(sublayer, arena, hidden);
    layer->normalised = sublayer_push(sublayer, arena, hidden);
    layer->activated = sublayer_push(sublayer, arena, hidden);
    layer->mean = rotary_arena_push(arena, rows, sizeof(float));
    layer->rstd = rotary_arena_push(arena, rows, sizeof(float));
}

static void carve_scratch(struct sublayer *sublayer, struct rotary_arena *arena)
{
    if (sublayer->config.training)
        of(sublayer)->d_narrow = sublayer_push(sublayer, arena, sublayer->config.hidden);
}

static rotary_status run(struct adapter *layer, const struct parameters *parameters, struct matrix out,
                         struct matrix in, rotary_error *error)
{
    const struct backend *backend = layer->sublayer.backend;
    struct matrix narrow = first_rows(layer->narrow, in.rows),
                  normalised = first_rows(layer->normalised, in.rows),
                  activated = first_rows(layer->activated, in.rows);
    const struct backend_head_norm_forward norm = {
        .heads = 1, .out = normalised, .in = narrow, .mean = layer->mean, .rstd = layer->rstd};
    const struct backend_activation_forward activation = {
        .kind = ACTIVATION_GELU, .out = activated, .pre = normalised};
    rotary_status status = linear_forward(layer->down, parameters, narrow, in, MATMUL_EPILOGUE_NONE, error);
    if (status == ROTARY_OK)
        status = head_norm_forward(&layer->norm, parameters, &norm, error);
    if (status == ROTARY_OK)
        status = backend->operations->activation_forward(backend, &activation, error);
    if (status == ROTARY_OK)
        status = linear_forward(layer->up, parameters, out, activated, MATMUL_EPILOGUE_NONE, error);
    return status;
}

static rotary_status forward(struct sublayer *sublayer, const struct parameters *parameters,
                             const struct sublayer_forward_call *call, rotary_error *error)
{
    return run(of(sublayer), parameters, call->out, call->in, error);
}

static rotary_status decode(struct sublayer *sublayer, const struct parameters *parameters,
                            const struct sublayer_decode_call *call, rotary_error *error)
{
    return run(of(sublayer), parameters, call->out, call->in, error);
}

static rotary_status backward(struct sublayer *sublayer, struct parameters *parameters,
                              const struct sublayer_backward_call *call, rotary_error *error)
{
    struct adapter *layer = of(sublayer);
    const struct backend *backend = sublayer->backend;
    int64_t rows = call->in.rows;
    struct matrix d_narrow = first_rows(layer->d_narrow, rows); /* each step works in place */
    const struct backend_activation_backward activation = {.kind = ACTIVATION_GELU,
                                                           .d_pre = d_narrow,
                                                           .d_out = d_narrow,
                                                           .saved = first_rows(layer->normalised, rows)};
    const struct backend_head_norm_backward norm = {.heads = 1,
                                                    .d_in = d_narrow,
                                                    .d_out = d_narrow,
                                                    .in = first_rows(layer->narrow, rows),
                                                    .mean = layer->mean,
                                                    .rstd = layer->rstd};
    rotary_status status = linear_backward(layer->up, parameters, d_narrow, call->d_out,
                                           first_rows(layer->activated, rows), error);
    if (status == ROTARY_OK)
        status = backend->operations->activation_backward(backend, &activation, error);
    if (status == ROTARY_OK)
        status = head_norm_backward(&layer->norm, parameters, &norm, error);
    if (status == ROTARY_OK)
        status = linear_backward(layer->down, parameters, call->d_in, d_narrow, call->in, error);
    return status;
}

const struct sublayer_type adapter_sublayer = {.name = "adapter",
                                               .create = create,
                                               .destroy = destroy,
                                               .weight_bytes = weight_bytes,
                                               .carve_saved = carve_saved,
                                               .carve_scratch = carve_scratch,
                                               .forward = forward,
                                               .backward = backward,
                                               .decode = decode};
