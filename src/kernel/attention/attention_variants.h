/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations of the kernels of src/kernel/attention, for each variant of the build.
 */
#ifndef ROTARY_KERNEL_ATTENTION_ATTENTION_VARIANTS_H
#define ROTARY_KERNEL_ATTENTION_ATTENTION_VARIANTS_H

#include "kernel/attention/attention_kernels.h"
#include "kernel/attention/attention_terms.h"
#include "kernel/variants.h"

#define ROTARY_ATTENTION_DECLARE(kernels, variant)                                                           \
    size_t kernels##_packed_keys_bytes_##variant(const rotary_attention_problem *);                          \
    void kernels##_pack_keys_##variant(const rotary_attention_problem *, const rotary_attention_work *,      \
                                       void *);                                                              \
    size_t kernels##_forward_bytes_##variant(const rotary_attention_problem *, int64_t);                     \
    void kernels##_forward_##variant(const rotary_attention_problem *, const rotary_attention_work *,        \
                                     const void *, struct rotary_arena *);                                   \
    size_t kernels##_backward_bytes_##variant(const rotary_attention_problem *, int64_t);                    \
    void kernels##_backward_##variant(const rotary_attention_problem *, const rotary_attention_work *,       \
                                      const rotary_attention_sums *, struct rotary_arena *);                 \
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
                                           const float *, float *, struct rotary_arena *);                   \
    void rotary_attention_decode_join_##variant(const rotary_attention_problem *,                            \
                                                const rotary_attention_work *, const float *, int64_t);      \
    double rotary_attention_sink_gradient_##variant(const rotary_attention_problem *, int64_t, int64_t);     \
    void rotary_attention_rotate_##variant(const rotary_attention_problem *,                                 \
                                           const struct rotary_attention_rotation *, int64_t, void *,        \
                                           const void *)

#define ROTARY_ATTENTION_DECLARE_TERM(name, variant)                                                         \
    extern const struct rotary_attention_score_term rotary_attention_##name##_term_##variant;
#define ROTARY_ATTENTION_DECLARE_TERMS(variant)                                                              \
    ROTARY_ATTENTION_SCORE_TERM_LIST(ROTARY_ATTENTION_DECLARE_TERM, variant)                                 \
    extern const struct rotary_attention_weight_term rotary_attention_dropout_term_##variant;                \
    extern const struct rotary_attention_value_term rotary_attention_distance_values_term_##variant;         \
    extern const struct rotary_attention_score_term *const rotary_attention_score_terms_##variant[]

#define ROTARY_ATTENTION_DECLARE_VARIANT(isa, variant)                                                       \
    ROTARY_ATTENTION_DECLARE_F32(variant);                                                                   \
    ROTARY_ATTENTION_DECLARE_TERMS(variant);
#define ROTARY_ATTENTION_DECLARE_BF16_VARIANT(isa, variant, f32_variant)                                     \
    ROTARY_ATTENTION_DECLARE(rotary_attention_bf16, variant);

ROTARY_VARIANTS(ROTARY_ATTENTION_DECLARE_VARIANT)
ROTARY_BF16_VARIANTS(ROTARY_ATTENTION_DECLARE_BF16_VARIANT)

#endif
