/* SPDX-License-Identifier: Apache-2.0
 *
 * The launches of attention, for its host side.
 */
#ifndef ROTARY_CUDA_ATTENTION_ATTENTION_LAUNCH_H
#define ROTARY_CUDA_ATTENTION_ATTENTION_LAUNCH_H

#include "backend/backend.h"
#include "cuda/attention/attention_problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes packed rows of queries, of keys and values and of the gradients of outputs, where the problem has
 * memory for them. */
rotary_status cuda_attention_pack(const struct backend *backend, const struct cuda_attention *problem,
                                  rotary_error *error);
/* Outputs and log-sum-exps from packed queries, and from packed keys and values or caches. */
rotary_status cuda_attention_forward_rows(const struct backend *backend, const struct cuda_attention *problem,
                                          rotary_error *error);
/* delta, and the gradient of the sinks. */
rotary_status cuda_attention_delta(const struct backend *backend, const struct cuda_attention *problem,
                                   rotary_error *error);
/* The gradients of score terms, and what is not rotated of those of queries and keys, from packed rows. */
rotary_status cuda_attention_backward_terms(const struct backend *backend,
                                            const struct cuda_attention *problem, rotary_error *error);
/* The gradients of keys and values, and those of queries, likewise. */
rotary_status cuda_attention_backward_keys(const struct backend *backend,
                                           const struct cuda_attention *problem, rotary_error *error);
rotary_status cuda_attention_backward_queries(const struct backend *backend,
                                              const struct cuda_attention *problem, rotary_error *error);

/* Of caches there are two, of keys and of values, or one, where keys are the values.
 *
 * New keys and values, of which token t of sequence b goes to row (lengths[b] + t) mod capacity, rotated. */
struct cache_append {
    int64_t batch, tokens, heads, head_dim, capacity;
    const int64_t *lengths;
    rotary_attention_const_view from[2]; /* keys, values */
    rotary_attention_view to[2];
    struct cuda_attention_rotation rotation[2];
    unsigned caches;
    bool bf16;
};
rotary_status cuda_append_rows(const struct backend *backend, const struct cache_append *append,
                               rotary_error *error);

/* Sequences, of which a thread block keeps a row in shared memory. */
enum { CUDA_ATTENTION_MAX_REORDER = 1024 };

/* Rows that move to other sequences. */
struct cache_reorder {
    int64_t batch, heads, head_dim, rows, capacity;
    const int64_t *lengths; /* NULL: all rows hold tokens */
    const int32_t *source;
    rotary_attention_view cache[2];
    unsigned caches;
    bool bf16;
};
rotary_status cuda_reorder_rows(const struct backend *backend, const struct cache_reorder *reorder,
                                rotary_error *error);

/* Rows that move down, and are rotated by the positions that they lose. */
struct cache_shift {
    int64_t batch, heads, head_dim;
    const int64_t *lengths, *keep, *discard;
    rotary_attention_view cache[2];
    struct cuda_attention_rotation rotation[2]; /* row b is that of sequence b */
    unsigned caches;
    bool bf16;
};
rotary_status cuda_shift_rows(const struct backend *backend, const struct cache_shift *shift,
                              rotary_error *error);

#ifdef __cplusplus
}
#endif

#endif
