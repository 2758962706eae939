/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes over an array with hardly any arithmetic. They measure memory bandwidth, the limit that benchmarks
 * compare other kernels with. Nothing else uses them.
 */
#ifndef ROTARY_KERNEL_MEMORY_MEMORY_KERNELS_H
#define ROTARY_KERNEL_MEMORY_MEMORY_KERNELS_H

#include <rotary/types.h>

/* Elements of the longest vector: counts are multiples of it. */
enum { MEMORY_STEP = 64 };

/* Multiplies `count` neighbouring elements by `factor`, in place, in f32 and rounded once. */
typedef void memory_scale(void *data, int64_t count, float factor);

/* Reads `count` 32-bit words and returns their exclusive or, so that no read can be optimised away. */
typedef uint32_t memory_read(const void *data, int64_t count);

struct memory_kernels {
    memory_scale *scale[3]; /* of rotary_dtype */
    memory_read *read;
};

/* The kernels for `isa`, which this machine must have and which is not ROTARY_ISA_AUTO; the scalar ones if
 * the build has none for it. */
const struct memory_kernels *memory_kernels_for(rotary_isa isa);

#endif
