/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/output_transform.h"

#include "backend/profile.h"
#include "base/fail.h"
#include "layer/sublayer_parts.h"

#include <stdio.h>
#include <stdlib.h>

struct output_transform {
    const struct backend *backend;
    struct output_transform_config config;
    struct linear *dense;
    struct norm norm; /* of kind NORM_NONE where there is none: hidden and out are then one matrix */
    /* These are of a call, [rows, width]. Without training `pre` and `hidden` are one matrix; so are d_out
     * and the gradients before it. */
    struct matrix pre, hidden, out, d_out;
    float *mean, *rstd; /* [rows]; without training NULL */
};

static rotary_status add_parameters(struct output_transform *transform, struct parameters *parameters,
                                    rotary_error *error)
{
    const struct output_transform_config *config = &transform->config;
    const struct sublayer_config shared = {.name = config->name,
                                           .batch = 1,
                                           .time = config->rows,
                                           .training = config->training,
                                           .measured = config->measured,
                                           .initial = config->initial};
    const struct sublayer_linear dense = {
        .name = "dense", .inputs = config->width, .outputs = config->width, .bias = config->bias};
    rotary_status status =
        sublayer_add_linear(&transform->dense, transform->backend, &shared, &dense, parameters, error);
    if (status != ROTARY_OK)
        return status;
    char name[64];
    const enum norm_kind kind = config->has_norm ? config->norm : NORM_NONE;
    snprintf(name, sizeof name, "%s.norm", config->name);
    const struct norm_config norm = {
        .name = name, .kind = kind, .width = config->width, .epsilon = config->norm_epsilon};
    return norm_create(&transform->norm, &norm, parameters, error);
}

rotary_status output_transform_create(struct output_transform **transform, const struct backend *backend,
                                      const struct output_transform_config *config,
                                      struct parameters *parameters, rotary_error *error)
{
    struct output_transform *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for an output transform");
    made->backend = backend;
    made->config = *config;
    rotary_status status = add_parameters(made, parameters, error);
    made->config.name = NULL; /* it was borrowed */
    if (status == ROTARY_OK)
        *transform = made;
    else
        output_transform_destroy(made);
    return status;
}

void output_transform_destroy(struct output_transform *transform)
{
    if (transform)
        linear_destroy(transform->dense);
    free(transform);
}

size_t output_transform_weight_bytes(const struct output_transform *transform)
{
    return linear_bytes(transform->dense);
}

static struct matrix push(const struct output_transform *transform, int64_t rows, struct rotary_arena *arena)
{
    rotary_dtype storage = transform->backend->storage;
    int64_t width = transform->config.width;
    return matrix_of(rotary_arena_push(arena, rows * width, rotary_dtype_size(storage)), storage, rows,
                     width);
}

void output_transform_carve(struct output_transform *transform, int64_t rows, struct rotary_arena *arena)
{
    const bool training = transform->config.training, normed = transform->norm.kind != NORM_NONE;
    transform->pre = push(transform, rows, arena);
    transform->hidden = training ? push(transform, rows, arena) : transform->pre;
    transform->out = normed ? push(transform, rows, arena) : transform->hidden;
    if (!training)
        return;
    transform->d_out = push(transform, rows, arena);
    transform->mean = rotary_arena_push(arena, rows, sizeof *transform->mean);
    transform->rstd = rotary_arena_push(arena, rows, sizeof *transform->rstd);
}

/* Bytes: three matrices are read and two written. */
static void record_profile(const struct output_transform *transform, double begin, const char *what,
                           int64_t rows)
{
    double elements = (double)rows * (double)transform->config.width;
    profile_end(transform->backend->profile, begin, "output transform", what, 0.0,
                5.0 * elements * (double)rotary_dtype_size(transform->backend->storage));
}

/* ReLU's gradient follows from its output, the others' from their input. */
static struct matrix saved_of(const struct output_transform *transform)
{
    return transform->config.activation == ACTIVATION_RELU ? transform->hidden : transform->pre;
}

rotary_status output_transform_forward(struct output_transform *transform,
                                       const struct parameters *parameters,
                                       const struct output_transform_call *call, struct matrix *out,
                                       rotary_error *error)
{
    const struct backend *backend = transform->backend;
    const int64_t rows = call->in.rows;
    struct matrix pre = first_rows(transform->pre, rows), hidden = first_rows(transform->hidden, rows);
    rotary_status status =
        linear_forward(transform->dense, parameters, pre, call->in, MATMUL_EPILOGUE_NONE, error);
    if (status != ROTARY_OK)
        return status;
    double begin = profile_begin(backend->profile);
    const struct backend_activation_forward activation = {
        .kind = transform->config.activation, .out = hidden, .pre = pre, .dropout = call->dropout};
    status = backend->operations->activation_forward(backend, &activation, error);
    *out = first_rows(transform->out, rows);
    const struct backend_head_norm_forward norm = {
        .heads = 1, .out = *out, .in = hidden, .mean = transform->mean, .rstd = transform->rstd};
    if (status == ROTARY_OK && transform->norm.kind != NORM_NONE)
        status = head_norm_forward(&transform->norm, parameters, &norm, error);
    record_profile(transform, begin, "forward", rows);
    return status;
}

struct matrix output_transform_gradient(struct output_transform *transform, int64_t rows)
{
    return first_rows(transform->d_out, rows);
}

rotary_status output_transform_backward(struct output_transform *transform, struct parameters *parameters,
                                        const struct output_transform_call *call, struct matrix d_in,
                                        rotary_error *error)
{
    const struct backend *backend = transform->backend;
    const int64_t rows = call->in.rows;
    struct matrix d = first_rows(transform->d_out, rows);
    double begin = profile_begin(backend->profile);
    const struct backend_head_norm_backward norm = {.heads = 1,
                                                    .d_in = d,
                                                    .d_out = d,
                                                    .in = first_rows(transform->hidden, rows),
                                                    .mean = transform->mean,
                                                    .rstd = transform->rstd};
    rotary_status status = ROTARY_OK;
    if (transform->norm.kind != NORM_NONE)
        status = head_norm_backward(&transform->norm, parameters, &norm, error);
    const struct backend_activation_backward activation = {.kind = transform->config.activation,
                                                           .d_pre = d,
                                                           .d_out = d,
                                                           .saved = first_rows(saved_of(transform), rows),
                                                           .dropout = call->dropout};
    if (status == ROTARY_OK)
        status = backend->operations->activation_backward(backend, &activation, error);
    record_profile(transform, begin, "backward", rows);
    if (status != ROTARY_OK)
        return status;
    return linear_backward(transform->dense, parameters, d_in, d, call->in, error);
}
