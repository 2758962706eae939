/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/norm.h"

#include "base/fail.h"

#include <stdio.h>

rotary_status norm_create(struct norm *norm, const struct norm_config *config, struct parameters *parameters,
                          rotary_error *error)
{
    struct norm made = {
        .kind = config->kind, .width = config->width, .epsilon = config->epsilon, .gain = -1, .bias = -1};
    if (config->kind == NORM_NONE) {
        *norm = made;
        return ROTARY_OK;
    }
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

static struct norm_weights weights_of(const struct norm *norm, const struct parameters *parameters)
{
    return (struct norm_weights){.kind = norm->kind,
                                 .epsilon = norm->epsilon,
                                 .gain = parameter_value(parameters, norm->gain),
                                 .bias = parameter_value(parameters, norm->bias)};
}

rotary_status norm_forward(const struct norm *norm, const struct parameters *parameters,
                           const struct backend_norm_forward *call, rotary_error *error)
{
    const struct backend *backend = parameters->backend;
    struct backend_norm_forward complete = *call;
    complete.norm = weights_of(norm, parameters);
    complete.width = norm->width;
    return backend->operations->norm_forward(backend, &complete, error);
}

rotary_status norm_backward(const struct norm *norm, struct parameters *parameters,
                            const struct backend_norm_backward *call, rotary_error *error)
{
    const struct backend *backend = parameters->backend;
    struct backend_norm_backward complete = *call;
    complete.norm = weights_of(norm, parameters);
    complete.width = norm->width;
    complete.d_gain = parameter_gradient(parameters, norm->gain);
    complete.d_bias = parameter_gradient(parameters, norm->bias);
    return backend->operations->norm_backward(backend, &complete, error);
}

static rotary_status check_heads(const struct norm *norm, int64_t heads, struct matrix in,
                                 rotary_error *error)
{
    if (heads >= 1 && in.columns == heads * norm->width)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "a norm of heads of width %lld got %lld heads in rows of %lld elements",
                       (long long)norm->width, (long long)heads, (long long)in.columns);
}

rotary_status head_norm_forward(const struct norm *norm, const struct parameters *parameters,
                                const struct backend_head_norm_forward *call, rotary_error *error)
{
    const struct backend *backend = parameters->backend;
    struct backend_head_norm_forward complete = *call;
    rotary_status status = check_heads(norm, call->heads, call->in, error);
    if (status != ROTARY_OK)
        return status;
    complete.norm = weights_of(norm, parameters);
    return backend->operations->head_norm_forward(backend, &complete, error);
}

rotary_status head_norm_backward(const struct norm *norm, struct parameters *parameters,
                                 const struct backend_head_norm_backward *call, rotary_error *error)
{
    const struct backend *backend = parameters->backend;
    struct backend_head_norm_backward complete = *call;
    rotary_status status = check_heads(norm, call->heads, call->in, error);
    if (status != ROTARY_OK)
        return status;
    complete.norm = weights_of(norm, parameters);
    complete.d_gain = parameter_gradient(parameters, norm->gain);
    complete.d_bias = parameter_gradient(parameters, norm->bias);
    return backend->operations->head_norm_backward(backend, &complete, error);
}
