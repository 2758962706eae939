/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/fail.h"

#include <stdlib.h>

size_t rotary_align(size_t bytes)
{
    if (bytes > SIZE_MAX - (ROTARY_ALIGNMENT - 1))
        return SIZE_MAX;
    return (bytes + ROTARY_ALIGNMENT - 1) & ~(ROTARY_ALIGNMENT - 1);
}

void *rotary_arena_push(struct rotary_arena *arena, int64_t count, size_t size)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes))
        bytes = SIZE_MAX;
    bytes = rotary_align(bytes);
    size_t limit = arena->memory ? arena->capacity : SIZE_MAX;
    if (arena->used == SIZE_MAX || bytes > limit - arena->used) {
        arena->used = SIZE_MAX;
        return NULL;
    }
    if (!arena->memory) {
        arena->used += bytes;
        return NULL;
    }
    void *block = arena->memory + arena->used;
    arena->used += bytes;
    return block;
}

rotary_status rotary_arena_allocate(struct rotary_arena *arena, const char *what, rotary_error *error)
{
    size_t bytes = arena->used > ROTARY_ALIGNMENT ? arena->used : ROTARY_ALIGNMENT;
    /* calloc does not write zeros to pages that are fresh from the system: the system places each page near
     * the thread that uses it first. */
    void *block = bytes > SIZE_MAX - ROTARY_ALIGNMENT ? NULL : calloc(1, bytes + ROTARY_ALIGNMENT);
    if (!block)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%.1f MiB of memory for %s cannot be had",
                           (double)bytes / 1048576.0, what);
    arena->block = block;
    arena->memory =
        (unsigned char *)block + (ROTARY_ALIGNMENT - (uintptr_t)block % ROTARY_ALIGNMENT) % ROTARY_ALIGNMENT;
    arena->capacity = bytes;
    arena->used = 0;
    return ROTARY_OK;
}

void rotary_arena_free(struct rotary_arena *arena)
{
    free(arena->block);
    *arena = (struct rotary_arena){0};
}
