/* SPDX-License-Identifier: Apache-2.0
 *
 * Random inputs of benchmarks.
 */
#ifndef ROTARY_BENCHMARK_FILL_H
#define ROTARY_BENCHMARK_FILL_H

#include <rotary/types.h>

/* Fills `data` with `count` standard normal numbers in f32 or bf16, the same for the same seed. The speed of
 * attention depends on its scores, so inputs are distributed as activations are. */
void benchmark_fill(void *data, rotary_dtype dtype, int64_t count, uint64_t seed);

#endif
