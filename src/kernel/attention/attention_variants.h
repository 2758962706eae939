/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of src/kernel/attention, one set for each instruction set a build has.
 */
#ifndef ROTARY_KERNEL_ATTENTION_ATTENTION_VARIANTS_H
#define ROTARY_KERNEL_ATTENTION_ATTENTION_VARIANTS_H

#include "kernel/attention/attention_kernels.h"

#define ROTARY_ATTENTION_DECLARE(kernels, variant)                                                           \
    size_t kernels##_packed_keys_bytes_##variant(const rotary_attention_problem *);                          \
    void kernels##_pack_keys_##variant(const rotary_attention_problem *, const rotary_attention_work *,      \
                                       void *);                                                              \
    size_t kernels##_forward_bytes_##variant(const rotary_attention_problem *, int64_t);                     \
    void kernels##_forward_##variant(const rotary_attention_problem *, const rotary_attention_work *,        \
                                     const void *, void *);                                                  \
    size_t kernels##_backward_bytes_##variant(const rotary_attention_problem *, int64_t);                    \
    void kernels##_backward_##variant(const rotary_attention_problem *, const rotary_attention_work *,       \
                                      const rotary_attention_sums *, void *);                                \
    void kernels##_finish_queries_##variant(const rotary_attention_problem *, const rotary_attention_work *, \
                                            const rotary_attention_sums *);                                  \
    void kernels##_finish_keys_##variant(const rotary_attention_problem *, const rotary_attention_work *,    \
                                         const rotary_attention_sums *)
#define ROTARY_ATTENTION_DECLARE_F32(variant)                                                                \
    ROTARY_ATTENTION_DECLARE(rotary_attention, variant);                                                     \
    void rotary_attention_decode_queries_##variant(const rotary_attention_problem *,                         \
                                                   const rotary_attention_work *, float *);                  \
    size_t rotary_attention_decode_bytes_##variant(const rotary_attention_problem *);                        \
    void rotary_attention_decode_##variant(const rotary_attention_problem *, const rotary_attention_work *,  \
                                           const float *, float *, void *);                                  \
    void rotary_attention_decode_join_##variant(const rotary_attention_problem *,                            \
                                                const rotary_attention_work *, const float *, int64_t);      \
    void rotary_attention_rotate_##variant(const rotary_attention_problem *,                                 \
                                           const struct rotary_attention_rotation *, int64_t, void *,        \
                                           const void *)

/* In f32. */
ROTARY_ATTENTION_DECLARE_F32(scalar);
#ifdef ROTARY_HAVE_NEON
ROTARY_ATTENTION_DECLARE_F32(neon);
#endif
#ifdef ROTARY_HAVE_X86
ROTARY_ATTENTION_DECLARE_F32(avx2);
ROTARY_ATTENTION_DECLARE_F32(avx512);
ROTARY_ATTENTION_DECLARE_F32(avx512bf16);

/* With products of bf16, for bf16 alone. */
ROTARY_ATTENTION_DECLARE(rotary_attention_bf16, avx512bf16);
ROTARY_ATTENTION_DECLARE(rotary_attention_bf16, amx);
#endif

#endif
