/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/attention/variants.h"

#define KERNELS(variant)                                                                                     \
    {                                                                                                        \
        .key_block = ROTARY_ATTENTION_KEY_BLOCK, .packed_bytes = rotary_attention_packed_bytes_##variant,    \
        .pack = rotary_attention_pack_##variant, .forward_bytes = rotary_attention_forward_bytes_##variant,  \
        .forward = rotary_attention_forward_##variant,                                                       \
        .backward_bytes = rotary_attention_backward_bytes_##variant,                                         \
        .backward = rotary_attention_backward_##variant,                                                     \
        .finish_queries = rotary_attention_finish_queries_##variant,                                         \
        .finish_keys = rotary_attention_finish_keys_##variant, .turn = rotary_attention_turn_##variant,      \
    }

static const struct rotary_attention_kernels scalar = KERNELS(scalar);
#ifdef ROTARY_HAVE_NEON
static const struct rotary_attention_kernels neon = KERNELS(neon);
#endif
#ifdef ROTARY_HAVE_X86
static const struct rotary_attention_kernels avx2 = KERNELS(avx2);
static const struct rotary_attention_kernels avx512 = KERNELS(avx512);
static const struct rotary_attention_kernels amx = KERNELS(amx);
static const struct rotary_attention_kernels tiles = {
    .key_block = ROTARY_ATTENTION_TILE_KEY_BLOCK,
    .packed_bytes = rotary_attention_tile_packed_bytes,
    .pack = rotary_attention_tile_pack,
    .forward_bytes = rotary_attention_tile_forward_bytes,
    .forward = rotary_attention_tile_forward,
    .backward_bytes = rotary_attention_tile_backward_bytes,
    .backward = rotary_attention_tile_backward,
    .finish_queries = rotary_attention_tile_finish_queries,
    .finish_keys = rotary_attention_tile_finish_keys,
    .turn = rotary_attention_turn_amx,
};
#endif

const struct rotary_attention_kernels *rotary_attention_kernels(rotary_isa isa, rotary_dtype dtype)
{
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
    case ROTARY_ISA_AMX:
        return dtype == ROTARY_BF16 ? &tiles : &amx;
#endif
    default:
        return &scalar;
    }
}
