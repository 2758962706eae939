/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kernels an instruction set means. Each table is made by compiling rope.c for that instruction set.
 */
#include "kernel/rope/rope.h"

extern const struct rotary_rope_kernels rotary_rope_kernels_scalar;
#if defined(ROTARY_HAVE_X86)
extern const struct rotary_rope_kernels rotary_rope_kernels_avx2;
extern const struct rotary_rope_kernels rotary_rope_kernels_avx512;
extern const struct rotary_rope_kernels rotary_rope_kernels_amx;
#elif defined(ROTARY_HAVE_NEON)
extern const struct rotary_rope_kernels rotary_rope_kernels_neon;
#endif

const struct rotary_rope_kernels *rotary_rope_kernels(rotary_isa isa)
{
    const struct rotary_rope_kernels *kernels = &rotary_rope_kernels_scalar;
#if defined(ROTARY_HAVE_X86)
    if (isa >= ROTARY_ISA_AVX2)
        kernels = &rotary_rope_kernels_avx2;
    if (isa >= ROTARY_ISA_AVX512)
        kernels = &rotary_rope_kernels_avx512;
    if (isa >= ROTARY_ISA_AMX)
        kernels = &rotary_rope_kernels_amx;
#elif defined(ROTARY_HAVE_NEON)
    if (isa == ROTARY_ISA_NEON)
        kernels = &rotary_rope_kernels_neon;
#endif
    return kernels;
}
