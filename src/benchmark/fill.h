/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers to compute with.
 */
#ifndef ROTARY_BENCHMARK_FILL_H
#define ROTARY_BENCHMARK_FILL_H

#include <rotary/types.h>

/* `count` normal numbers in f32 or bf16, the same for the same seed. Attention is not equally fast over all
 * scores, so these are what activations look like. */
void benchmark_fill(void *data, rotary_dtype dtype, int64_t count, uint64_t seed);

#endif
