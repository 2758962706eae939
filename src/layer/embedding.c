/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/embedding.h"

#include "base/fail.h"
#include "base/threads.h"
#include "kernel/layer/layer_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BLOCK_ROWS = 128,  /* gathered by one thread in one go */
    SLICE_COLUMNS = 64 /* of the tables, whose gradient one thread sums; dropout draws as many at once */
};

/* Vaswani et al. 2017, 3.5: sin(position / 10000^(2i / width)) at column 2i, the cosine beside it. */
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

struct gather {
    const struct embedding *embedding;
    const struct layer_kernels *kernels;
    const float *table, *positions;
    float *out;
    const int32_t *tokens;
    const int64_t *first;
    int64_t rows, time;
    struct layer_mask mask;
};

static void gather_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct gather *gather = argument;
    int64_t width = gather->embedding->width, end = (index + 1) * BLOCK_ROWS;
    end = end < gather->rows ? end : gather->rows;
    for (int64_t row = index * BLOCK_ROWS; row < end; row++) {
        int64_t position = row % gather->time + (gather->first ? gather->first[row / gather->time] : 0);
        gather->kernels->embed(gather->out + row * width, gather->table + gather->tokens[row] * width,
                               gather->positions ? gather->positions + position * width : NULL,
                               gather->embedding->scale, row, 0, width, &gather->mask);
    }
}

void embedding_forward(const struct embedding *embedding, const struct compute *compute,
                       const struct parameters *parameters, float *out, const int32_t *tokens,
                       const int64_t *first, int64_t batch, int64_t time, struct dropout dropout)
{
    const float *learned = parameter_value(parameters, embedding->position_table);
    struct gather gather = {.embedding = embedding,
                            .kernels = compute->kernels,
                            .table = parameter_value(parameters, embedding->table),
                            .positions = learned ? learned : embedding->sinusoids,
                            .out = out,
                            .tokens = tokens,
                            .first = first,
                            .rows = batch * time,
                            .time = time,
                            .mask = dropout_mask(dropout)};
    rotary_parallel_for(compute->threads, (gather.rows + BLOCK_ROWS - 1) / BLOCK_ROWS, gather_block, &gather);
}

struct scatter {
    const struct embedding *embedding;
    const struct layer_kernels *kernels;
    float *d_table, *d_positions;
    const float *d_out;
    const int32_t *tokens;
    int64_t rows, time;
    struct layer_mask mask;
};

/* A slice of columns over all rows in order, so that the order of sums is that of the rows. */
static void scatter_slice(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct scatter *scatter = argument;
    int64_t width = scatter->embedding->width, column = index * SLICE_COLUMNS;
    int64_t columns = width - column < SLICE_COLUMNS ? width - column : SLICE_COLUMNS;
    for (int64_t row = 0; row < scatter->rows; row++) {
        float *add =
            scatter->d_positions ? scatter->d_positions + row % scatter->time * width + column : NULL;
        scatter->kernels->embed_backward(scatter->d_table + scatter->tokens[row] * width + column, add,
                                         scatter->d_out + row * width + column, scatter->embedding->scale,
                                         row, column, columns, &scatter->mask);
    }
}

void embedding_backward(const struct embedding *embedding, const struct compute *compute,
                        struct parameters *parameters, const float *d_out, const int32_t *tokens,
                        int64_t batch, int64_t time, struct dropout dropout)
{
    struct scatter scatter = {.embedding = embedding,
                              .kernels = compute->kernels,
                              .d_table = parameter_gradient(parameters, embedding->table),
                              .d_positions = parameter_gradient(parameters, embedding->position_table),
                              .d_out = d_out,
                              .tokens = tokens,
                              .rows = batch * time,
                              .time = time,
                              .mask = dropout_mask(dropout)};
    rotary_parallel_for(compute->threads, (embedding->width + SLICE_COLUMNS - 1) / SLICE_COLUMNS,
                        scatter_slice, &scatter);
}
