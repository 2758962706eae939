/* SPDX-License-Identifier: Apache-2.0
 *
 * The backend: threads, instruction set, precision.
 */
#ifndef ROTARY_BACKEND_BACKEND_H
#define ROTARY_BACKEND_BACKEND_H

#include <rotary/types.h>

struct layer_kernels; /* kernel/layer/layer_kernels.h */
struct matmul;        /* backend/matmul.h */
struct profile;       /* backend/profile.h */

/* Created once, passed down by pointer, never changed. Models may share one, but not run at the same time:
 * they would share the scratch memory of the matmuls. */
struct backend {
    int threads;          /* at least 1 */
    rotary_isa isa;       /* never ROTARY_ISA_AUTO */
    rotary_dtype storage; /* type of matmul operands and of stored activations: f32 or bf16 */
    const struct layer_kernels *kernels;
    struct matmul *matmul;   /* owned */
    struct profile *profile; /* borrowed; where times are recorded. NULL: no profiling */
};

enum precision { PRECISION_AUTO, PRECISION_F32, PRECISION_BF16 };

/* threads 0: all processors; isa ROTARY_ISA_AUTO: the best available. PRECISION_AUTO selects bf16 where `isa`
 * has bf16 instructions, else f32. ROTARY_UNSUPPORTED if `isa` cannot run here. Also caps the instruction set
 * of oneDNN; the first call in a process decides (backend/matmul.h). */
ROTARY_CHECKED rotary_status backend_create(struct backend *backend, int threads, rotary_isa isa,
                                            enum precision precision, rotary_error *error);

void backend_destroy(struct backend *backend);

#endif
