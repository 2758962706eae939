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

#include "backend/operation_calls.h"

struct layer_kernels; /* kernel/layer/layer_kernels.h */

/* Planned GEMMs, and scratch memory for each thread. Runs one matmul at a time. */
struct matmul;

/* Caps oneDNN at `isa`. oneDNN accepts a cap only before its first use in the process: later calls keep the
 * first one. kernels is borrowed. */
ROTARY_CHECKED rotary_status matmul_create(struct matmul **matmul, int threads, rotary_isa isa,
                                           const struct layer_kernels *kernels, rotary_error *error);
void matmul_destroy(struct matmul *matmul);

/* The instruction set that bf16 matmuls use: AMX or AVX512BF16; SCALAR where none is made for bf16. */
rotary_isa matmul_bf16_isa(void);
/* Selects the layout of bf16 operands; to be called before the first bf16 matmul. False: bf16 is unsupported.
 */
bool matmul_prepare_bf16(struct matmul *matmul);

/* A packed weight is cut into panels of columns. It is zero until packed_weight_fill. */
ROTARY_CHECKED rotary_status packed_weight_create(struct packed_weight **weight, const struct matmul *matmul,
                                                  const struct packed_weight_config *config,
                                                  rotary_error *error);
void packed_weight_destroy(struct packed_weight *weight);
size_t packed_weight_bytes(const struct packed_weight *weight);
ROTARY_CHECKED rotary_status packed_weight_fill(struct packed_weight *weight, struct matmul *matmul,
                                                const float *source, rotary_error *error);
/* A transposed one has more: its columns are rows `first` and on of a weight as a file has it. */
ROTARY_CHECKED rotary_status packed_weight_fill_stored(struct packed_weight *weight, struct matmul *matmul,
                                                       const struct stored_weight *stored, int64_t first,
                                                       rotary_error *error);

/* backend/operation_calls.h says what these compute. */
ROTARY_CHECKED rotary_status matmul_run(struct matmul *matmul, const struct backend_matmul *call,
                                        rotary_error *error);
ROTARY_CHECKED rotary_status matmul_gradient(struct matmul *matmul,
                                             const struct backend_weight_gradient *call, rotary_error *error);

/* A block of rows and a panel of columns of in weight + bias: f32, and contiguous. */
struct matmul_tile {
    int64_t row, rows, column, columns;
    int64_t all_columns; /* of the weight */
    float *data;         /* [rows, columns]; may be overwritten */
};
/* Gets all tiles: those of the same rows on one thread, in the order of their columns. */
typedef void matmul_consumer(void *context, const struct matmul_tile *tile);
/* A matmul whose result is consumed while it is in the cache of the thread that computes it. `out` has the
 * type f32 and no data. */
ROTARY_CHECKED rotary_status matmul_consume(struct matmul *matmul, const struct backend_matmul *call,
                                            matmul_consumer *consume, void *context, rotary_error *error);

/* How many planned GEMMs run oneDNN's reference implementation, which is very slow. */
int64_t matmul_reference_gemms(const struct matmul *matmul);
/* How many are planned: of a weight, few for any numbers of rows. */
int64_t matmul_planned_gemms(const struct matmul *matmul);

#endif
