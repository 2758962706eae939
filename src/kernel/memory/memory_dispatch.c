/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/memory/memory_kernels.h"

extern const struct memory_kernels memory_kernels_scalar;
#if defined(ROTARY_HAVE_X86)
extern const struct memory_kernels memory_kernels_avx2, memory_kernels_avx512, memory_kernels_avx512bf16;
#elif defined(ROTARY_HAVE_NEON)
extern const struct memory_kernels memory_kernels_neon;
#endif

const struct memory_kernels *memory_kernels_for(rotary_isa isa)
{
    switch (isa) {
#if defined(ROTARY_HAVE_X86)
    case ROTARY_ISA_AVX2:
        return &memory_kernels_avx2;
    case ROTARY_ISA_AVX512:
        return &memory_kernels_avx512;
    case ROTARY_ISA_AVX512BF16:
    case ROTARY_ISA_AMX:
        return &memory_kernels_avx512bf16;
#elif defined(ROTARY_HAVE_NEON)
    case ROTARY_ISA_NEON:
        return &memory_kernels_neon;
#endif
    default:
        return &memory_kernels_scalar;
    }
}
