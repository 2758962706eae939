/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/feed_forward.h"

#include "backend/profile.h"

int64_t feed_forward_pre_activation_columns(enum activation activation, int64_t hidden)
{
    static const int64_t widths[] = {
        [ACTIVATION_RELU] = 0, /* its gradient follows from its output */
        [ACTIVATION_GELU] = 1,
        [ACTIVATION_SWIGLU] = 2,
    };
    return widths[activation] * hidden;
}

rotary_status feed_forward_create(struct feed_forward *layer, const struct backend *backend,
                                  const struct feed_forward_config *config, struct parameters *parameters,
                                  rotary_error *error)
{
    struct feed_forward made = {.activation = config->activation, .backend = backend};
    const struct linear_pair_shape shape = {.in_name = "up",
                                            .out_name = "down",
                                            .in_outputs = config->hidden *
                                                          (config->activation == ACTIVATION_SWIGLU ? 2 : 1),
                                            .out_inputs = config->hidden};
    rotary_status status =
        linear_pair_create(&made.projections, backend, &config->sublayer, &shape, parameters, error);
    if (status == ROTARY_OK)
        *layer = made;
    return status;
}

void feed_forward_destroy(struct feed_forward *layer)
{
    linear_pair_destroy(&layer->projections);
    *layer = (struct feed_forward){0};
}

/* Bytes of either pass: `saved` once, and two matrices of the size of `hidden`. */
static void record_profile(const struct feed_forward *layer, double begin, const char *what,
                           struct matrix saved, struct matrix hidden)
{
    profile_end(layer->backend->profile, begin, "feed_forward.activation", what, 0.0,
                (double)(saved.rows * (saved.columns + 2 * hidden.columns)) *
                    (double)rotary_dtype_size(hidden.dtype));
}

rotary_status feed_forward_forward(struct feed_forward *layer, const struct parameters *parameters,
                                   struct matrix out, struct matrix in, struct feed_forward_saved saved,
                                   rotary_error *error)
{
    rotary_status status;
    if (layer->activation == ACTIVATION_RELU) {
        status =
            linear_forward(layer->projections.in, parameters, saved.hidden, in, MATMUL_EPILOGUE_RELU, error);
    } else {
        status = linear_forward(layer->projections.in, parameters, saved.pre_activation, in,
                                MATMUL_EPILOGUE_NONE, error);
        double begin = profile_begin(layer->backend->profile);
        if (status == ROTARY_OK)
            activation_forward(layer->backend, layer->activation, saved.hidden, saved.pre_activation);
        record_profile(layer, begin, "forward", saved.pre_activation, saved.hidden);
    }
    if (status != ROTARY_OK)
        return status;
    return linear_forward(layer->projections.out, parameters, out, saved.hidden, MATMUL_EPILOGUE_NONE, error);
}

rotary_status feed_forward_backward(struct feed_forward *layer, struct parameters *parameters,
                                    const struct feed_forward_backward_call *call, rotary_error *error)
{
    const struct feed_forward_saved *saved = &call->saved;
    rotary_status status = linear_backward(layer->projections.out, parameters, call->d_hidden, call->d_out,
                                           saved->hidden, error);
    if (status != ROTARY_OK)
        return status;
    bool gated = layer->activation == ACTIVATION_SWIGLU;
    struct matrix d_up = gated ? call->d_pre_activation : call->d_hidden; /* relu and gelu work in place */
    struct matrix activation = layer->activation == ACTIVATION_RELU ? saved->hidden : saved->pre_activation;
    double begin = profile_begin(layer->backend->profile);
    activation_backward(layer->backend, layer->activation, d_up, call->d_hidden, activation);
    record_profile(layer, begin, "backward", activation, call->d_hidden);
    return linear_backward(layer->projections.in, parameters, call->d_in, d_up, call->in, error);
}
