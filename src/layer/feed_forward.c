/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/feed_forward.h"

#include "tensor/profile.h"

#include <stdio.h>

int64_t feed_forward_pre_activation_columns(enum activation activation, int64_t hidden)
{
    static const int64_t widths[] = {
        [ACTIVATION_RELU] = 0, /* its gradient can be told from its output */
        [ACTIVATION_GELU] = 1,
        [ACTIVATION_SWIGLU] = 2,
    };
    return widths[activation] * hidden;
}

rotary_status feed_forward_create(struct feed_forward *layer, const struct compute *compute,
                                  const struct feed_forward_config *config, struct parameters *parameters,
                                  rotary_error *error)
{
    struct feed_forward made = {.activation = config->activation, .compute = compute};
    char name[96];
    snprintf(name, sizeof name, "%s.up", config->name);
    struct linear_config linear = {.name = name,
                                   .inputs = config->width,
                                   .outputs =
                                       config->hidden * (config->activation == ACTIVATION_SWIGLU ? 2 : 1),
                                   .rows = config->rows,
                                   .bias = config->bias,
                                   .training = config->training,
                                   .tied_weight = -1,
                                   .initial = config->initial,
                                   .bias_initial = config->bias_initial,
                                   .scale = config->up_scale};
    rotary_status status = linear_create(&made.up, compute, &linear, parameters, error);
    if (status != ROTARY_OK)
        return status;
    snprintf(name, sizeof name, "%s.down", config->name);
    linear.inputs = config->hidden;
    linear.outputs = config->width;
    linear.scale = config->down_scale;
    status = linear_create(&made.down, compute, &linear, parameters, error);
    if (status == ROTARY_OK)
        *layer = made;
    else
        feed_forward_destroy(&made);
    return status;
}

void feed_forward_destroy(struct feed_forward *layer)
{
    linear_destroy(layer->up);
    linear_destroy(layer->down);
    *layer = (struct feed_forward){0};
}

rotary_status feed_forward_prepare(struct feed_forward *layer, const struct parameters *parameters,
                                   rotary_error *error)
{
    rotary_status status = linear_prepare(layer->up, parameters, error);
    return status == ROTARY_OK ? linear_prepare(layer->down, parameters, error) : status;
}

/* Bytes: what was kept, and the gradient there and back or the result. */
static void record_profile(const struct feed_forward *layer, double begin, const char *what, struct matrix a,
                           struct matrix b)
{
    profile_end(layer->compute->profile, begin, "feed_forward.activation", what, 0.0,
                (double)(a.rows * (a.columns + 2 * b.columns)) * (double)rotary_dtype_size(b.dtype));
}

rotary_status feed_forward_forward(struct feed_forward *layer, const struct parameters *parameters,
                                   struct matrix out, struct matrix in, struct feed_forward_saved saved,
                                   rotary_error *error)
{
    rotary_status status;
    if (layer->activation == ACTIVATION_RELU) {
        status = linear_forward(layer->up, parameters, saved.hidden, in, MATMUL_EPILOGUE_RELU, error);
    } else {
        status = linear_forward(layer->up, parameters, saved.pre_activation, in, MATMUL_EPILOGUE_NONE, error);
        double begin = profile_begin(layer->compute->profile);
        if (status == ROTARY_OK)
            activation_forward(layer->compute, layer->activation, saved.hidden, saved.pre_activation);
        record_profile(layer, begin, "forward", saved.pre_activation, saved.hidden);
    }
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->down, parameters, out, saved.hidden, MATMUL_EPILOGUE_NONE, error);
}

rotary_status feed_forward_backward(struct feed_forward *layer, struct parameters *parameters,
                                    struct matrix d_in, struct matrix d_out, struct matrix in,
                                    struct feed_forward_saved saved, struct matrix d_hidden,
                                    struct matrix d_pre_activation, rotary_error *error)
{
    rotary_status status = linear_backward(layer->down, parameters, d_hidden, d_out, saved.hidden, error);
    if (status != ROTARY_OK)
        return status;
    bool gated = layer->activation == ACTIVATION_SWIGLU;
    struct matrix d_up = gated ? d_pre_activation : d_hidden; /* relu and gelu work in place */
    struct matrix kept = layer->activation == ACTIVATION_RELU ? saved.hidden : saved.pre_activation;
    double begin = profile_begin(layer->compute->profile);
    activation_backward(layer->compute, layer->activation, d_up, d_hidden, kept);
    record_profile(layer, begin, "backward", kept, d_hidden);
    return linear_backward(layer->up, parameters, d_in, d_up, in, error);
}
