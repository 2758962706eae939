/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs of benchmarks where the backend computes: they are filled on the host, and copied to a device.
 */
#ifndef ROTARY_BENCHMARK_PLACED_H
#define ROTARY_BENCHMARK_PLACED_H

#include "backend/backend.h"

/* Arrays in one arena. carve takes them from it, fill fills them in the host's memory. */
struct placed_arrays {
    void (*carve)(void *context, struct rotary_arena *arena);
    void (*fill)(void *context);
    void *context;
    const char *what; /* for the message of ROTARY_OUT_OF_MEMORY */
};

struct placed_arena {
    const struct backend *backend; /* borrowed */
    struct rotary_arena arena;
};

ROTARY_CHECKED rotary_status placed_arena_create(struct placed_arena *placed, const struct backend *backend,
                                                 const struct placed_arrays *arrays, rotary_error *error);
/* One that is all zero is allowed. */
void placed_arena_free(struct placed_arena *placed);

/* Returns when a device has done what it was told before; `memory` is some of its own, of 4 bytes at least. */
ROTARY_CHECKED rotary_status benchmark_wait(const struct backend *backend, const void *memory,
                                            rotary_error *error);

#endif
