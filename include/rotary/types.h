/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types and instruction sets, shared by the public headers.
 */
#ifndef ROTARY_TYPES_H
#define ROTARY_TYPES_H

#include <rotary/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rotary_dtype {
    ROTARY_F32 = 0,
    ROTARY_F16 = 1,  /* IEEE binary16 */
    ROTARY_BF16 = 2, /* the upper half of an f32, rounded to nearest even */
} rotary_dtype;

/* Bytes of one element: 4, 2, 2. */
ROTARY_API size_t rotary_dtype_size(rotary_dtype dtype);
/* "f32", "f16", "bf16". */
ROTARY_API const char *rotary_dtype_name(rotary_dtype dtype);

/* Instruction sets, each containing the ones listed before it on its architecture. The order is not that of
 * the values. */
typedef enum rotary_isa {
    ROTARY_ISA_AUTO = 0,       /* the best this machine has, capped by the environment variable ROTARY_ISA */
    ROTARY_ISA_SCALAR = 1,     /* what the compiler makes of plain C for the baseline of the architecture */
    ROTARY_ISA_NEON = 2,       /* 64-bit Arm */
    ROTARY_ISA_AVX2 = 3,       /* AVX2, FMA, F16C */
    ROTARY_ISA_AVX512 = 4,     /* AVX-512 F, BW, DQ, VL */
    ROTARY_ISA_AVX512BF16 = 6, /* the same and AVX512-BF16 */
    ROTARY_ISA_AMX = 5, /* AVX-512, AVX512-BF16, AMX-TILE, AMX-BF16, and the kernel's permission for tiles */
} rotary_isa;

/* "scalar", "avx2", ...; "unknown" for a value that is none of the above. */
ROTARY_API const char *rotary_isa_name(rotary_isa isa);
/* The isa that `name` names; ROTARY_INVALID_ARGUMENT, with the known names in the error, if it names none. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_isa_from_name(rotary_isa *isa, const char *name,
                                                             rotary_error *error);
/* Whether this machine (processor and operating system) can run `isa`. For ROTARY_ISA_AMX this asks the
 * kernel for the permission, which the process then keeps; so does all that takes ROTARY_ISA_AUTO, unless
 * ROTARY_ISA names another. */
ROTARY_API bool rotary_isa_available(rotary_isa isa);
/* What ROTARY_ISA_AUTO means here: the best available, no better than ROTARY_ISA names if it is set. */
ROTARY_API rotary_isa rotary_isa_best(void);

#ifdef __cplusplus
}
#endif
#endif
