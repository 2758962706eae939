/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches that are copied to the device ahead of their step, from page-locked memory and in a stream of their own.
 */
#ifndef ROTARY_CUDA_STAGED_H
#define ROTARY_CUDA_STAGED_H

#include "cuda/cuda.h"

struct cuda_staged;
ROTARY_CHECKED rotary_status cuda_staged_create(struct cuda_staged **staged, rotary_error *error);
void cuda_staged_destroy(struct cuda_staged *staged);

/* struct backend_operations has this. */
rotary_status cuda_stage(const struct backend *backend, int slot, const void *host, size_t bytes,
                         rotary_error *error);

/* Where the device has what is staged of `host`; NULL: it is not. */
const void *cuda_staged_find(const struct cuda *cuda, const void *host, size_t bytes);
/* Lets the stream wait for what was staged. */
cudaError_t cuda_staged_wait(const struct cuda *cuda);
/* What was put into the stream until now reads it, and is waited for before the slot is staged again. */
cudaError_t cuda_staged_read(const struct cuda *cuda);

#endif
