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
    ROTARY_BF16 = 2, /* bfloat16: the upper 16 bits of an f32, rounded to nearest even */
} rotary_dtype;

/* Bytes of one element: 4, 2, 2. */
ROTARY_API size_t rotary_dtype_size(rotary_dtype dtype);
/* "f32", "f16", "bf16". */
ROTARY_API const char *rotary_dtype_name(rotary_dtype dtype);

/* Instruction sets. Each includes those listed before it for the same architecture. (Values are part of the
 * ABI and not in this order.) */
typedef enum rotary_isa {
    ROTARY_ISA_AUTO = 0,       /* rotary_isa_best() */
    ROTARY_ISA_SCALAR = 1,     /* plain C, compiled for the architecture's baseline */
    ROTARY_ISA_NEON = 2,       /* 64-bit Arm */
    ROTARY_ISA_AVX2 = 3,       /* AVX2, FMA, F16C */
    ROTARY_ISA_AVX512 = 4,     /* AVX-512 F, BW, DQ, VL */
    ROTARY_ISA_AVX512BF16 = 6, /* AVX-512 as above and AVX512-BF16 */
    ROTARY_ISA_AMX = 5, /* AVX512-BF16 as above, AMX-TILE, AMX-BF16, and Linux's permission to use tiles */
} rotary_isa;

/* "scalar", "avx2", ...; "unknown" for any other value. */
ROTARY_API const char *rotary_isa_name(rotary_isa isa);
/* Sets *isa to the instruction set called `name`. ROTARY_INVALID_ARGUMENT, with a list of the names, if there
 * is none. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_isa_from_name(rotary_isa *isa, const char *name,
                                                             rotary_error *error);
/* Whether this machine (processor and operating system) can run `isa`. For ROTARY_ISA_AMX it requests
 * permission to use AMX tiles from Linux, for the whole process. Functions that are given ROTARY_ISA_AUTO do
 * the same, unless the environment variable ROTARY_ISA names another instruction set. */
ROTARY_API bool rotary_isa_available(rotary_isa isa);
/* The instruction set that ROTARY_ISA_AUTO selects: the one that the environment variable ROTARY_ISA names,
 * if it is available, else the best available. */
ROTARY_API rotary_isa rotary_isa_best(void);

#ifdef __cplusplus
}
#endif
#endif
