/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/memory/memory.h"

extern const struct memory_kernels memory_kernels_scalar;
#if defined(ROTARY_HAVE_X86)
extern const struct memory_kernels memory_kernels_avx2, memory_kernels_avx512, memory_kernels_avx512bf16;
#elif defined(ROTARY_HAVE_NEON)
extern const struct memory_kernels memory_kernels_neon;
#endif

/* By rotary_isa; NULL: not of this architecture. */
static const struct memory_kernels *const tables[] = {
    [ROTARY_ISA_SCALAR] = &memory_kernels_scalar,
#if defined(ROTARY_HAVE_X86)
    [ROTARY_ISA_AVX2] = &memory_kernels_avx2,
    [ROTARY_ISA_AVX512] = &memory_kernels_avx512,
    [ROTARY_ISA_AVX512BF16] = &memory_kernels_avx512bf16,
    [ROTARY_ISA_AMX] = &memory_kernels_avx512bf16,
#elif defined(ROTARY_HAVE_NEON)
    [ROTARY_ISA_NEON] = &memory_kernels_neon,
#endif
};

const struct memory_kernels *memory_kernels_for(rotary_isa isa)
{
    const struct memory_kernels *kernels =
        (size_t)isa < sizeof tables / sizeof tables[0] ? tables[isa] : NULL;
    return kernels ? kernels : &memory_kernels_scalar;
}
