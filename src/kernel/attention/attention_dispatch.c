/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/attention/attention_variants.h"

/* Turning is in f32 for all; decoding knows by itself where pairs of bf16 are multiplied. */
#define KERNELS(kernels, variant, rotator, block)                                                            \
    {                                                                                                        \
        .key_block = block, .packed_keys_bytes = kernels##_packed_keys_bytes_##variant,                      \
        .pack_keys = kernels##_pack_keys_##variant, .forward_bytes = kernels##_forward_bytes_##variant,      \
        .forward = kernels##_forward_##variant, .backward_bytes = kernels##_backward_bytes_##variant,        \
        .backward = kernels##_backward_##variant, .finish_queries = kernels##_finish_queries_##variant,      \
        .finish_keys = kernels##_finish_keys_##variant, .rotate = rotary_attention_rotate_##rotator,         \
        .decode_queries = rotary_attention_decode_queries_##rotator,                                         \
        .decode_bytes = rotary_attention_decode_bytes_##rotator,                                             \
        .decode = rotary_attention_decode_##rotator, .decode_join = rotary_attention_decode_join_##rotator,  \
    }
#define IN_F32(variant)  KERNELS(rotary_attention, variant, variant, ROTARY_ATTENTION_KEY_BLOCK)
#define IN_BF16(variant) KERNELS(rotary_attention_bf16, variant, avx512bf16, ROTARY_ATTENTION_BF16_KEY_BLOCK)

static const struct rotary_attention_kernels scalar = IN_F32(scalar);
#ifdef ROTARY_HAVE_NEON
static const struct rotary_attention_kernels neon = IN_F32(neon);
#endif
#ifdef ROTARY_HAVE_X86
static const struct rotary_attention_kernels avx2 = IN_F32(avx2);
static const struct rotary_attention_kernels avx512 = IN_F32(avx512);
static const struct rotary_attention_kernels avx512bf16 = IN_F32(avx512bf16);
static const struct rotary_attention_kernels bf16_avx512bf16 = IN_BF16(avx512bf16);
static const struct rotary_attention_kernels bf16_amx = IN_BF16(amx);
#endif

const struct rotary_attention_kernels *rotary_attention_kernels(rotary_isa isa, rotary_dtype dtype)
{
    (void)dtype; /* matters on x86 alone */
    switch (isa) {
#ifdef ROTARY_HAVE_NEON
    case ROTARY_ISA_NEON:
        return &neon;
#endif
#ifdef ROTARY_HAVE_X86
    case ROTARY_ISA_AVX2:
        return &avx2;
    case ROTARY_ISA_AVX512:
        return &avx512;
    case ROTARY_ISA_AVX512BF16:
        return dtype == ROTARY_BF16 ? &bf16_avx512bf16 : &avx512bf16;
    case ROTARY_ISA_AMX:
        return dtype == ROTARY_BF16 ? &bf16_amx : &avx512bf16;
#endif
    default:
        return &scalar;
    }
}
