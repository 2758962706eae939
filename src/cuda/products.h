/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products on the device, by cuBLASLt (which products.c alone includes).
 *
 * Sums are f32, of f32 by f32's own multiplications (never TF32), of bf16 by tensor cores. A product of a
 * shape is planned at its first use and kept. Its algorithm sums up in one order each time: results have the
 * same bits on one kind of device with one version of the library, and nowhere else is that promised.
 */
#ifndef ROTARY_CUDA_PRODUCTS_H
#define ROTARY_CUDA_PRODUCTS_H

#include "backend/operation_calls.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

struct backend;
struct cuda_products;

ROTARY_CHECKED rotary_status cuda_products_create(struct cuda_products **products, rotary_error *error);
void cuda_products_destroy(struct cuda_products *products);

/* out[rows, columns] (+)= epilogue(a b + bias), in row-major order. a is [rows, inner], or if a_transposed
 * [inner, rows]; b is [inner, columns], or if b_transposed [columns, inner]. a and b are of one type, out of
 * that type or f32. No side is 0. */
struct cuda_product {
    struct matrix out, a, b;
    bool a_transposed, b_transposed;
    bool accumulate;  /* out +=; f32 only, without bias and epilogue */
    const void *bias; /* [columns] of the type of out; NULL: none */
    enum matmul_epilogue epilogue;
};

/* `done` says whether the library has an algorithm for it; where it has none nothing is computed. */
ROTARY_CHECKED rotary_status cuda_products_run(const struct backend *backend,
                                               const struct cuda_product *product, bool *done,
                                               rotary_error *error);

#ifdef __cplusplus
}
#endif

#endif
