/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/linear.h"

#include "backend/profile.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROLE_BYTES = 64 };

struct linear {
    const struct backend *backend;
    int64_t inputs, outputs, rows;
    bool stored;                   /* the weight is as a file has it, and not packed */
    int weight, bias;              /* rows of the table; bias is -1 for none */
    struct packed_weight *forward; /* [inputs, outputs] */
    uint64_t version;              /* of the weight in `forward`; 0: none was packed */
    int backward;                  /* a shared weight of the table, [outputs, inputs]; -1 unless training */
    char role[ROLE_BYTES];         /* the name without the number of the layer, for profiles */
};

static rotary_status add_parameters(struct linear *linear, const struct linear_config *config,
                                    struct parameters *parameters, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    linear->weight = config->tied_weight;
    linear->bias = -1;
    if (config->tied_weight < 0) {
        struct parameter weight = {.rows = config->outputs,
                                   .columns = config->inputs,
                                   .initial = config->initial,
                                   .scale = config->scale,
                                   .tail_rows = config->tail_outputs,
                                   .tail_scale = config->tail_scale,
                                   .may_be_stored = true,
                                   .decay = true};
        snprintf(weight.name, sizeof weight.name, "%s.weight", config->name);
        status = parameters_add(parameters, &weight, &linear->weight, error);
    }
    if (status == ROTARY_OK && config->bias) {
        struct parameter bias = {
            .rows = config->outputs, .initial = config->bias_initial, .scale = config->bias_scale};
        snprintf(bias.name, sizeof bias.name, "%s.bias", config->name);
        status = parameters_add(parameters, &bias, &linear->bias, error);
    }
    return status;
}

/* "encoder.attention.output" of "encoder.layers.3.attention.output". */
static void set_role(char role[ROLE_BYTES], const char *name)
{
    const char *layers = strstr(name, "layers."), *rest = layers ? strchr(layers + 7, '.') : NULL;
    if (rest)
        snprintf(role, ROLE_BYTES, "%.*s%s", (int)(layers - name), name, rest + 1);
    else
        snprintf(role, ROLE_BYTES, "%s", name);
}

/* The forward pass keeps its own: inference and micro-batches of a step pack once. In the backward pass a
 * weight is used once in each, and packing it is little beside that. */
static rotary_status create_packed_weights(struct linear *linear, const struct linear_config *config,
                                           struct parameters *parameters, rotary_error *error)
{
    const struct backend *backend = linear->backend;
    const struct packed_weight_config forward = {
        .dtype = backend->storage, .inner = linear->inputs, .columns = linear->outputs, .transposed = true};
    const struct packed_weight_config backward = {
        .dtype = backend->storage, .inner = linear->outputs, .columns = linear->inputs};
    rotary_status status = ROTARY_OK;
    if (!config->measured)
        status = backend->operations->packed_weight_create(backend, &linear->forward, &forward, error);
    if (status != ROTARY_OK || !config->training)
        return status;
    return parameters_share(parameters, &backward, config->measured, &linear->backward, error);
}

rotary_status linear_create(struct linear **linear, const struct backend *backend,
                            const struct linear_config *config, struct parameters *parameters,
                            rotary_error *error)
{
    if (config->inputs < 1 || config->outputs < 1 || config->rows < 1)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "linear layer \"%s\" of %lld inputs, %lld outputs, %lld rows: each must be at least 1",
            config->name, (long long)config->inputs, (long long)config->outputs, (long long)config->rows);
    struct linear *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for linear layer \"%s\"", config->name);
    made->backend = backend;
    made->inputs = config->inputs;
    made->outputs = config->outputs;
    made->rows = config->rows;
    made->backward = -1;
    set_role(made->role, config->name);
    rotary_status status = add_parameters(made, config, parameters, error);
    made->stored = status == ROTARY_OK && parameters->rows[made->weight].is_stored;
    if (status == ROTARY_OK && !made->stored)
        status = create_packed_weights(made, config, parameters, error);
    if (status != ROTARY_OK) {
        linear_destroy(made);
        return status;
    }
    *linear = made;
    return ROTARY_OK;
}

void linear_destroy(struct linear *linear)
{
    if (!linear)
        return;
    linear->backend->operations->packed_weight_destroy(linear->backend, linear->forward);
    free(linear);
}

size_t linear_bytes(const struct linear *linear)
{
    const struct backend *backend = linear->backend;
    if (linear->stored)
        return 0;
    if (!linear->forward) /* measured */
        return (size_t)linear->inputs * (size_t)linear->outputs * rotary_dtype_size(backend->storage);
    return backend->operations->packed_weight_bytes(backend, linear->forward);
}

int64_t linear_outputs(const struct linear *linear)
{
    return linear->outputs;
}

uint64_t linear_version(const struct linear *linear, const struct parameters *parameters)
{
    return parameters->rows[linear->weight].version +
           (linear->bias < 0 ? 0 : parameters->rows[linear->bias].version);
}

static rotary_status check_shapes(const struct linear *linear, struct matrix in, struct matrix out,
                                  rotary_error *error)
{
    if (in.rows > linear->rows || out.rows != in.rows || in.columns != linear->inputs ||
        out.columns != linear->outputs || in.dtype != linear->backend->storage)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a linear layer of %lld inputs and %lld outputs in %s, created for %lld rows, got an input "
            "[%lld, %lld] in %s and an output [%lld, %lld]",
            (long long)linear->inputs, (long long)linear->outputs,
            rotary_dtype_name(linear->backend->storage), (long long)linear->rows, (long long)in.rows,
            (long long)in.columns, rotary_dtype_name(in.dtype), (long long)out.rows, (long long)out.columns);
    return ROTARY_OK;
}

/* Bytes: input, output and weight. */
static void record_profile(const struct linear *linear, double begin, const char *what, int64_t rows)
{
    double ins = (double)linear->inputs, outs = (double)linear->outputs, all = (double)rows,
           size = (double)rotary_dtype_size(linear->backend->storage);
    profile_end(linear->backend->profile, begin, linear->role, what, 2.0 * all * ins * outs,
                size * (all * (ins + outs) + ins * outs));
}

/* Before a pass from `in` to `out`: packs the weight unless its current version is packed already. */
static rotary_status prepare_forward(struct linear *linear, const struct parameters *parameters,
                                     struct matrix out, struct matrix in, rotary_error *error)
{
    const uint64_t version = parameters->rows[linear->weight].version;
    rotary_status status = check_shapes(linear, in, out, error);
    if (status != ROTARY_OK || linear->version == version)
        return status;
    status = parameters_pack(parameters, linear->weight, linear->forward, error);
    if (status == ROTARY_OK)
        linear->version = version;
    return status;
}

static rotary_status forward_stored(struct linear *linear, const struct parameters *parameters,
                                    struct matrix out, struct matrix in, enum matmul_epilogue epilogue,
                                    rotary_error *error)
{
    const struct stored_weight *weight = parameter_stored(parameters, linear->weight);
    rotary_status status = check_shapes(linear, in, out, error);
    if (status != ROTARY_OK)
        return status;
    if (weight->rows != linear->outputs)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "parameter %s has no values yet",
                           parameters->rows[linear->weight].name);
    double begin = profile_begin(linear->backend->profile);
    const struct backend_stored_matmul call = {.out = out,
                                               .in = in,
                                               .weight = weight,
                                               .bias = parameter_value(parameters, linear->bias),
                                               .epilogue = epilogue};
    status = linear->backend->operations->stored_matmul(linear->backend, &call, error);
    record_profile(linear, begin, "forward", in.rows);
    return status;
}

rotary_status linear_forward(struct linear *linear, const struct parameters *parameters, struct matrix out,
                             struct matrix in, enum matmul_epilogue epilogue, rotary_error *error)
{
    if (linear->stored)
        return forward_stored(linear, parameters, out, in, epilogue, error);
    rotary_status status = prepare_forward(linear, parameters, out, in, error);
    if (status != ROTARY_OK)
        return status;
    double begin = profile_begin(linear->backend->profile);
    const struct backend_matmul call = {.out = out,
                                        .in = in,
                                        .weight = linear->forward,
                                        .bias = parameter_value(parameters, linear->bias),
                                        .epilogue = epilogue};
    status = linear->backend->operations->matmul(linear->backend, &call, error);
    record_profile(linear, begin, "forward", in.rows);
    return status;
}

rotary_status linear_top_classes(struct linear *linear, const struct parameters *parameters, struct matrix in,
                                 const struct backend_top_classes *given, rotary_error *error)
{
    struct backend_top_classes call = *given;
    if (linear->stored)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "the most probable classes of a weight that stays in its file: wanted its logits");
    const struct matrix out = {.rows = in.rows, .columns = linear->outputs};
    rotary_status status = prepare_forward(linear, parameters, out, in, error);
    if (status != ROTARY_OK)
        return status;
    double begin = profile_begin(linear->backend->profile);
    call.in = in;
    call.weight = linear->forward;
    call.bias = parameter_value(parameters, linear->bias);
    status = linear->backend->operations->top_classes(linear->backend, &call, error);
    record_profile(linear, begin, "most probable", in.rows);
    return status;
}

/* `in`: the input, or its gradient. */
static rotary_status check_backward(const struct linear *linear, struct matrix in, struct matrix d_out,
                                    rotary_error *error)
{
    rotary_status status = check_shapes(linear, in, d_out, error);
    if (status == ROTARY_OK && linear->backward < 0)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "a linear layer created for inference has no backward pass");
    return status;
}

rotary_status linear_weight_gradient(struct linear *linear, struct parameters *parameters,
                                     struct matrix d_out, struct matrix in, rotary_error *error)
{
    rotary_status status = check_backward(linear, in, d_out, error);
    if (status != ROTARY_OK)
        return status;
    const struct backend_weight_gradient call = {.gradient = parameter_gradient(parameters, linear->weight),
                                                 .sums = parameter_gradient(parameters, linear->bias),
                                                 .a = d_out,
                                                 .b = in};
    double begin = profile_begin(linear->backend->profile);
    status = linear->backend->operations->weight_gradient(linear->backend, &call, error);
    record_profile(linear, begin, "gradient of weight and bias", in.rows);
    return status;
}

rotary_status linear_input_gradient(struct linear *linear, struct parameters *parameters, struct matrix d_in,
                                    struct matrix d_out, rotary_error *error)
{
    struct packed_weight *weight = NULL;
    rotary_status status = check_backward(linear, d_in, d_out, error);
    if (status == ROTARY_OK)
        status = parameters_pack_shared(parameters, linear->backward, linear->weight, &weight, error);
    if (status != ROTARY_OK)
        return status;
    double begin = profile_begin(linear->backend->profile);
    const struct backend_matmul call = {.out = d_in, .in = d_out, .weight = weight};
    status = linear->backend->operations->matmul(linear->backend, &call, error);
    record_profile(linear, begin, "gradient of the input", d_out.rows);
    return status;
}

rotary_status linear_backward(struct linear *linear, struct parameters *parameters, struct matrix d_in,
                              struct matrix d_out, struct matrix in, rotary_error *error)
{
    rotary_status status = linear_weight_gradient(linear, parameters, d_out, in, error);
    if (status != ROTARY_OK || !d_in.data)
        return status;
    return linear_input_gradient(linear, parameters, d_in, d_out, error);
}
