/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/linear_pair.h"

#include <stdio.h>

static rotary_status create_linear(struct linear **linear, const struct backend *backend,
                                   const struct sublayer_config *config, struct linear_config linear_config,
                                   struct parameters *parameters, rotary_error *error)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", config->name, linear_config.name);
    linear_config.name = name;
    linear_config.rows = config->rows;
    linear_config.bias = config->bias;
    linear_config.training = config->training;
    linear_config.tied_weight = -1;
    linear_config.initial = config->initial;
    linear_config.bias_initial = config->bias_initial;
    return linear_create(linear, backend, &linear_config, parameters, error);
}

rotary_status linear_pair_create(struct linear_pair *pair, const struct backend *backend,
                                 const struct sublayer_config *config, const struct linear_pair_shape *shape,
                                 struct parameters *parameters, rotary_error *error)
{
    const struct linear_config in = {.name = shape->in_name,
                                     .inputs = config->width,
                                     .outputs = shape->in_outputs,
                                     .scale = config->in_scale};
    const struct linear_config out = {.name = shape->out_name,
                                      .inputs = shape->out_inputs,
                                      .outputs = config->width,
                                      .scale = config->out_scale};
    struct linear_pair made = {0};
    rotary_status status = create_linear(&made.in, backend, config, in, parameters, error);
    if (status == ROTARY_OK)
        status = create_linear(&made.out, backend, config, out, parameters, error);
    if (status == ROTARY_OK)
        *pair = made;
    else
        linear_pair_destroy(&made);
    return status;
}

void linear_pair_destroy(struct linear_pair *pair)
{
    linear_destroy(pair->in);
    linear_destroy(pair->out);
    *pair = (struct linear_pair){0};
}

rotary_status linear_pair_prepare(struct linear_pair *pair, const struct parameters *parameters,
                                  rotary_error *error)
{
    rotary_status status = linear_prepare(pair->in, parameters, error);
    return status == ROTARY_OK ? linear_prepare(pair->out, parameters, error) : status;
}

size_t linear_pair_bytes(const struct linear_pair *pair)
{
    return linear_bytes(pair->in) + linear_bytes(pair->out);
}
