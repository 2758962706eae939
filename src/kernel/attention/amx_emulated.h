/* SPDX-License-Identifier: Apache-2.0
 *
 * AMX emulation, for builds with ROTARY_EMULATE_AMX: it lets the amx kernels be tested where the processor
 * has AVX512_BF16 but no AMX. Each function is one instruction of Intel's Software Developer's Manual. Tile
 * registers are per thread, as the processor's are; use of a tile that is not configured fails an assertion
 * where the processor would raise an exception.
 */
#ifndef ROTARY_KERNEL_ATTENTION_AMX_EMULATED_H
#define ROTARY_KERNEL_ATTENTION_AMX_EMULATED_H

#include <stdint.h>

/* LDTILECFG reads 64 bytes of palette 1; TILERELEASE. */
void rotary_emulated_tiles_configure(const void *layout);
void rotary_emulated_tiles_release(void);
/* TILEZERO, TILELOADD and TILESTORED; `stride` is in bytes. */
void rotary_emulated_tile_zero(int tile);
void rotary_emulated_tile_load(int tile, const void *from, int64_t stride);
void rotary_emulated_tile_store(int tile, void *to, int64_t stride);
/* TDPBF16PS: sum += left right. */
void rotary_emulated_tile_multiply(int sum, int left, int right);

#endif
