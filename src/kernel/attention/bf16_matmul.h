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

enum {
    ROWS_AT_ONCE = 8 /* of a product, computed or taken at a time: 16 sums, which hide the latency of each */
};

/* What is not multiplied of a tile on the diagonal of a causal mask, since it is not read or is zero: a quarter of the
 * sums, or of a step of depth what lies beyond the diagonal, as far as ROWS_AT_ONCE rows have it in common. AMX
 * multiplies all. */
enum corner {
    CORNER_NONE,
    CORNER_TOP_RIGHT,   /* the last 16 columns of the first 16 rows */
    CORNER_BOTTOM_LEFT, /* the first 16 columns of the last 16 rows */
    CORNER_LEFT_LAST,   /* of the last step, columns of the left side after the row's number */
    CORNER_LEFT_FIRST,  /* of the first step, columns of the left side before the row's number */
    CORNER_RIGHT_LAST   /* of the last step, rows of the right side after the column's number */
};

/* left right, 32 x 32, summed over `steps` tiles of depth. Either written or added to `memory`, or rows are taken
 * ROWS_AT_ONCE at a time. AMX then computes all of them when the product begins, in `memory`, [32][32], and so beside
 * what vectors do with the product before; others compute rows when they are taken, in registers, beside what is done
 * with the rows before. */
struct product {
    float *memory;
    int64_t steps;
    struct left_side left;
    struct right_side right;
    enum corner corner;
};

/* Rows of a product. */
struct product_rows {
    __m512 low[ROWS_AT_ONCE], high[ROWS_AT_ONCE];
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

/* Writes a product to its memory, rows `c_row` floats apart, or adds it. */
static inline void multiply_block(const struct product *product, int64_t c_row, bool add)
{
    const struct left_side left = product->left;
    const struct right_side right = product->right;
    float *c = product->memory;
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
    for (int64_t step = 0; step < product->steps; step++) {
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

static inline void begin_product(const struct product *product)
{
    multiply_block(product, 32, false);
}

static inline __attribute__((always_inline)) struct product_rows take_rows(const struct product *product,
                                                                           int64_t first)
{
    struct product_rows rows;
    for (int i = 0; i < ROWS_AT_ONCE; i++) {
        rows.low[i] = _mm512_loadu_ps(product->memory + (first + i) * 32);
        rows.high[i] = _mm512_loadu_ps(product->memory + (first + i) * 32 + SIDE);
    }
    return rows;
}
#else
static inline void tiles_begin(void) {}

static inline void tiles_end(void) {}

/* Adds pairs begin ... end - 1 of a step of depth to the sums of ROWS_AT_ONCE rows, of the first 16 columns, the last,
 * or both. */
static inline __attribute__((always_inline)) void multiply_pairs(struct product_rows *sums,
                                                                 const struct product *product, int64_t first,
                                                                 int64_t step, int begin, int end, bool low,
                                                                 bool high)
{
    const int64_t row = product->left.row, next = product->right.next;
    const uint16_t *rows = product->left.rows + first * row + step * product->left.step;
    const uint16_t *tile = product->right.tile + step * product->right.step;
    for (int pair = begin; pair < end; pair++) {
        __m512bh right_low = (__m512bh)_mm512_loadu_si512(tile + pair * 32);
        __m512bh right_high = (__m512bh)_mm512_loadu_si512(tile + next + pair * 32);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS_AT_ONCE; i++) {
            int32_t both;
            memcpy(&both, rows + i * row + 2 * pair, sizeof both);
            __m512bh factor = (__m512bh)_mm512_set1_epi32(both);
            if (low)
                sums->low[i] = _mm512_dpbf16_ps(sums->low[i], factor, right_low);
            if (high)
                sums->high[i] = _mm512_dpbf16_ps(sums->high[i], factor, right_high);
        }
    }
}

/* Adds rows first ... first + ROWS_AT_ONCE - 1 of a product to sums. */
static inline __attribute__((always_inline)) void multiply_rows(struct product_rows *sums,
                                                                const struct product *product, int64_t first)
{
    enum { PAIRS = DEPTH / 2 };
    const enum corner corner = product->corner;
    const bool low_only = corner == CORNER_TOP_RIGHT && first < SIDE,
               high_only = corner == CORNER_BOTTOM_LEFT && first >= SIDE;
    const int64_t last = product->steps - 1;
    for (int64_t step = 0; step <= last; step++) {
        int begin = corner == CORNER_LEFT_FIRST && step == 0 ? (int)first / 2 : 0,
            end = corner == CORNER_LEFT_LAST && step == last    ? (int)(first + ROWS_AT_ONCE) / 2
                  : corner == CORNER_RIGHT_LAST && step == last ? SIDE / 2
                                                                : PAIRS;
        if (low_only)
            multiply_pairs(sums, product, first, step, 0, PAIRS, true, false);
        else if (high_only)
            multiply_pairs(sums, product, first, step, 0, PAIRS, false, true);
        else
            multiply_pairs(sums, product, first, step, begin, end, true, true);
    }
    if (corner == CORNER_RIGHT_LAST)
        multiply_pairs(sums, product, first, last, SIDE / 2, PAIRS, false, true);
}

/* Writes a product to its memory, rows `c_row` floats apart, or adds it. */
static inline void multiply_block(const struct product *product, int64_t c_row, bool add)
{
    for (int64_t first = 0; first < 32; first += ROWS_AT_ONCE) {
        float *at = product->memory + first * c_row;
        struct product_rows sums;
#pragma GCC unroll 8
        for (int i = 0; i < ROWS_AT_ONCE; i++) {
            sums.low[i] = add ? _mm512_loadu_ps(at + i * c_row) : _mm512_setzero_ps();
            sums.high[i] = add ? _mm512_loadu_ps(at + i * c_row + SIDE) : _mm512_setzero_ps();
        }
        multiply_rows(&sums, product, first);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS_AT_ONCE; i++) {
            _mm512_storeu_ps(at + i * c_row, sums.low[i]);
            _mm512_storeu_ps(at + i * c_row + SIDE, sums.high[i]);
        }
    }
}

static inline void begin_product(const struct product *product)
{
    (void)product;
}

static inline __attribute__((always_inline)) struct product_rows take_rows(const struct product *product,
                                                                           int64_t first)
{
    struct product_rows rows;
#pragma GCC unroll 8
    for (int i = 0; i < ROWS_AT_ONCE; i++)
        rows.low[i] = rows.high[i] = _mm512_setzero_ps();
    multiply_rows(&rows, product, first);
    return rows;
}
#endif

#endif
