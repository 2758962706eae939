/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared memory of the emulated device, and who accessed each word of it since which barrier.
 */
#ifndef CUDA_EMULATED_RACES_H
#define CUDA_EMULATED_RACES_H

#include <stddef.h>
#include <stdint.h>

/* Poisons the shared memory, and forgets who accessed it. */
void races_begin_block(size_t bytes, int warps);
/* What blocks before did not wait for is forgotten (emulated_ptx.cc). */
void emulated_copy_begin_block(void);
/* A barrier of the block was passed. */
void races_next_epoch(void);

/* emulated_block.cc has that of the running thread. */
uint32_t emulated_warp_epoch(void);

#endif
