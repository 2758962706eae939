/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimizer's passes of the cpu backend over the flat arrays of the parameter table.
 */
#include "backend/cpu.h"

#include "backend/parameters.h"
#include "base/integer.h"
#include "base/threads.h"

#include <math.h>

enum {
    MAX_CHUNKS = 1024,
    MIN_CHUNK = 1 << 14, /* elements */
};

struct chunks {
    const struct backend *backend;
    const struct parameters *parameters;
    const struct adam *adam;
    float gradient_scale;
    int64_t elements;          /* of a chunk */
    double square[MAX_CHUNKS]; /* sums of squares */
};

/* Depends on the size of the flat arrays alone. */
static int64_t chunk_elements(int64_t elements)
{
    return max_i64(divide_up(elements, MAX_CHUNKS), MIN_CHUNK);
}

static int64_t chunk_end(const struct chunks *chunks, int64_t index)
{
    return min_i64((index + 1) * chunks->elements, chunks->parameters->trained_elements);
}

static void run_chunks(struct chunks *chunks, rotary_work *work)
{
    chunks->elements = chunk_elements(chunks->parameters->trained_elements);
    int64_t count = divide_up(chunks->parameters->trained_elements, chunks->elements);
    rotary_parallel_for(chunks->backend->threads, count, work, chunks);
}

static void square_chunk(void *argument, int64_t index, int worker)
{
    (void)worker;
    struct chunks *chunks = argument;
    int64_t first = index * chunks->elements;
    chunks->square[index] = cpu_of(chunks->backend)
                                ->kernels->sum_of_squares(chunks->parameters->gradients + first,
                                                          chunk_end(chunks, index) - first);
}

double cpu_gradient_square(const struct backend *backend, const struct parameters *parameters)
{
    struct chunks chunks = {.backend = backend, .parameters = parameters};
    run_chunks(&chunks, square_chunk);
    double total = 0.0;
    for (int64_t i = 0; i * chunks.elements < parameters->trained_elements; i++)
        total += chunks.square[i];
    return total;
}

static void adam_chunk(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct chunks *chunks = argument;
    const struct parameters *parameters = chunks->parameters;
    const struct adam *adam = chunks->adam;
    int64_t first = index * chunks->elements, end = chunk_end(chunks, index);
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
            .gradient_scale = chunks->gradient_scale,
            .inverse_correction1 = 1.0f / adam->correction1,
            .inverse_correction2 = 1.0f / adam->correction2};
        cpu_of(chunks->backend)->kernels->adam(&work);
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
    (void)error;
    struct step_statistics *statistics = call->parameters->statistics;
    statistics->diverged = !isfinite(statistics->loss.total);
    if (statistics->diverged)
        return ROTARY_OK;
    double square = 0.0;
    for (const struct parameters *table = call->parameters; table; table = table->adapter)
        square += cpu_gradient_square(backend, table);
    statistics->gradient_norm = sqrt(square);
    statistics->diverged = !isfinite(statistics->gradient_norm);
    if (statistics->diverged)
        return ROTARY_OK;
    statistics->clip_scale = clip_scale(statistics->gradient_norm, call->max_grad_norm);
    for (const struct parameters *table = call->parameters; table; table = table->adapter) {
        struct chunks chunks = {.backend = backend,
                                .parameters = table,
                                .adam = &call->adam,
                                .gradient_scale = (float)statistics->clip_scale};
        run_chunks(&chunks, adam_chunk);
    }
    return ROTARY_OK;
}
