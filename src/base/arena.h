/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena: one block of memory, measured first, then carved.
 *
 * The same carving code runs twice. Over an arena that was only zero-initialised it measures: every push
 * returns NULL and `used` grows. Over memory of that size, from rotary_arena_allocate or from a caller, it
 * hands out the pointers. Nothing is allocated while a step runs.
 *
 * A push that does not fit fails: it and all later ones return NULL and `used` is SIZE_MAX. An arena never
 * gives out memory past its end. Kernels, which cannot return an error, do not check: their size comes from
 * the same carving, so a failed push is a bug there, and the first use of its block is an access to NULL
 * rather than to memory of others.
 */
#ifndef ROTARY_BASE_ARENA_H
#define ROTARY_BASE_ARENA_H

#include <rotary/status.h>

#define ROTARY_ALIGNMENT ((size_t)64) /* one cache line, one AVX-512 register */

struct rotary_arena {
    unsigned char *memory; /* NULL while measuring */
    size_t capacity;
    size_t used;
    void *block; /* what was taken from the system: `memory` and less than ROTARY_ALIGNMENT in front */
};

/* `bytes` rounded up to ROTARY_ALIGNMENT; SIZE_MAX if that overflows. */
size_t rotary_align(size_t bytes);

/* The next `count` elements of `size` bytes, aligned to ROTARY_ALIGNMENT. NULL while measuring. Fails when
 * the arena is full or count * size overflows; a measured size of SIZE_MAX cannot be allocated either. */
void *rotary_arena_push(struct rotary_arena *arena, int64_t count, size_t size);

/* An arena over `bytes` bytes at `memory`, aligned to ROTARY_ALIGNMENT, which stay their owner's. */
static inline struct rotary_arena rotary_arena_over(void *memory, size_t bytes)
{
    return (struct rotary_arena){.memory = memory, .capacity = bytes};
}

/* Takes arena->used bytes, zeroed, from the system and starts carving again from the front.
 * ROTARY_OUT_OF_MEMORY, naming the number of bytes and `what` they are for, if they cannot be had. */
ROTARY_CHECKED rotary_status rotary_arena_allocate(struct rotary_arena *arena, const char *what,
                                                   rotary_error *error);

/* Gives the memory back and makes the arena empty and measuring again. */
void rotary_arena_free(struct rotary_arena *arena);

#endif
