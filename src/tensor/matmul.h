/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products, by oneDNN (which onednn.c alone knows).
 *
 * Every product is cut into pieces by its size and each piece runs on one thread, so the result has the same
 * bits for any number of threads. A piece is planned (oneDNN: a primitive is made) the first time its shape
 * is seen and kept; after that a product allocates nothing of its own.
 */
#ifndef ROTARY_TENSOR_MATMUL_H
#define ROTARY_TENSOR_MATMUL_H

#include "tensor/compute.h"

/* What the products of one compute share: planned pieces, and scratch memory for each worker. One product at
 * a time. */
struct matmul;

/* Caps oneDNN at `isa`. oneDNN takes a cap only before its first use in the process: later calls keep the
 * first. */
ROTARY_CHECKED rotary_status matmul_create(struct matmul **matmul, int threads, rotary_isa isa,
                                           rotary_error *error);
void matmul_destroy(struct matmul *matmul);

/* Whether the products multiply bf16 with instructions made for it. */
bool matmul_bf16_is_fast(void);
/* Before anything in bf16: chooses the layout of its operands. False: it cannot be multiplied here. */
bool matmul_prepare_bf16(struct matmul *matmul);

/* A weight [inner, columns] in storage type, in the layout the product wants, cut into panels of columns. */
struct packed_weight;

/* `transposed`: the f32 source is [columns, inner], else [inner, columns]. Zero until packed_weight_fill. */
ROTARY_CHECKED rotary_status packed_weight_create(struct packed_weight **weight,
                                                  const struct compute *compute, int64_t inner,
                                                  int64_t columns, bool transposed, rotary_error *error);
void packed_weight_destroy(struct packed_weight *weight);
size_t packed_weight_bytes(const struct packed_weight *weight);
ROTARY_CHECKED rotary_status packed_weight_fill(struct packed_weight *weight, const struct compute *compute,
                                                const float *source, rotary_error *error);

enum matmul_epilogue { MATMUL_EPILOGUE_NONE, MATMUL_EPILOGUE_RELU };

/* out[rows, columns] = finish(in[rows, inner] weight + bias). in is of the storage type, out of that or f32;
 * bias [columns] f32 or NULL. Sums are f32. */
ROTARY_CHECKED rotary_status matmul_run(const struct compute *compute, struct matrix out, struct matrix in,
                                        const struct packed_weight *weight, const float *bias,
                                        enum matmul_epilogue epilogue, rotary_error *error);

/* gradient[left.columns, right.columns] += left^T right, f32; left and right [rows, ...] of the storage type.
 * sums[left.columns] += the rows of left, f32, while they are at hand; NULL: not wanted. */
ROTARY_CHECKED rotary_status matmul_gradient(const struct compute *compute, float *gradient, float *sums,
                                             struct matrix a, struct matrix b, rotary_error *error);

/* How many of the pieces planned so far oneDNN has nothing better for than its reference, which is very slow.
 */
int64_t matmul_reference_gemms(const struct matmul *matmul);

#endif
