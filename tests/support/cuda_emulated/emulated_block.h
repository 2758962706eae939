/* SPDX-License-Identifier: Apache-2.0
 *
 * The emulated device: how threads of a block wait for each other, and the shared memory they have.
 *
 * A thread is a fiber. It runs until it waits or ends; then the next one runs, in ascending or in descending
 * order. A barrier that some threads of a block reach and others do not is a fault, and so is any that
 * differs between threads. A fault ends the program and says which kernel, block, thread and line it was.
 */
#ifndef CUDA_EMULATED_BLOCK_H
#define CUDA_EMULATED_BLOCK_H

#include <stddef.h>
#include <stdint.h>

enum { EMULATED_WARP = 32, EMULATED_THREADS = 1024, EMULATED_SHARED = 227 << 10 };

void emulated_block_barrier(int line);
int emulated_block_or(int predicate, int line);
/* Orders accesses to shared memory by the lanes of `mask`. */
void emulated_warp_barrier(unsigned mask, int line);
/* Waits until every lane of `mask` is here. Then `combine` is called once: argument i is that of lane i, NULL
 * of others; it writes the results there. So is anything made that a warp does together. It orders no memory.
 */
void emulated_warp_operation(void (*combine)(void *arguments[EMULATED_WARP], unsigned mask), void *argument,
                             unsigned mask, int line);
unsigned emulated_ballot(unsigned mask, int predicate, int line);
int emulated_lane(void);
int emulated_thread(void); /* in its block */

/* The shared memory of the running block: `bytes` at `offset` must be in it. It is poisoned (all bits are
 * set) when a block begins. */
unsigned char *emulated_shared(size_t offset, size_t bytes);
size_t emulated_shared_bytes(void);

/* A thread's access to shared memory, as device code must say it (cuda/device.h does). Two threads that
 * access a word between two barriers that both pass, one of them writing, are a fault, whatever the order
 * they ran in. */
void emulated_shared_read(const void *address, size_t bytes, int line);
void emulated_shared_write(void *address, size_t bytes, int line);

/* Ends the program. */
[[noreturn, gnu::format(printf, 1, 2)]] void emulated_fault(const char *format, ...);

/* The launches that follow have this kernel's name in messages. */
void emulated_kernel_name(const char *name);
const char *emulated_kernel_named(void);

#endif
