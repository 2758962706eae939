/* SPDX-License-Identifier: Apache-2.0
 *
 * The matmul of the bf16 kernels: a block of 32 x 32 sums in f32. The amx variant uses AMX tiles, the others
 * VDPBF16PS, which multiplies and adds pairs. Both read the same layouts.
 *
 * A tile is 16 rows of 64 bytes. TDPBF16PS adds A[16][32] B to C[16][16], C in f32, A in bf16, B in VNNI
 * layout: row r holds rows 2r and 2r + 1 of the right-hand matrix, interleaved.
 */
#ifndef ROTARY_KERNEL_ATTENTION_BF16_MATMUL_H
#define ROTARY_KERNEL_ATTENTION_BF16_MATMUL_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { TILE = 512 /* elements of bf16 in a tile */, SIDE = 16 /* rows, and f32 in a row */, DEPTH = 32 };

/* 32 rows, `row` elements apart; the next step of depth is `step` elements on. */
struct left_side {
    const uint16_t *rows;
    int64_t row, step;
};

/* Two tiles side by side, `next` elements apart; the next step of depth is `step` elements on. */
struct right_side {
    const uint16_t *tile;
    int64_t next, step;
};

#ifdef ROTARY_TILES
#ifdef ROTARY_EMULATE_AMX
#include "kernel/attention/amx_emulated.h"

#define TILE_ZERO(tile)                 rotary_emulated_tile_zero(tile)
#define TILE_LOAD(tile, from, stride)   rotary_emulated_tile_load(tile, from, stride)
#define TILE_STORE(tile, to, stride)    rotary_emulated_tile_store(tile, to, stride)
#define TILE_MULTIPLY(sum, left, right) rotary_emulated_tile_multiply(sum, left, right)
#define TILES_CONFIGURE(layout)         rotary_emulated_tiles_configure(&(layout))
#define TILES_RELEASE()                 rotary_emulated_tiles_release()
#else
/* The clobbers keep tile loads behind the stores that they read. */
#define TILE_ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile ::: "memory")
#define TILE_LOAD(tile, from, stride)                                                                        \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"((int64_t)(stride)) : "memory")
#define TILE_STORE(tile, to, stride)                                                                         \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"((int64_t)(stride)) : "memory")
#define TILE_MULTIPLY(sum, left, right)                                                                      \
    __asm__ volatile("tdpbf16ps %%tmm" #right ", %%tmm" #left ", %%tmm" #sum ::: "memory")
#define TILES_CONFIGURE(layout) __asm__ volatile("ldtilecfg %0" ::"m"(layout) : "memory")
#define TILES_RELEASE()         __asm__ volatile("tilerelease" ::: "memory")
#endif

static inline void tiles_begin(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } layout = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        layout.row_bytes[i] = 64;
        layout.rows[i] = SIDE;
    }
    TILES_CONFIGURE(layout);
}

static inline void tiles_end(void)
{
    TILES_RELEASE();
}

/* c[32][32], rows `c_row` floats apart, (+)= left right, summed over `steps` tiles of depth. */
static inline void multiply_block(float *c, int64_t c_row, bool add, int64_t steps, struct left_side left,
                                  struct right_side right)
{
    if (add) {
        TILE_LOAD(0, c, c_row * 4);
        TILE_LOAD(1, c + SIDE, c_row * 4);
        TILE_LOAD(2, c + SIDE * c_row, c_row * 4);
        TILE_LOAD(3, c + SIDE * c_row + SIDE, c_row * 4);
    } else {
        TILE_ZERO(0);
        TILE_ZERO(1);
        TILE_ZERO(2);
        TILE_ZERO(3);
    }
    for (int64_t step = 0; step < steps; step++) {
        const uint16_t *rows = left.rows + step * left.step, *tile = right.tile + step * right.step;
        TILE_LOAD(4, rows, left.row * 2);
        TILE_LOAD(6, tile, 64);
        TILE_MULTIPLY(0, 4, 6);
        TILE_LOAD(7, tile + right.next, 64);
        TILE_MULTIPLY(1, 4, 7);
        TILE_LOAD(5, rows + SIDE * left.row, left.row * 2);
        TILE_MULTIPLY(2, 5, 6);
        TILE_MULTIPLY(3, 5, 7);
    }
    TILE_STORE(0, c, c_row * 4);
    TILE_STORE(1, c + SIDE, c_row * 4);
    TILE_STORE(2, c + SIDE * c_row, c_row * 4);
    TILE_STORE(3, c + SIDE * c_row + SIDE, c_row * 4);
}
#else
static inline void tiles_begin(void) {}

static inline void tiles_end(void) {}

enum { ROWS_AT_ONCE = 8 /* computed at a time: 16 sums, which hide the latency of each */ };

/* c[32][32], rows `c_row` floats apart, (+)= left right, summed over `steps` tiles of depth. */
static inline void multiply_block(float *c, int64_t c_row, bool add, int64_t steps, struct left_side left,
                                  struct right_side right)
{
    for (int64_t first = 0; first < 32; first += ROWS_AT_ONCE) {
        float *sums = c + first * c_row;
        __m512 low[ROWS_AT_ONCE], high[ROWS_AT_ONCE];
#pragma GCC unroll 8
        for (int i = 0; i < ROWS_AT_ONCE; i++) {
            low[i] = add ? _mm512_loadu_ps(sums + i * c_row) : _mm512_setzero_ps();
            high[i] = add ? _mm512_loadu_ps(sums + i * c_row + SIDE) : _mm512_setzero_ps();
        }
        for (int64_t step = 0; step < steps; step++) {
            const uint16_t *rows = left.rows + first * left.row + step * left.step;
            const uint16_t *tile = right.tile + step * right.step;
            for (int pair = 0; pair < DEPTH / 2; pair++) {
                __m512bh right_low = (__m512bh)_mm512_loadu_si512(tile + pair * 32);
                __m512bh right_high = (__m512bh)_mm512_loadu_si512(tile + right.next + pair * 32);
#pragma GCC unroll 8
                for (int i = 0; i < ROWS_AT_ONCE; i++) {
                    int32_t both;
                    memcpy(&both, rows + i * left.row + 2 * pair, sizeof both);
                    __m512bh factor = (__m512bh)_mm512_set1_epi32(both);
                    low[i] = _mm512_dpbf16_ps(low[i], factor, right_low);
                    high[i] = _mm512_dpbf16_ps(high[i], factor, right_high);
                }
            }
        }
#pragma GCC unroll 8
        for (int i = 0; i < ROWS_AT_ONCE; i++) {
            _mm512_storeu_ps(sums + i * c_row, low[i]);
            _mm512_storeu_ps(sums + i * c_row + SIDE, high[i]);
        }
    }
}
#endif

#endif
