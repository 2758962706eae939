/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

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
    if (bytes > SIZE_MAX - arena->used) {
        arena->used = SIZE_MAX;
        return NULL;
    }
    if (!arena->memory) {
        arena->used += bytes;
        return NULL;
    }
    if (bytes > arena->capacity - arena->used)
        return NULL;
    void *block = arena->memory + arena->used;
    arena->used += bytes;
    return block;
}

rotary_status rotary_arena_allocate(struct rotary_arena *arena, const char *what, rotary_error *error)
{
    size_t bytes = arena->used > ROTARY_ALIGNMENT ? arena->used : ROTARY_ALIGNMENT;
    /* aligned_alloc wants a multiple of the alignment; SIZE_MAX, the mark of an overflow, is not one. */
    void *memory = bytes == SIZE_MAX ? NULL : aligned_alloc(ROTARY_ALIGNMENT, bytes);
    if (!memory)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s needs %.1f MiB of memory, which cannot be had",
                           what, (double)bytes / 1048576.0);
    memset(memory, 0, bytes);
    arena->memory = memory;
    arena->capacity = bytes;
    arena->used = 0;
    return ROTARY_OK;
}

void rotary_arena_free(struct rotary_arena *arena)
{
    free(arena->memory);
    *arena = (struct rotary_arena){0};
}
