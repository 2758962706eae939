/* SPDX-License-Identifier: Apache-2.0 */
#include "train/shard_sums.h"

int shard_levels(int64_t shards)
{
    int levels = 0;
    for (; shards > 1; shards /= 2)
        levels++;
    return levels;
}

static void carve(struct shard_sums *sums, const struct parameters *parameters)
{
    for (int level = 0; level < sums->levels; level++)
        sums->gradients[level] =
            rotary_arena_push(&sums->arena, parameters->gradient_elements, sizeof *sums->gradients[level]);
}

rotary_status shard_sums_create(struct shard_sums *sums, const struct parameters *parameters, int levels,
                                rotary_error *error)
{
    *sums = (struct shard_sums){.levels = levels};
    carve(sums, parameters);
    rotary_status status =
        backend_arena_allocate(parameters->backend, &sums->arena, "the gradients of shards", error);
    if (status == ROTARY_OK)
        carve(sums, parameters);
    return status;
}

void shard_sums_free(struct shard_sums *sums, const struct backend *backend)
{
    backend_arena_free(backend, &sums->arena);
    *sums = (struct shard_sums){0};
}

struct loss_sums loss_sums_add(struct loss_sums a, struct loss_sums b)
{
    return (struct loss_sums){
        .total = a.total + b.total, .counted = a.counted + b.counted, .correct = a.correct + b.correct};
}

/* gradients of the table += those of the left subtree. */
static rotary_status add_left(const struct parameters *parameters, float *left, rotary_error *error)
{
    enum { COLUMNS = 1 << 10 };
    const int64_t rows = parameters->gradient_elements / COLUMNS,
                  rest = parameters->gradient_elements % COLUMNS;
    const struct backend *backend = parameters->backend;
    const struct backend_add all = {.to = parameters->gradients,
                                    .in = matrix_of(left, ROTARY_F32, rows, COLUMNS)},
                             last = {.to = parameters->gradients + rows * COLUMNS,
                                     .in = matrix_of(left + rows * COLUMNS, ROTARY_F32, 1, rest)};
    rotary_status status = backend->operations->add(backend, &all, error);
    return status == ROTARY_OK && rest > 0 ? backend->operations->add(backend, &last, error) : status;
}

rotary_status shard_sums_add(struct shard_sums *sums, struct parameters *parameters, struct loss_sums *losses,
                             rotary_error *error)
{
    const int leaf = sums->leaves++;
    int level = 0;
    for (; level < sums->levels && leaf >> level & 1; level++) {
        rotary_status status = add_left(parameters, sums->gradients[level], error);
        if (status != ROTARY_OK)
            return status;
        *losses = loss_sums_add(sums->losses[level], *losses);
    }
    if (level == sums->levels) {
        sums->leaves = 0;
        return ROTARY_OK;
    }
    sums->losses[level] = *losses;
    parameters_swap_gradients(parameters, &sums->gradients[level]);
    return parameters->backend->operations->clear(
        parameters->backend, parameters->gradients,
        (size_t)parameters->gradient_elements * sizeof *parameters->gradients, error);
}

void shard_sums_add_last(struct shard_sums *sums, struct loss_sums *losses)
{
    for (int level = 0; level < sums->levels; level++)
        *losses = loss_sums_add(sums->losses[level], *losses);
    sums->leaves = 0;
}

void shard_sums_add_left(const struct shard_sums *sums, float *gradients, int64_t first, int64_t count)
{
    for (int level = 0; level < sums->levels; level++)
        for (int64_t i = 0; i < count; i++)
            gradients[i] += sums->gradients[level][first + i];
}
