/* SPDX-License-Identifier: Apache-2.0
 *
 * Which storage type `auto` precision selects.
 */
#ifndef ROTARY_BACKEND_AUTO_PRECISION_H
#define ROTARY_BACKEND_AUTO_PRECISION_H

#include <rotary/types.h>

/* Whether training in bf16 is faster than in f32. `isa`: what multiplies bf16 (matmul_bf16_isa). `vendor`:
 * the processor's (rotary_processor_vendor). The answer depends on nothing else, no timing either: a command
 * gives the same bits each time.
 *
 * - AMX multiplies bf16 up to sixteen times as fast as AVX-512 multiplies f32.
 * - VDPBF16PS (AVX512_BF16) does two multiplications for one of an f32 FMA. AMD's cores start as many of
 *   one as of the other in a cycle: twice the rate. Intel's start one VDPBF16PS for two FMAs: the same rate,
 * and conversions come on top (docs/explanation/performance.md). */
bool bf16_is_faster(rotary_isa isa, const char *vendor);

#endif
