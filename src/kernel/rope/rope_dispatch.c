/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kernels an instruction set means. Each table is made by compiling rope_kernels.c for that instruction
 * set.
 */
#include "kernel/rope/rope_kernels.h"

extern const struct rotary_rope_kernels rotary_rope_kernels_scalar;
#if defined(ROTARY_HAVE_X86)
extern const struct rotary_rope_kernels rotary_rope_kernels_avx2;
extern const struct rotary_rope_kernels rotary_rope_kernels_avx512;
extern const struct rotary_rope_kernels rotary_rope_kernels_avx512bf16;
#elif defined(ROTARY_HAVE_NEON)
extern const struct rotary_rope_kernels rotary_rope_kernels_neon;
#endif

const struct rotary_rope_kernels *rotary_rope_kernels(rotary_isa isa)
{
    switch (isa) {
#if defined(ROTARY_HAVE_X86)
    case ROTARY_ISA_AVX2:
        return &rotary_rope_kernels_avx2;
    case ROTARY_ISA_AVX512:
        return &rotary_rope_kernels_avx512;
    case ROTARY_ISA_AVX512BF16:
    case ROTARY_ISA_AMX:
        return &rotary_rope_kernels_avx512bf16;
#elif defined(ROTARY_HAVE_NEON)
    case ROTARY_ISA_NEON:
        return &rotary_rope_kernels_neon;
#endif
    default:
        return &rotary_rope_kernels_scalar;
    }
}
