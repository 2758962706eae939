/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/placed.h"

/* Carves again in memory of the device, and copies all of the host's there. */
static rotary_status copy_to_device(struct placed_arena *placed, const struct placed_arrays *arrays,
                                    struct rotary_arena *host, rotary_error *error)
{
    const struct backend *backend = placed->backend;
    arrays->carve(arrays->context, &placed->arena);
    rotary_status status = backend_arena_allocate(backend, &placed->arena, arrays->what, error);
    if (status != ROTARY_OK)
        return status;
    arrays->carve(arrays->context, &placed->arena);
    return backend->operations->write(backend, placed->arena.memory, host->memory, host->used, error);
}

rotary_status placed_arena_create(struct placed_arena *placed, const struct backend *backend,
                                  const struct placed_arrays *arrays, rotary_error *error)
{
    struct rotary_arena host = {0};
    *placed = (struct placed_arena){.backend = backend};
    arrays->carve(arrays->context, &host);
    rotary_status status = rotary_arena_allocate(&host, arrays->what, error);
    if (status != ROTARY_OK)
        return status;
    arrays->carve(arrays->context, &host);
    arrays->fill(arrays->context);
    if (backend->operations->on_host) {
        placed->arena = host;
        return ROTARY_OK;
    }
    status = copy_to_device(placed, arrays, &host, error);
    rotary_arena_free(&host);
    return status;
}

void placed_arena_free(struct placed_arena *placed)
{
    if (!placed->backend)
        return;
    if (placed->backend->operations->on_host)
        rotary_arena_free(&placed->arena);
    else
        backend_arena_free(placed->backend, &placed->arena);
}

rotary_status benchmark_wait(const struct backend *backend, const void *memory, rotary_error *error)
{
    uint32_t word;
    if (backend->operations->on_host)
        return ROTARY_OK;
    return backend->operations->read(backend, &word, memory, sizeof word, error);
}
