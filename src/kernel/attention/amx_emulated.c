/* SPDX-License-Identifier: Apache-2.0
 *
 * AMX emulation (amx_emulated.h). TDPBF16PS sums the products of the even elements of pairs and those of the
 * odd elements separately, from zero, by fused multiply-adds in order of depth. It adds the two sums, then
 * adds their sum to the tile. Denormal inputs and results count as zero.
 */
#include "kernel/attention/amx_emulated.h"

#include <assert.h>
#include <immintrin.h>
#include <string.h>

enum { TILES = 8, MAX_ROWS = 16, ROW_BYTES = 64, DENORMAL = 0x20 /* a class of _mm512_fpclass_ps_mask */ };

struct layout {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static _Thread_local struct {
    struct layout layout; /* palette 0: nothing is configured */
    uint8_t data[TILES][MAX_ROWS][ROW_BYTES];
} registers;

void rotary_emulated_tiles_configure(const void *layout)
{
    _Static_assert(sizeof(struct layout) == 64, "the layout in memory is 64 bytes");
    /* The processor allows this, but here it means that tiles were not released. */
    assert(registers.layout.palette == 0);
    memset(&registers, 0, sizeof registers);
    memcpy(&registers.layout, layout, sizeof registers.layout);
    assert(registers.layout.palette == 1 && registers.layout.start_row == 0);
    for (int i = 0; i < 14; i++)
        assert(registers.layout.reserved[i] == 0);
    for (int tile = 0; tile < 16; tile++) {
        assert(registers.layout.rows[tile] <= (tile < TILES ? MAX_ROWS : 0));
        assert(registers.layout.row_bytes[tile] <= (tile < TILES ? ROW_BYTES : 0));
        assert(!registers.layout.rows[tile] == !registers.layout.row_bytes[tile]);
    }
}

void rotary_emulated_tiles_release(void)
{
    memset(&registers, 0, sizeof registers);
}

static void check(int tile)
{
    assert(registers.layout.palette == 1 && tile >= 0 && tile < TILES);
    assert(registers.layout.rows[tile] > 0 && registers.layout.row_bytes[tile] > 0);
    (void)tile;
}

void rotary_emulated_tile_zero(int tile)
{
    check(tile);
    memset(registers.data[tile], 0, sizeof registers.data[tile]);
}

void rotary_emulated_tile_load(int tile, const void *from, int64_t stride)
{
    rotary_emulated_tile_zero(tile);
    for (int row = 0; row < registers.layout.rows[tile]; row++)
        memcpy(registers.data[tile][row], (const char *)from + row * stride,
               registers.layout.row_bytes[tile]);
}

void rotary_emulated_tile_store(int tile, void *to, int64_t stride)
{
    check(tile);
    for (int row = 0; row < registers.layout.rows[tile]; row++)
        memcpy((char *)to + row * stride, registers.data[tile][row], registers.layout.row_bytes[tile]);
}

/* Denormal numbers become zero and keep their sign. */
static __m512 flush(__m512 v)
{
    const __m512 sign = _mm512_set1_ps(-0.0f);
    return _mm512_mask_and_ps(v, _mm512_fpclass_ps_mask(v, DENORMAL), v, sign);
}

/* The even, or the odd, element of each pair as f32. */
static __m512 even_of(__m512i pairs)
{
    return flush(_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)));
}

static __m512 odd_of(__m512i pairs)
{
    return flush(_mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000u))));
}

void rotary_emulated_tile_multiply(int sum, int left, int right)
{
    check(sum);
    check(left);
    check(right);
    int depth = registers.layout.row_bytes[left] / 4;
    assert(sum != left && sum != right && left != right && depth == registers.layout.rows[right] &&
           registers.layout.rows[sum] == registers.layout.rows[left] &&
           registers.layout.row_bytes[sum] == registers.layout.row_bytes[right]);
    for (int row = 0; row < registers.layout.rows[sum]; row++) {
        __m512 even = _mm512_setzero_ps(), odd = even;
        for (int k = 0; k < depth; k++) {
            int32_t pair;
            memcpy(&pair, registers.data[left][row] + 4 * k, sizeof pair);
            __m512i a = _mm512_set1_epi32(pair), b = _mm512_loadu_si512(registers.data[right][k]);
            even = flush(_mm512_fmadd_ps(even_of(a), even_of(b), even));
            odd = flush(_mm512_fmadd_ps(odd_of(a), odd_of(b), odd));
        }
        uint8_t *to = registers.data[sum][row];
        __m512 before = flush(_mm512_loadu_ps((const float *)(const void *)to));
        _mm512_storeu_ps((float *)(void *)to, flush(_mm512_add_ps(before, flush(_mm512_add_ps(even, odd)))));
    }
}
