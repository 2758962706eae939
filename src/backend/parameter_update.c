/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/parameter_update.h"

#include "base/integer.h"
#include "base/threads.h"
#include "kernel/layer/layer_kernels.h"

enum {
    MAX_CHUNKS = 1024,
    MIN_CHUNK = 1 << 14, /* elements */
};

struct chunks {
    const struct backend *backend;
    const struct parameters *parameters;
    const struct adam *adam;
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
    return min_i64((index + 1) * chunks->elements, chunks->parameters->elements);
}

static void run_chunks(struct chunks *chunks, rotary_work *work)
{
    chunks->elements = chunk_elements(chunks->parameters->elements);
    int64_t count = divide_up(chunks->parameters->elements, chunks->elements);
    rotary_parallel_for(chunks->backend->threads, count, work, chunks);
}

static void square_chunk(void *argument, int64_t index, int worker)
{
    (void)worker;
    struct chunks *chunks = argument;
    int64_t first = index * chunks->elements;
    chunks->square[index] = chunks->backend->kernels->sum_of_squares(chunks->parameters->gradients + first,
                                                                     chunk_end(chunks, index) - first);
}

double update_gradient_square(const struct backend *backend, const struct parameters *parameters)
{
    struct chunks chunks = {.backend = backend, .parameters = parameters};
    run_chunks(&chunks, square_chunk);
    double total = 0.0;
    for (int64_t i = 0; i * chunks.elements < parameters->elements; i++)
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
        int64_t from = max_i64(row->offset, first);
        int64_t to = min_i64(row->offset + parameter_elements(row), end);
        if (from >= to)
            continue;
        float decay = row->decay ? adam->weight_decay : 0.0f;
        const struct layer_adam work = {.count = to - from,
                                        .value = parameters->values + from,
                                        .gradient = parameters->gradients + from,
                                        .moment1 = parameters->moment1 + from,
                                        .moment2 = parameters->moment2 + from,
                                        .learning_rate = adam->learning_rate,
                                        .beta1 = adam->beta1,
                                        .beta2 = adam->beta2,
                                        .epsilon = adam->epsilon,
                                        .coupled_decay = adam->decoupled ? 0.0f : decay,
                                        .decoupled_decay =
                                            adam->decoupled ? adam->learning_rate * decay : 0.0f,
                                        .gradient_scale = adam->gradient_scale,
                                        .inverse_correction1 = 1.0f / adam->correction1,
                                        .inverse_correction2 = 1.0f / adam->correction2};
        chunks->backend->kernels->adam(&work);
    }
}

void update_adam(const struct backend *backend, struct parameters *parameters, const struct adam *adam)
{
    struct chunks chunks = {.backend = backend, .parameters = parameters, .adam = adam};
    run_chunks(&chunks, adam_chunk);
}
