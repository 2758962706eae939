/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/embedding.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/threads.h"
#include "kernel/layer/layer_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BLOCK_ROWS = 128,  /* of a forward work item */
    SLICE_COLUMNS = 64 /* of a backward work item, and of a draw of dropout */
};

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
    snprintf(row.name, sizeof row.name, "%s%s", config->name, suffix);
    return parameters_add(parameters, &row, index, error);
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
    struct embedding made = {.width = config->width, .scale = config->scale, .position_table = -1};
    rotary_status status = add_table(parameters, config, ".weight", config->vocabulary, &made.table, error);
    if (status == ROTARY_OK && config->position == EMBEDDING_POSITION_LEARNED)
        status =
            add_table(parameters, config, ".position.weight", config->positions, &made.position_table, error);
    if (status == ROTARY_OK && config->position == EMBEDDING_POSITION_SINUSOIDAL) {
        made.sinusoids = calloc((size_t)config->positions * (size_t)config->width, sizeof(float));
        if (!made.sinusoids)
            return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %lld positions of width %lld",
                               (long long)config->positions, (long long)config->width);
        fill_sinusoids(made.sinusoids, config->positions, config->width);
    }
    if (status == ROTARY_OK)
        *embedding = made;
    return status;
}

void embedding_destroy(struct embedding *embedding)
{
    free(embedding->sinusoids);
    *embedding = (struct embedding){0};
}

static int64_t position_of(const struct embedding_call *call, int64_t row)
{
    return call->positions ? call->positions[row] : row % call->time;
}

struct gather {
    const struct embedding *embedding;
    const struct layer_kernels *kernels;
    const struct embedding_call *call;
    const float *table, *positions;
    float *out;
    int64_t rows;
    struct layer_mask mask;
};

static void gather_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct gather *gather = argument;
    const struct embedding_call *call = gather->call;
    int64_t width = gather->embedding->width, end = min_i64((index + 1) * BLOCK_ROWS, gather->rows);
    for (int64_t row = index * BLOCK_ROWS; row < end; row++) {
        int64_t position = position_of(call, row);
        gather->kernels->embed(gather->out + row * width, gather->table + call->tokens[row] * width,
                               gather->positions ? gather->positions + position * width : NULL,
                               gather->embedding->scale, row, 0, width, &gather->mask);
    }
}

void embedding_forward(const struct embedding *embedding, const struct backend *backend,
                       const struct parameters *parameters, const struct embedding_call *call, float *out)
{
    const float *learned = parameter_value(parameters, embedding->position_table);
    struct gather gather = {.embedding = embedding,
                            .kernels = backend->kernels,
                            .call = call,
                            .table = parameter_value(parameters, embedding->table),
                            .positions = learned ? learned : embedding->sinusoids,
                            .out = out,
                            .rows = call->batch * call->time,
                            .mask = dropout_mask(call->dropout)};
    rotary_parallel_for(backend->threads, divide_up(gather.rows, BLOCK_ROWS), gather_block, &gather);
}

struct scatter {
    const struct embedding *embedding;
    const struct layer_kernels *kernels;
    const struct embedding_call *call;
    float *d_table, *d_positions;
    const float *d_out;
    int64_t rows;
    struct layer_mask mask;
};

/* Adds a slice of columns of every row. Rows of the same token are summed in row order. */
static void scatter_slice(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct scatter *scatter = argument;
    const struct embedding_call *call = scatter->call;
    int64_t width = scatter->embedding->width, column = index * SLICE_COLUMNS;
    int64_t columns = min_i64(width - column, SLICE_COLUMNS);
    for (int64_t row = 0; row < scatter->rows; row++) {
        float *d_position =
            scatter->d_positions ? scatter->d_positions + position_of(call, row) * width + column : NULL;
        scatter->kernels->embed_backward(scatter->d_table + call->tokens[row] * width + column, d_position,
                                         scatter->d_out + row * width + column, scatter->embedding->scale,
                                         row, column, columns, &scatter->mask);
    }
}

void embedding_backward(const struct embedding *embedding, const struct backend *backend,
                        struct parameters *parameters, const struct embedding_call *call, const float *d_out)
{
    struct scatter scatter = {.embedding = embedding,
                              .kernels = backend->kernels,
                              .call = call,
                              .d_table = parameter_gradient(parameters, embedding->table),
                              .d_positions = parameter_gradient(parameters, embedding->position_table),
                              .d_out = d_out,
                              .rows = call->batch * call->time,
                              .mask = dropout_mask(call->dropout)};
    rotary_parallel_for(backend->threads, divide_up(embedding->width, SLICE_COLUMNS), scatter_slice,
                        &scatter);
}
