/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/attention/attention_variants.h"

#include "base/isa.h"

/* Rotation, decoding and the gradient of sinks have one variant for all element types, f32_variant. */
#define KERNELS(isa, kernels, variant, f32_variant, of_bf16)                                                 \
    [ROTARY_ISA_##isa] = {                                                                                   \
        .key_block = of_bf16 ? ROTARY_ATTENTION_BF16_KEY_BLOCK : ROTARY_ATTENTION_KEY_BLOCK,                 \
        .sum_rows = of_bf16 ? ROTARY_ATTENTION_BF16_SUM_ROWS : ROTARY_ATTENTION_SUM_ROWS,                    \
        .transposed_backward = of_bf16,                                                                      \
        .vector_pairs = of_bf16,                                                                             \
        .weight_term = &rotary_attention_dropout_term_##f32_variant,                                         \
        .value_term = &rotary_attention_distance_values_term_##f32_variant,                                  \
        .score_terms = rotary_attention_score_terms_##f32_variant,                                           \
        .packed_keys_bytes = kernels##_packed_keys_bytes_##variant,                                          \
        .pack_keys = kernels##_pack_keys_##variant,                                                          \
        .forward_bytes = kernels##_forward_bytes_##variant,                                                  \
        .forward = kernels##_forward_##variant,                                                              \
        .backward_bytes = kernels##_backward_bytes_##variant,                                                \
        .backward = kernels##_backward_##variant,                                                            \
        .finish_queries = kernels##_finish_queries_##variant,                                                \
        .finish_keys = kernels##_finish_keys_##variant,                                                      \
        .rotate = rotary_attention_rotate_##f32_variant,                                                     \
        .sink_gradient = rotary_attention_sink_gradient_##f32_variant,                                       \
        .decode_queries = rotary_attention_decode_queries_##f32_variant,                                     \
        .decode_bytes = rotary_attention_decode_bytes_##f32_variant,                                         \
        .decode = rotary_attention_decode_##f32_variant,                                                     \
        .decode_join = rotary_attention_decode_join_##f32_variant,                                           \
    },
#define F32_ENTRY(isa, variant)               KERNELS(isa, rotary_attention, variant, variant, false)
#define BF16_ENTRY(isa, variant, f32_variant) KERNELS(isa, rotary_attention_bf16, variant, f32_variant, true)

static const struct rotary_attention_kernels f32[ROTARY_ISAS] = {ROTARY_VARIANTS(F32_ENTRY)};
/* With bf16 matmuls. The entry of an instruction set without them is zero. */
static const struct rotary_attention_kernels bf16[ROTARY_ISAS] = {{0}, ROTARY_BF16_VARIANTS(BF16_ENTRY)};

const struct rotary_attention_kernels *rotary_attention_kernels(rotary_isa isa, rotary_dtype dtype)
{
    if (dtype == ROTARY_BF16 && bf16[isa].forward)
        return &bf16[isa];
    return f32[isa].forward ? &f32[isa] : &f32[ROTARY_ISA_SCALAR];
}
