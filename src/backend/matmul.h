/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products on all threads, by oneDNN (which onednn.c alone includes).
 *
 * A matmul is cut into GEMMs: blocks that run on one thread each. The cut depends on the shapes alone, so
 * results have the same bits for any number of threads. The GEMM of a shape is planned (a oneDNN primitive is
 * created) at its first use and kept; after that a matmul allocates nothing.
 */
#ifndef ROTARY_BACKEND_MATMUL_H
#define ROTARY_BACKEND_MATMUL_H

#include "backend/matrix.h"

struct layer_kernels; /* kernel/layer/layer_kernels.h */

/* Planned GEMMs, and scratch memory for each thread. Runs one matmul at a time. */
struct matmul;

/* Caps oneDNN at `isa`. oneDNN accepts a cap only before its first use in the process: later calls keep the
 * first one. kernels is borrowed. */
ROTARY_CHECKED rotary_status matmul_create(struct matmul **matmul, int threads, rotary_isa isa,
                                           const struct layer_kernels *kernels, rotary_error *error);
void matmul_destroy(struct matmul *matmul);

/* Whether bf16 matmuls use instructions made for bf16. */
bool matmul_bf16_is_fast(void);
/* Selects the layout of bf16 operands; to be called before the first bf16 matmul. False: bf16 is unsupported.
 */
bool matmul_prepare_bf16(struct matmul *matmul);

/* A weight [inner, columns] in the layout that its matmuls read, cut into panels of columns. */
struct packed_weight;

struct packed_weight_config {
    rotary_dtype dtype; /* of the packed weight: f32 or bf16 */
    int64_t inner, columns;
    bool transposed; /* the f32 source is [columns, inner], else [inner, columns] */
};

/* Zero until packed_weight_fill. */
ROTARY_CHECKED rotary_status packed_weight_create(struct packed_weight **weight, const struct matmul *matmul,
                                                  const struct packed_weight_config *config,
                                                  rotary_error *error);
void packed_weight_destroy(struct packed_weight *weight);
size_t packed_weight_bytes(const struct packed_weight *weight);
ROTARY_CHECKED rotary_status packed_weight_fill(struct packed_weight *weight, struct matmul *matmul,
                                                const float *source, rotary_error *error);

enum matmul_epilogue { MATMUL_EPILOGUE_NONE, MATMUL_EPILOGUE_RELU };

/* out[rows, columns] = epilogue(in[rows, inner] weight + bias). Sums are f32. */
struct matmul_call {
    struct matrix out, in; /* in has the type of the weight, out that type or f32 */
    const struct packed_weight *weight;
    const float *bias; /* [columns] f32; NULL: none */
    enum matmul_epilogue epilogue;
};
ROTARY_CHECKED rotary_status matmul_run(struct matmul *matmul, const struct matmul_call *call,
                                        rotary_error *error);

/* gradient[a.columns, b.columns] += a^T b, f32; a and b are [rows, ...] of the same type. Also
 * sums[a.columns] += the column sums of a, f32; NULL: not wanted. */
ROTARY_CHECKED rotary_status matmul_gradient(struct matmul *matmul, float *gradient, float *sums,
                                             struct matrix a, struct matrix b, rotary_error *error);

/* How many planned GEMMs run oneDNN's reference implementation, which is very slow. */
int64_t matmul_reference_gemms(const struct matmul *matmul);

#endif
