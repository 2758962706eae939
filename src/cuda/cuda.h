/* SPDX-License-Identifier: Apache-2.0
 *
 * The cuda backend: what its files share. The table's operations are cuda_NAME; each file NAME.cu holds some
 * kernels and the operations that launch them.
 *
 * All work of a backend is in one stream, in the order of the calls. An operation returns when it is in the
 * stream; what fails on the device is the status of a later call.
 */
#ifndef ROTARY_CUDA_CUDA_H
#define ROTARY_CUDA_CUDA_H

#include <cuda_runtime_api.h>
#include <rotary/attention.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"
#include "base/fail.h"
#include "base/integer.h"

struct cuda_products; /* cuda/products.h */
struct cuda_steps;    /* cuda/steps.h */
struct cuda_staged;   /* cuda/staged.h */

/* What operations need while they run, one at a time each. */
enum cuda_scratch_use {
    CUDA_SCRATCH_INDEX,  /* the host's arrays of a call */
    CUDA_SCRATCH_INDEX2, /* another of the same call */
    CUDA_SCRATCH_SUMS,   /* partial sums */
    CUDA_SCRATCH_BIAS,   /* in the type of a product's output */
    CUDA_SCRATCH_LOGITS,
    CUDA_SCRATCH_CHOICES,
    CUDA_SCRATCH_STORED, /* rows of a weight as a file has them */
    CUDA_SCRATCH_WEIGHT, /* these in the storage type */
    CUDA_SCRATCH_USES
};

struct cuda_scratch {
    void *memory;
    size_t bytes;
};

/* struct backend.state. */
struct cuda {
    int device;
    cudaStream_t stream;
    struct cuda_products *products;
    struct cuda_steps *steps;
    struct cuda_staged *staged;
    struct cuda_scratch scratch[CUDA_SCRATCH_USES]; /* each grows to the largest need */
};

static inline struct cuda *cuda_of(const struct backend *backend)
{
    return (struct cuda *)backend->state;
}

/* ROTARY_OK of cudaSuccess; else a message with `what` was done. */
ROTARY_CHECKED rotary_status cuda_check(cudaError_t status, const char *what, rotary_error *error);

/* `bytes` bytes of device memory until the next request for this use; not zeroed. The first operation of a
 * size may allocate; later ones do not. */
ROTARY_CHECKED rotary_status cuda_scratch(const struct backend *backend, enum cuda_scratch_use use,
                                          size_t bytes, void **memory, rotary_error *error);
/* A copy of `bytes` bytes of the host there. */
ROTARY_CHECKED rotary_status cuda_upload(const struct backend *backend, enum cuda_scratch_use use,
                                         const void *host, size_t bytes, void **memory, rotary_error *error);

#define CUDA_DECLARE_OPERATION(name)                                                                         \
    rotary_status cuda_##name(const struct backend *backend, const struct backend_##name *call,              \
                              rotary_error *error);
BACKEND_OPERATIONS(CUDA_DECLARE_OPERATION)
#undef CUDA_DECLARE_OPERATION

int64_t cuda_weight_columns(const struct packed_weight *weight);
struct cuda_product; /* cuda/products.h */
/* By the library, or where that has no algorithm by a kernel of ours. The bias is f32, whatever the output is. */
ROTARY_CHECKED rotary_status cuda_multiply(const struct backend *backend, const struct cuda_product *product,
                                           const float *bias, rotary_error *error);

rotary_status cuda_packed_weight_create(const struct backend *backend, struct packed_weight **weight,
                                        const struct packed_weight_config *config, rotary_error *error);
void cuda_packed_weight_destroy(const struct backend *backend, struct packed_weight *weight);
size_t cuda_packed_weight_bytes(const struct backend *backend, const struct packed_weight *weight);

rotary_status cuda_attention_create(const struct backend *backend, struct attention_plan **plan,
                                    const rotary_attention_config *config, rotary_error *error);
void cuda_attention_destroy(const struct backend *backend, struct attention_plan *plan);
const rotary_attention_config *cuda_attention_config(const struct attention_plan *plan);
size_t cuda_attention_forward_bytes(const struct attention_plan *plan,
                                    const rotary_attention_forward_call *call);
size_t cuda_attention_backward_bytes(const struct attention_plan *plan,
                                     const rotary_attention_backward_call *call);
size_t cuda_attention_decode_bytes(const struct attention_plan *plan, int64_t batch, int64_t queries,
                                   int64_t capacity);
size_t cuda_attention_append_bytes(const struct attention_plan *plan, int64_t batch, int64_t tokens);
size_t cuda_attention_reorder_bytes(const struct attention_plan *plan, int64_t batch);

#ifdef __cplusplus
}
#endif

#endif
