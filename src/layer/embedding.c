/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/embedding.h"

#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Vaswani et al. 2017, 3.5: sin(position / 10000^(2i / width)) in column 2i, the cosine in column 2i + 1. */
static void fill_sinusoids(float *table, int64_t positions, int64_t width)
{
    for (int64_t position = 0; position < positions; position++)
        for (int64_t column = 0; column < width; column++) {
            double angle = (double)position * pow(10000.0, -(double)(column / 2 * 2) / (double)width);
            table[position * width + column] = (float)(column % 2 ? cos(angle) : sin(angle));
        }
}

static rotary_status add_table(struct parameters *parameters, const struct embedding_config *config,
                               const char *suffix, int64_t rows, int *index, rotary_error *error)
{
    struct parameter row = {.rows = rows,
                            .columns = config->width,
                            .scale = config->initial_scale,
                            .decay = true,
                            .initial = config->initial_scale > 0.0f ? INITIAL_NORMAL : INITIAL_ZERO};
    if (config->glorot) {
        row.initial = INITIAL_UNIFORM;
        row.scale = initial_glorot(config->width, rows);
    }
    snprintf(row.name, sizeof row.name, "%s%s", config->name, suffix);
    return parameters_add(parameters, &row, index, error);
}

static rotary_status create_sinusoids(struct embedding *embedding, const struct embedding_config *config,
                                      rotary_error *error)
{
    const struct backend *backend = embedding->backend;
    size_t bytes;
    float *host = NULL;
    if (!__builtin_mul_overflow((size_t)config->positions * sizeof(float), (size_t)config->width, &bytes))
        host = malloc(bytes);
    if (!host)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %lld positions of width %lld",
                           (long long)config->positions, (long long)config->width);
    fill_sinusoids(host, config->positions, config->width);
    void *table = NULL;
    rotary_status status =
        backend->operations->allocate(backend, &table, bytes, "the table of positions", error);
    if (status == ROTARY_OK)
        status = backend->operations->write(backend, table, host, bytes, error);
    free(host);
    if (status == ROTARY_OK)
        embedding->sinusoids = table;
    else
        backend->operations->release(backend, table);
    return status;
}

rotary_status embedding_create(struct embedding *embedding, const struct embedding_config *config,
                               struct parameters *parameters, rotary_error *error)
{
    bool positioned = config->position != EMBEDDING_POSITION_NONE;
    if (config->vocabulary < 1 || config->width < 1 || (positioned && config->positions < 1))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "embedding \"%s\" of %lld tokens, width %lld, %lld positions: each must be at least 1",
            config->name, (long long)config->vocabulary, (long long)config->width,
            (long long)config->positions);
    struct embedding made = {.width = config->width,
                             .scale = config->scale,
                             .table = config->shared_table,
                             .position_table = -1,
                             .backend = parameters->backend};
    rotary_status status = ROTARY_OK;
    if (!config->shared)
        status = add_table(parameters, config, ".weight", config->vocabulary, &made.table, error);
    if (status == ROTARY_OK && config->position == EMBEDDING_POSITION_LEARNED)
        status =
            add_table(parameters, config, ".position.weight", config->positions, &made.position_table, error);
    if (status == ROTARY_OK && config->position == EMBEDDING_POSITION_SINUSOIDAL)
        status = create_sinusoids(&made, config, error);
    if (status == ROTARY_OK)
        *embedding = made;
    return status;
}

void embedding_destroy(struct embedding *embedding)
{
    if (embedding->backend)
        embedding->backend->operations->release(embedding->backend, embedding->sinusoids);
    *embedding = (struct embedding){0};
}

rotary_status embedding_forward(const struct embedding *embedding, const struct parameters *parameters,
                                const struct embedding_call *call, float *out, rotary_error *error)
{
    const float *learned = parameter_value(parameters, embedding->position_table);
    const struct backend_embedding_forward forward = {.rows = call->batch * call->time,
                                                      .width = embedding->width,
                                                      .time = call->time,
                                                      .out = out,
                                                      .tokens = call->tokens,
                                                      .table = parameter_value(parameters, embedding->table),
                                                      .position_table =
                                                          learned ? learned : embedding->sinusoids,
                                                      .positions = call->positions,
                                                      .scale = embedding->scale,
                                                      .dropout = call->dropout};
    return embedding->backend->operations->embedding_forward(embedding->backend, &forward, error);
}

rotary_status embedding_backward(const struct embedding *embedding, struct parameters *parameters,
                                 const struct embedding_call *call, const float *d_out, rotary_error *error)
{
    const struct backend_embedding_backward backward = {
        .rows = call->batch * call->time,
        .width = embedding->width,
        .time = call->time,
        .d_out = d_out,
        .tokens = call->tokens,
        .d_table = parameter_gradient(parameters, embedding->table),
        .d_position_table = parameter_gradient(parameters, embedding->position_table),
        .positions = call->positions,
        .scale = embedding->scale,
        .dropout = call->dropout};
    return embedding->backend->operations->embedding_backward(embedding->backend, &backward, error);
}
