/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/encoding/distance_bias.h"

#include "base/fail.h"
#include "base/integer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char what[] = "the bias of an encoding by distance";

int64_t distance_bias_segments(const struct distance_bias_config *config)
{
    const struct distance_bias_function *function = config->function;
    return function && function->segments ? function->segments(&config->settings) : 0;
}

static struct distance_bias_shape shape_of(const struct distance_bias_config *config)
{
    return (struct distance_bias_shape){.heads = config->heads,
                                        .distances =
                                            config->causal ? config->positions : 2 * config->positions - 1,
                                        .first = 1 - config->positions,
                                        .causal = config->causal,
                                        .segments = distance_bias_segments(config),
                                        .settings = config->settings};
}

static int64_t entries_of(const struct distance_bias_shape *shape)
{
    return shape->segments > 0 ? piecewise_layout_of(shape).count : shape->heads * shape->distances;
}

double distance_bias_bytes(const struct distance_bias_config *config)
{
    const struct distance_bias_function *function = config->function;
    const struct distance_bias_shape shape = shape_of(config);
    if (!function || config->positions == 0)
        return 0.0;
    return (double)entries_of(&shape) * sizeof(float) * (function->gradient && config->training ? 2.0 : 1.0);
}

/* ---- creation ---- */

static rotary_status add_parameters(struct distance_bias *bias, const struct distance_bias_config *config,
                                    struct parameters *parameters, rotary_error *error)
{
    struct parameter rows[DISTANCE_BIAS_PARAMETERS] = {0};
    rotary_status status = ROTARY_OK;
    bias->count = bias->is_learned ? bias->function->list(&bias->shape, rows) : 0;
    for (int i = 0; status == ROTARY_OK && i < bias->count; i++) {
        char name[sizeof rows[i].name];
        snprintf(name, sizeof name, "%.48s%.47s", config->prefix, rows[i].name);
        memcpy(rows[i].name, name, sizeof name);
        status = parameters_add(parameters, &rows[i], &bias->rows[i], error);
    }
    return status;
}

static rotary_status allocate_host(struct distance_bias *bias, const struct parameters *parameters,
                                   rotary_error *error)
{
    int64_t largest = entries_of(&bias->shape);
    bool complete = true;
    for (int i = 0; i < bias->count; i++) {
        int64_t elements = parameter_elements(&parameters->rows[bias->rows[i]]);
        bias->values[i] = malloc((size_t)elements * sizeof *bias->values[i]);
        bias->gradients[i] = malloc((size_t)elements * sizeof *bias->gradients[i]);
        complete = complete && bias->values[i] && bias->gradients[i];
        largest = max_i64(largest, elements);
    }
    bias->table = malloc((size_t)largest * sizeof *bias->table);
    return complete && bias->table ? ROTARY_OK : rotary_fail_memory(error, "for %s", what);
}

static void free_host(struct distance_bias *bias)
{
    free(bias->table);
    bias->table = NULL;
    for (int i = 0; i < DISTANCE_BIAS_PARAMETERS; i++) {
        free(bias->values[i]);
        free(bias->gradients[i]);
        bias->values[i] = NULL;
        bias->gradients[i] = NULL;
    }
}

/* Fills the table on the host, and writes it to the backend's. */
static rotary_status fill(struct distance_bias *bias, rotary_error *error)
{
    bias->function->fill(&bias->shape, (const float *const *)bias->values, bias->table);
    return bias->backend->operations->write(bias->backend, bias->memory, bias->table,
                                            (size_t)entries_of(&bias->shape) * sizeof *bias->table, error);
}

/* What attention's calls get; `gradient` is laid out as the memory, or NULL. */
static void set_calls(struct distance_bias *bias, float *gradient)
{
    const struct distance_bias_shape *shape = &bias->shape;
    const float *memory = bias->memory;
    bias->gradient = gradient;
    if (shape->segments == 0) {
        bias->call = (rotary_attention_distance_bias){.data = memory,
                                                      .distances = shape->distances,
                                                      .first = shape->first,
                                                      .head_stride = shape->distances,
                                                      .gradient = gradient};
        return;
    }
    const struct piecewise_layout at = piecewise_layout_of(shape);
    bias->piecewise =
        (rotary_attention_piecewise_bias){.intercepts = memory + at.intercepts,
                                          .slopes = memory + at.slopes,
                                          .knots = memory + at.knots,
                                          .segments = shape->segments,
                                          .distance_inputs = memory + at.inputs,
                                          .distances = shape->distances,
                                          .first = shape->first,
                                          .query_scales = memory + at.scales,
                                          .positions = at.positions,
                                          .intercept_gradient = gradient ? gradient + at.intercepts : NULL,
                                          .slope_gradient = gradient ? gradient + at.slopes : NULL,
                                          .input_gradient = gradient ? gradient + at.inputs : NULL,
                                          .scale_gradient = gradient ? gradient + at.scales : NULL};
}

static rotary_status allocate(struct distance_bias *bias, const struct distance_bias_config *config,
                              const struct parameters *parameters, rotary_error *error)
{
    void *memory = NULL;
    rotary_status status = allocate_host(bias, parameters, error);
    if (status == ROTARY_OK)
        status = bias->backend->operations->allocate(bias->backend, &memory,
                                                     (size_t)distance_bias_bytes(config), what, error);
    if (status != ROTARY_OK)
        return status;
    bias->memory = memory;
    bool has_gradient = bias->is_learned && config->training;
    set_calls(bias, has_gradient ? bias->memory + entries_of(&bias->shape) : NULL);
    if (bias->is_learned)
        return ROTARY_OK;
    status = fill(bias, error);
    free_host(bias);
    return status;
}

rotary_status distance_bias_create(struct distance_bias *bias, const struct backend *backend,
                                   const struct distance_bias_config *config, struct parameters *parameters,
                                   rotary_error *error)
{
    const struct distance_bias_function *function = config->function;
    struct distance_bias made = {.backend = backend,
                                 .function = function,
                                 .is_learned = function && function->gradient,
                                 .shape = shape_of(config)};
    rotary_status status = ROTARY_OK;
    if (function)
        status = add_parameters(&made, config, parameters, error);
    if (status == ROTARY_OK && function && config->positions > 0)
        status = allocate(&made, config, parameters, error);
    if (status == ROTARY_OK)
        *bias = made;
    else
        distance_bias_destroy(&made);
    return status;
}

void distance_bias_destroy(struct distance_bias *bias)
{
    if (bias->memory)
        bias->backend->operations->release(bias->backend, bias->memory);
    free_host(bias);
    *bias = (struct distance_bias){0};
}

/* ---- passes ---- */

rotary_status distance_bias_update(struct distance_bias *bias, const struct parameters *parameters,
                                   rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    bool changed = false;
    for (int i = 0; i < bias->count; i++)
        changed = changed || bias->versions[i] != parameters->rows[bias->rows[i]].version;
    for (int i = 0; changed && status == ROTARY_OK && i < bias->count; i++)
        status = parameters_read(parameters, parameter_range(parameters, PARAMETER_VALUES, bias->rows[i]),
                                 bias->values[i], error);
    if (changed && status == ROTARY_OK)
        status = fill(bias, error);
    for (int i = 0; status == ROTARY_OK && i < bias->count; i++)
        bias->versions[i] = parameters->rows[bias->rows[i]].version;
    return status;
}

rotary_status distance_bias_clear_gradient(struct distance_bias *bias, rotary_error *error)
{
    if (!bias->gradient)
        return ROTARY_OK;
    return bias->backend->operations->clear(bias->backend, bias->gradient,
                                            (size_t)entries_of(&bias->shape) * sizeof(float), error);
}

/* Adds the gradient of parameter i to what the backend has. */
static rotary_status add_gradient(struct distance_bias *bias, int i, struct parameters *parameters,
                                  rotary_error *error)
{
    if (!parameter_gradient(parameters, bias->rows[i]))
        return ROTARY_OK;
    const struct parameter_range range = parameter_range(parameters, PARAMETER_GRADIENTS, bias->rows[i]);
    float *sum = bias->table;
    rotary_status status = parameters_read(parameters, range, sum, error);
    if (status != ROTARY_OK)
        return status;
    for (int64_t j = 0; j < range.count; j++)
        sum[j] += (float)bias->gradients[i][j];
    return parameters_write(parameters, range, sum, error);
}

rotary_status distance_bias_backward(struct distance_bias *bias, struct parameters *parameters,
                                     rotary_error *error)
{
    if (!bias->gradient)
        return ROTARY_OK;
    const struct backend *backend = bias->backend;
    rotary_status status = backend->operations->read(
        backend, bias->table, bias->gradient, (size_t)entries_of(&bias->shape) * sizeof *bias->table, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; i < bias->count; i++) {
        size_t elements = (size_t)parameter_elements(&parameters->rows[bias->rows[i]]);
        memset(bias->gradients[i], 0, elements * sizeof *bias->gradients[i]);
    }
    bias->function->gradient(&bias->shape, (const float *const *)bias->values, bias->table, bias->gradients);
    for (int i = 0; status == ROTARY_OK && i < bias->count; i++)
        status = add_gradient(bias, i, parameters, error);
    return status;
}
