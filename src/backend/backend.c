/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

void backend_destroy(struct backend *backend)
{
    if (backend->operations)
        backend->operations->destroy(backend);
    *backend = (struct backend){0};
}

rotary_attention_config backend_attention_config(const struct backend *backend,
                                                 const rotary_attention_config *config)
{
    rotary_attention_config own = *config;
    own.dtype = backend->storage;
    own.threads = backend->threads;
    own.isa = backend->isa;
    return own;
}

rotary_status backend_arena_allocate(const struct backend *backend, struct rotary_arena *arena,
                                     const char *what, rotary_error *error)
{
    void *memory;
    size_t bytes = arena->used;
    rotary_status status = backend->operations->allocate(backend, &memory, bytes, what, error);
    if (status == ROTARY_OK)
        *arena = rotary_arena_over(memory, bytes);
    return status;
}

void backend_arena_free(const struct backend *backend, struct rotary_arena *arena)
{
    if (arena->memory)
        backend->operations->release(backend, arena->memory);
    *arena = (struct rotary_arena){0};
}
