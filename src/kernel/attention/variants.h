/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of src/kernel/attention, one set for each instruction set a build has.
 */
#ifndef ROTARY_KERNEL_ATTENTION_VARIANTS_H
#define ROTARY_KERNEL_ATTENTION_VARIANTS_H

#include "kernel/attention/kernels.h"

#define ROTARY_ATTENTION_DECLARE(variant)                                                                    \
    size_t rotary_attention_packed_bytes_##variant(const rotary_attention_problem *);                        \
    void rotary_attention_pack_##variant(const rotary_attention_problem *, const rotary_attention_piece *,   \
                                         void *);                                                            \
    size_t rotary_attention_forward_bytes_##variant(const rotary_attention_problem *, int64_t);              \
    void rotary_attention_forward_##variant(const rotary_attention_problem *,                                \
                                            const rotary_attention_piece *, const void *, void *);           \
    size_t rotary_attention_backward_bytes_##variant(const rotary_attention_problem *, int64_t, int64_t);    \
    void rotary_attention_backward_##variant(const rotary_attention_problem *,                               \
                                             const rotary_attention_piece *, const rotary_attention_sums *,  \
                                             void *);                                                        \
    void rotary_attention_finish_queries_##variant(                                                          \
        const rotary_attention_problem *, const rotary_attention_piece *, const rotary_attention_sums *);    \
    void rotary_attention_finish_keys_##variant(                                                             \
        const rotary_attention_problem *, const rotary_attention_piece *, const rotary_attention_sums *);    \
    void rotary_attention_turn_##variant(const rotary_attention_problem *,                                   \
                                         const struct rotary_attention_turn *, int64_t, void *,              \
                                         const void *)

ROTARY_ATTENTION_DECLARE(scalar);
#ifdef ROTARY_HAVE_NEON
ROTARY_ATTENTION_DECLARE(neon);
#endif
#ifdef ROTARY_HAVE_X86
ROTARY_ATTENTION_DECLARE(avx2);
ROTARY_ATTENTION_DECLARE(avx512);
ROTARY_ATTENTION_DECLARE(amx);

/* On tiles, bf16 alone. */
size_t rotary_attention_tile_forward_bytes(const rotary_attention_problem *, int64_t);
void rotary_attention_tile_forward(const rotary_attention_problem *, const rotary_attention_piece *,
                                   const void *, void *);
size_t rotary_attention_tile_packed_bytes(const rotary_attention_problem *);
void rotary_attention_tile_pack(const rotary_attention_problem *, const rotary_attention_piece *, void *);
size_t rotary_attention_tile_backward_bytes(const rotary_attention_problem *, int64_t, int64_t);
void rotary_attention_tile_backward(const rotary_attention_problem *, const rotary_attention_piece *,
                                    const rotary_attention_sums *, void *);
void rotary_attention_tile_finish_queries(const rotary_attention_problem *, const rotary_attention_piece *,
                                          const rotary_attention_sums *);
void rotary_attention_tile_finish_keys(const rotary_attention_problem *, const rotary_attention_piece *,
                                       const rotary_attention_sums *);
#endif

#endif
