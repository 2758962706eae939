/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena: one block of memory, sized first, then carved.
 *
 * The same carving code runs twice. Run first over an arena that was only zero-initialised, it measures:
 * every push returns NULL and `used` grows. arena_allocate then takes exactly that much, and the second run
 * hands out the pointers. Nothing is ever allocated while a step runs, and a step that would overrun its
 * arena is a failed push, not a write past the end.
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

/* The next `count` elements of `size` bytes, aligned to ROTARY_ALIGNMENT. NULL while measuring, and NULL when
 * the arena is full or count * size overflows (`used` is then SIZE_MAX, so that allocation fails too). */
void *rotary_arena_push(struct rotary_arena *arena, int64_t count, size_t size);

/* Memory of unknown size, which its owner was told how large to make. */
static inline struct rotary_arena rotary_arena_over(void *memory)
{
    return (struct rotary_arena){.memory = memory, .capacity = SIZE_MAX / 2};
}

/* Takes arena->used bytes, zeroed, from the system and starts carving again from the front.
 * ROTARY_OUT_OF_MEMORY, naming the number of bytes and `what` they are for, if they cannot be had. */
ROTARY_CHECKED rotary_status rotary_arena_allocate(struct rotary_arena *arena, const char *what,
                                                   rotary_error *error);

/* Gives the memory back and makes the arena empty and measuring again. */
void rotary_arena_free(struct rotary_arena *arena);

#endif
