/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/layer/layer_kernels.h"

extern const struct layer_kernels layer_kernels_scalar;
#if defined(ROTARY_HAVE_X86)
extern const struct layer_kernels layer_kernels_avx2, layer_kernels_avx512, layer_kernels_avx512bf16;
#elif defined(ROTARY_HAVE_NEON)
extern const struct layer_kernels layer_kernels_neon;
#endif

const struct layer_kernels *layer_kernels_for(rotary_isa isa)
{
    switch (isa) {
#if defined(ROTARY_HAVE_X86)
    case ROTARY_ISA_AVX2:
        return &layer_kernels_avx2;
    case ROTARY_ISA_AVX512:
        return &layer_kernels_avx512;
    case ROTARY_ISA_AVX512BF16:
    case ROTARY_ISA_AMX:
        return &layer_kernels_avx512bf16;
#elif defined(ROTARY_HAVE_NEON)
    case ROTARY_ISA_NEON:
        return &layer_kernels_neon;
#endif
    default:
        return &layer_kernels_scalar;
    }
}
