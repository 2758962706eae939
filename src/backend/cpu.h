/* SPDX-License-Identifier: Apache-2.0
 *
 * The cpu backend: what its files share. Operations split their work by the size of the problem, run one
 * kernel for each work item on the threads of base/threads.h, and add partial results in order.
 */
#ifndef ROTARY_BACKEND_CPU_H
#define ROTARY_BACKEND_CPU_H

#include "backend/backend.h"
#include "backend/matmul.h"
#include "kernel/layer/layer_kernels.h"

/* A packed weight for weights that are packed each time (backend/cpu_stored.c). */
enum { CPU_SHARED_WEIGHTS = 8 };
struct cpu_shared_weight {
    struct packed_weight *weight; /* NULL: none */
    int64_t inner, columns;
};

/* struct backend.state. */
struct cpu {
    const struct layer_kernels *kernels;
    struct matmul *matmul;
    struct rotary_arena scratch; /* of one operation at a time; grows to the largest */
    struct cpu_shared_weight shared[CPU_SHARED_WEIGHTS];
    int next_shared; /* the one that is replaced next */
};

static inline struct cpu *cpu_of(const struct backend *backend)
{
    return backend->state;
}

/* `count` elements of `size` bytes of scratch memory, until the next request. The first operation of a size
 * may allocate; later ones do not. */
ROTARY_CHECKED rotary_status cpu_scratch(const struct backend *backend, void **memory, int64_t count,
                                         size_t size, rotary_error *error);

/* The mask for the kernels. A probability outside (0, 1) drops nothing. */
struct layer_mask dropout_mask(struct dropout dropout);

/* d_gain += and d_bias += the sums of the blocks' partial gradients, in the order of the blocks. */
struct cpu_norm_gradients {
    float *d_gain, *d_bias; /* [width]; NULL: not wanted */
    const float *partial;   /* [blocks][2][width] */
    int64_t blocks, width;
};
void cpu_add_norm_gradients(const struct backend *backend, const struct cpu_norm_gradients *sums);

/* Sum of squares of all gradients, in double, in an order that does not depend on the number of threads. */
ROTARY_CHECKED rotary_status cpu_gradient_square(const struct backend *backend,
                                                 const struct parameters *parameters, double *square,
                                                 rotary_error *error);

#define CPU_DECLARE_OPERATION(name)                                                                          \
    rotary_status cpu_##name(const struct backend *backend, const struct backend_##name *call,               \
                             rotary_error *error);
BACKEND_OPERATIONS(CPU_DECLARE_OPERATION)
#undef CPU_DECLARE_OPERATION

/* The members of the table that are not in the list: attention plans. */
rotary_status cpu_attention_create(const struct backend *backend, struct attention_plan **plan,
                                   const rotary_attention_config *config, rotary_error *error);
void cpu_attention_destroy(const struct backend *backend, struct attention_plan *plan);
const rotary_attention_config *cpu_attention_config(const struct attention_plan *plan);
size_t cpu_attention_forward_bytes(const struct attention_plan *plan,
                                   const rotary_attention_forward_call *call);
size_t cpu_attention_backward_bytes(const struct attention_plan *plan,
                                    const rotary_attention_backward_call *call);
size_t cpu_attention_decode_bytes(const struct attention_plan *plan, int64_t batch, int64_t queries,
                                  int64_t capacity);
size_t cpu_attention_append_bytes(const struct attention_plan *plan, int64_t batch, int64_t tokens);
size_t cpu_attention_reorder_bytes(const struct attention_plan *plan, int64_t batch);

#endif
