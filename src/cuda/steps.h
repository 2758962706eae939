/* SPDX-License-Identifier: Apache-2.0
 *
 * A step of training as one CUDA graph.
 *
 * What operations put into the stream are items: a launch, a copy, a product, with its arguments. Of a step of a
 * shape that was seen before the items are kept while they run, and a graph is made of them. In later steps of
 * the shape an item is compared with the one that was kept: if its arguments are the same there is nothing to do,
 * if they are others (a learning rate, the counter of dropout) its node of the graph gets them, and at the end of
 * the step the graph is launched. Where a step is another one after all, what it has had so far runs from the
 * items, the rest as it comes. So results do not depend on whether there is a graph,
 * and whoever calls operations need not know of it.
 */
#ifndef ROTARY_CUDA_STEPS_H
#define ROTARY_CUDA_STEPS_H

#include "cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_item {
    const void *identity; /* what a node cannot change: the kernel */
    cudaError_t (*run)(const struct cuda *cuda, const void *arguments); /* into the stream */
    /* NULL: a node with other arguments would be another graph. */
    cudaError_t (*update)(cudaGraphExec_t graph, cudaGraphNode_t node, const void *arguments);
    const void *arguments; /* compared by their bytes; filled from zero */
    size_t bytes;
};

/* `what` is for messages. */
ROTARY_CHECKED rotary_status cuda_submit(const struct backend *backend, const struct cuda_item *item,
                                         const char *what, rotary_error *error);
/* A copy from the host, whose memory is free again when this returns. */
ROTARY_CHECKED rotary_status cuda_submit_upload(const struct backend *backend, void *to, const void *host,
                                                size_t bytes, rotary_error *error);
/* Before memory is freed that earlier items may use, and before the host waits: what was held back runs now, and
 * this step becomes no graph. */
ROTARY_CHECKED rotary_status cuda_steps_interrupt(const struct backend *backend, rotary_error *error);

struct cuda_steps;
ROTARY_CHECKED rotary_status cuda_steps_create(struct cuda_steps **steps, rotary_error *error);
void cuda_steps_destroy(struct cuda_steps *steps);

/* struct backend_operations has these. */
rotary_status cuda_step_begin(const struct backend *backend, uint64_t shape, rotary_error *error);
rotary_status cuda_step_end(const struct backend *backend, rotary_error *error);

#ifdef __cplusplus
}
#endif

#endif
