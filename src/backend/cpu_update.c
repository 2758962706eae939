/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimizer's passes of the cpu backend over the flat arrays of the parameter table.
 */
#include "backend/cpu.h"

#include "backend/parameters.h"
#include "base/integer.h"
#include "base/threads.h"

#include <math.h>

struct blocks {
    const struct backend *backend;
    const struct parameters *parameters;
    const struct adam *adam;
    float gradient_scale;
    int64_t elements;                /* of a block */
    double square[PARAMETER_BLOCKS]; /* sums of squares */
};

/* The number of item `item` of the work. */
static int64_t block_of(const struct blocks *blocks, int64_t item)
{
    const struct update_share *share = blocks->parameters->share;
    return share ? share->blocks[item] : item;
}

static int64_t block_end(const struct blocks *blocks, int64_t index)
{
    return min_i64((index + 1) * blocks->elements, blocks->parameters->trained_elements);
}

/* Runs the blocks of the table's share. */
static void run_blocks(struct blocks *blocks, rotary_work *work)
{
    const struct parameters *parameters = blocks->parameters;
    blocks->elements = parameters_block(parameters);
    const int64_t all = divide_up(parameters->trained_elements, blocks->elements),
                  count = parameters->share ? parameters->share->count : all;
    rotary_parallel_for(blocks->backend->threads, count, work, blocks);
}

static void square_block(void *argument, int64_t item, int worker)
{
    (void)worker;
    struct blocks *blocks = argument;
    const int64_t index = block_of(blocks, item);
    int64_t first = index * blocks->elements;
    blocks->square[index] = cpu_of(blocks->backend)
                                ->kernels->sum_of_squares(blocks->parameters->gradients + first,
                                                          block_end(blocks, index) - first);
}

rotary_status cpu_gradient_square(const struct backend *backend, const struct parameters *parameters,
                                  double *square, rotary_error *error)
{
    struct blocks blocks = {.backend = backend, .parameters = parameters};
    const struct update_share *share = parameters->share;
    run_blocks(&blocks, square_block);
    const rotary_status status = share ? share->complete(share->argument, blocks.square, error) : ROTARY_OK;
    double total = 0.0;
    for (int64_t i = 0; i * blocks.elements < parameters->trained_elements; i++)
        total += blocks.square[i];
    *square += total;
    return status;
}

static void adam_block(void *argument, int64_t item, int worker)
{
    (void)worker;
    const struct blocks *blocks = argument;
    const struct parameters *parameters = blocks->parameters;
    const struct adam *adam = blocks->adam;
    const int64_t index = block_of(blocks, item);
    int64_t first = index * blocks->elements, end = block_end(blocks, index);
    for (int i = 0; i < parameters->count; i++) {
        const struct parameter *row = &parameters->rows[i];
        int64_t from = max_i64(row->gradient_offset, first);
        int64_t to = min_i64(row->gradient_offset + parameter_elements(row), end);
        if (from >= to || row->frozen)
            continue;
        float decay = row->decay ? adam->weight_decay : 0.0f;
        const struct layer_adam work = {
            .count = to - from,
            .value = parameters->values + row->offset + (from - row->gradient_offset),
            .gradient = parameters->gradients + from,
            .moment1 = parameters->moment1 + from,
            .moment2 = parameters->moment2 + from,
            .learning_rate = adam->learning_rate,
            .beta1 = adam->beta1,
            .beta2 = adam->beta2,
            .epsilon = adam->epsilon,
            .coupled_decay = adam->decoupled ? 0.0f : decay,
            .decoupled_decay = adam->decoupled ? adam->learning_rate * decay : 0.0f,
            .gradient_scale = blocks->gradient_scale,
            .inverse_correction1 = 1.0f / adam->correction1,
            .inverse_correction2 = 1.0f / adam->correction2};
        cpu_of(blocks->backend)->kernels->adam(&work);
    }
}

static double clip_scale(double norm, double max_grad_norm)
{
    if (max_grad_norm == 0.0)
        return 1.0;
    double scale = max_grad_norm / (norm + 1e-6);
    return scale < 1.0 ? scale : 1.0;
}

rotary_status cpu_update(const struct backend *backend, const struct backend_update *call,
                         rotary_error *error)
{
    struct step_statistics *statistics = call->parameters->statistics;
    statistics->diverged = !isfinite(statistics->loss.total);
    if (statistics->diverged)
        return ROTARY_OK;
    double square = 0.0;
    rotary_status status = ROTARY_OK;
    for (const struct parameters *table = call->parameters; table && status == ROTARY_OK;
         table = table->adapter)
        status = cpu_gradient_square(backend, table, &square, error);
    if (status != ROTARY_OK)
        return status;
    statistics->gradient_norm = sqrt(square);
    statistics->diverged = !isfinite(statistics->gradient_norm);
    if (statistics->diverged)
        return ROTARY_OK;
    statistics->clip_scale = clip_scale(statistics->gradient_norm, call->max_grad_norm);
    for (const struct parameters *table = call->parameters; table; table = table->adapter) {
        struct blocks blocks = {.backend = backend,
                                .parameters = table,
                                .adam = &call->adam,
                                .gradient_scale = (float)statistics->clip_scale};
        run_blocks(&blocks, adam_block);
    }
    return ROTARY_OK;
}
