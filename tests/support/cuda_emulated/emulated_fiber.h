/* SPDX-License-Identifier: Apache-2.0
 *
 * Fibers: stacks of their own, and switches between them.
 */
#ifndef CUDA_EMULATED_FIBER_H
#define CUDA_EMULATED_FIBER_H

#include <stddef.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

struct fiber {
#if defined(__x86_64__)
    void *stack_pointer;
#else
    ucontext_t context;
#endif
    char *stack; /* NULL: that of the host's thread */
    size_t bytes;
};

/* A stack between guard pages; it is kept for ever. */
void fiber_allocate(struct fiber *fiber);
/* Calls `entry`, which never returns, when it is switched to. */
void fiber_prepare(struct fiber *fiber, void (*entry)(void));
void fiber_switch(struct fiber *from, struct fiber *to);
/* The first thing that an entry does. */
void fiber_begin(void);

#endif
