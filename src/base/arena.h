/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena: one block of memory, measured first, then carved into arrays.
 *
 * The same carving code runs twice. Over a zero-initialised arena it measures: every push returns NULL and
 * `used` grows. Over memory of that size, from rotary_arena_allocate or from a caller, every push returns its
 * array. Nothing is allocated while a step runs.
 *
 * A push that does not fit fails: it and all later ones return NULL and `used` is SIZE_MAX. An arena never
 * returns memory past its end. Kernels cannot return an error and do not check: their size comes from the
 * same carving, so a failed push is a bug, and it shows as an access to NULL.
 */
#ifndef ROTARY_BASE_ARENA_H
#define ROTARY_BASE_ARENA_H

#include <rotary/status.h>

#define ROTARY_ALIGNMENT ((size_t)64) /* one cache line, one AVX-512 register */

struct rotary_arena {
    unsigned char *memory; /* NULL while measuring */
    size_t capacity;
    size_t used;
    void *block; /* the allocation that `memory` is in; NULL: the caller owns `memory` */
};

/* `bytes` rounded up to ROTARY_ALIGNMENT; SIZE_MAX if that overflows. */
size_t rotary_align(size_t bytes);

/* The next `count` elements of `size` bytes, aligned to ROTARY_ALIGNMENT. NULL while measuring. Fails when
 * the arena is full or count * size overflows; a measured size of SIZE_MAX cannot be allocated either. */
void *rotary_arena_push(struct rotary_arena *arena, int64_t count, size_t size);

/* An arena over `bytes` bytes at `memory`, aligned to ROTARY_ALIGNMENT. The caller still owns them.
 * Without memory (NULL) the arena measures. */
static inline struct rotary_arena rotary_arena_over(void *memory, size_t bytes)
{
    const struct rotary_arena arena = {(unsigned char *)memory, bytes, 0, NULL}; /* C and C++ read it */
    return arena;
}

/* Allocates arena->used bytes, zeroed, and starts carving again from the front. On failure,
 * ROTARY_OUT_OF_MEMORY and a message with the number of bytes and `what` they are for. */
ROTARY_CHECKED rotary_status rotary_arena_allocate(struct rotary_arena *arena, const char *what,
                                                   rotary_error *error);

/* Frees the memory and makes the arena empty and measuring again. */
void rotary_arena_free(struct rotary_arena *arena);

#endif
