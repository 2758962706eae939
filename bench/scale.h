/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rotation is measured against: multiplying every element of a tensor by one number, in place.
 */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

#include <rotary/types.h>

typedef void scale_kernel(void *data, int64_t count, float factor);

/* Indexed by rotary_dtype. */
extern scale_kernel *const scale_kernels_scalar[3];
extern scale_kernel *const scale_kernels_avx2[3];
extern scale_kernel *const scale_kernels_avx512[3];
extern scale_kernel *const scale_kernels_amx[3];
extern scale_kernel *const scale_kernels_neon[3];

#endif
