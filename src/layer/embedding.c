/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/embedding.h"

#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS ".weight" /* behind the name of the table of tokens */

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
    const bool is_of_tokens = strcmp(suffix, TOKENS) == 0;
    struct parameter row = {.rows = rows,
                            .columns = config->width,
                            .scale = config->initial_scale,
                            .may_be_stored = is_of_tokens,
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
        return rotary_fail_memory(error, "for %lld positions of width %lld", (long long)config->positions,
                                  (long long)config->width);
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

static rotary_status add_norm(struct norm *norm, const struct embedding_config *config,
                              struct parameters *parameters, rotary_error *error)
{
    char name[64];
    snprintf(name, sizeof name, "%s.norm", config->name);
    const enum norm_kind kind = config->has_norm ? config->norm : NORM_NONE;
    const struct norm_config made = {
        .name = name, .kind = kind, .width = config->width, .epsilon = config->norm_epsilon};
    return norm_create(norm, &made, parameters, error);
}

static rotary_status check_config(const struct embedding_config *config, rotary_error *error)
{
    bool positioned = config->position != EMBEDDING_POSITION_NONE;
    if (config->vocabulary >= 1 && config->width >= 1 && (!positioned || config->positions >= 1) &&
        config->types >= 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "embedding \"%s\" of %lld tokens, width %lld, %lld positions: each must be at least 1",
                       config->name, (long long)config->vocabulary, (long long)config->width,
                       (long long)config->positions);
}

rotary_status embedding_create(struct embedding *embedding, const struct embedding_config *config,
                               struct parameters *parameters, rotary_error *error)
{
    rotary_status status = check_config(config, error);
    if (status != ROTARY_OK)
        return status;
    struct embedding made = {.width = config->width,
                             .scale = config->scale,
                             .table = config->shared_table,
                             .position_table = -1,
                             .type_table = -1,
                             .backend = parameters->backend};
    if (!config->shared)
        status = add_table(parameters, config, TOKENS, config->vocabulary, &made.table, error);
    if (status == ROTARY_OK && config->position == EMBEDDING_POSITION_LEARNED)
        status =
            add_table(parameters, config, ".position.weight", config->positions, &made.position_table, error);
    if (status == ROTARY_OK && config->types > 0)
        status = add_table(parameters, config, ".type.weight", config->types, &made.type_table, error);
    if (status == ROTARY_OK)
        status = add_norm(&made.norm, config, parameters, error);
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

void embedding_carve(struct embedding *embedding, int64_t rows, bool training, struct rotary_arena *arena)
{
    if (embedding->norm.kind == NORM_NONE)
        return;
    embedding->sum = rotary_arena_push(arena, rows * embedding->width, sizeof *embedding->sum);
    if (!training)
        return;
    embedding->mean = rotary_arena_push(arena, rows, sizeof *embedding->mean);
    embedding->rstd = rotary_arena_push(arena, rows, sizeof *embedding->rstd);
}

/* dropout(x) in place, of [rows, width]. Its mask is the same in both passes. */
static rotary_status drop(const struct embedding *embedding, const struct embedding_call *call, float *x,
                          rotary_error *error)
{
    struct matrix all = matrix_of(x, ROTARY_F32, call->batch * call->time, embedding->width);
    const struct backend_drop drop = {.out = all, .in = all, .dropout = call->dropout};
    return embedding->backend->operations->drop(embedding->backend, &drop, error);
}

static rotary_status norm_sum(const struct embedding *embedding, const struct parameters *parameters,
                              const struct embedding_call *call, float *out, rotary_error *error)
{
    const struct backend_norm_forward norm = {.rows = call->batch * call->time,
                                              .residual = embedding->sum,
                                              .normalised_f32 = out,
                                              .mean = embedding->mean,
                                              .rstd = embedding->rstd};
    rotary_status status = norm_forward(&embedding->norm, parameters, &norm, error);
    return status == ROTARY_OK ? drop(embedding, call, out, error) : status;
}

/* Where a norm comes before it, dropout is not that of the sum. */
static struct dropout dropout_of_sum(const struct embedding *embedding, const struct embedding_call *call)
{
    const struct dropout none = {0};
    return embedding->norm.kind == NORM_NONE ? call->dropout : none;
}

/* Reads a table as a file has it, beside which there are neither positions nor types nor a norm. */
static rotary_status forward_stored(const struct embedding *embedding, const struct stored_weight *table,
                                    const struct embedding_call *call, float *out, rotary_error *error)
{
    if (embedding->position_table >= 0 || embedding->sinusoids || embedding->type_table >= 0 ||
        embedding->norm.kind != NORM_NONE || call->dropout.probability > 0.0f || table->count == 0)
        return rotary_fail(
            error, ROTARY_UNSUPPORTED,
            "an embedding that stays in its file: wanted one of tokens alone, that was loaded");
    const struct backend_stored_embedding forward = {.rows = call->batch * call->time,
                                                     .out = out,
                                                     .tokens = call->tokens,
                                                     .table = table,
                                                     .scale = embedding->scale};
    return embedding->backend->operations->stored_embedding(embedding->backend, &forward, error);
}

rotary_status embedding_forward(const struct embedding *embedding, const struct parameters *parameters,
                                const struct embedding_call *call, float *out, rotary_error *error)
{
    const float *learned = parameter_value(parameters, embedding->position_table);
    bool normed = embedding->norm.kind != NORM_NONE;
    const struct stored_weight *stored = parameter_stored(parameters, embedding->table);
    if (stored)
        return forward_stored(embedding, stored, call, out, error);
    const struct backend_embedding_forward forward = {
        .rows = call->batch * call->time,
        .width = embedding->width,
        .time = call->time,
        .out = normed ? embedding->sum : out,
        .tokens = call->tokens,
        .table = parameter_value(parameters, embedding->table),
        .position_table = learned ? learned : embedding->sinusoids,
        .positions = call->positions,
        .type_table = parameter_value(parameters, embedding->type_table),
        .types = call->types,
        .scale = embedding->scale,
        .dropout = dropout_of_sum(embedding, call)};
    rotary_status status =
        embedding->backend->operations->embedding_forward(embedding->backend, &forward, error);
    return status == ROTARY_OK && normed ? norm_sum(embedding, parameters, call, out, error) : status;
}

/* The gradient of the sum from that of what embedding_forward gave, in place. */
static rotary_status norm_sum_backward(const struct embedding *embedding, struct parameters *parameters,
                                       const struct embedding_call *call, float *d, rotary_error *error)
{
    rotary_status status = drop(embedding, call, d, error);
    const struct backend_norm_backward norm = {.rows = call->batch * call->time,
                                               .residual_sum = embedding->sum,
                                               .mean = embedding->mean,
                                               .rstd = embedding->rstd,
                                               .d_normalised_f32 = d,
                                               .d_residual = d};
    return status == ROTARY_OK ? norm_backward(&embedding->norm, parameters, &norm, error) : status;
}

rotary_status embedding_backward(const struct embedding *embedding, struct parameters *parameters,
                                 const struct embedding_call *call, float *d_out, rotary_error *error)
{
    const struct backend_embedding_backward backward = {
        .rows = call->batch * call->time,
        .width = embedding->width,
        .time = call->time,
        .d_out = d_out,
        .tokens = call->tokens,
        .d_table = parameter_gradient(parameters, embedding->table),
        .d_position_table = parameter_gradient(parameters, embedding->position_table),
        .d_type_table = parameter_gradient(parameters, embedding->type_table),
        .positions = call->positions,
        .types = call->types,
        .scale = embedding->scale,
        .dropout = dropout_of_sum(embedding, call)};
    rotary_status status = ROTARY_OK;
    if (embedding->norm.kind != NORM_NONE)
        status = norm_sum_backward(embedding, parameters, call, d_out, error);
    if (status != ROTARY_OK)
        return status;
    return embedding->backend->operations->embedding_backward(embedding->backend, &backward, error);
}
