/* SPDX-License-Identifier: Apache-2.0
 *
 * AMX emulation (ROTARY_EMULATE_AMX): an amx plan has the amx kernels, so that the other tests of attention
 * run them, and the matmul of two tiles gives the results of Intel's manual.
 */
#include "kernel/attention/amx_emulated.h"
#include "kernel/attention/attention_kernels.h"
#include "support/check.h"

#include <string.h>

/* A tile of 16 rows of 64 bytes, as the kernels configure all eight. */
static void configure(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } layout = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) {
        layout.row_bytes[tile] = 64;
        layout.rows[tile] = 16;
    }
    rotary_emulated_tiles_configure(&layout);
}

static uint16_t bf16_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* One row of the left tile against one column of the right, `pairs` deep; the rest is zero. */
static float product(const float *left, const float *right, int pairs, float before)
{
    uint16_t a[16][32] = {{0}}, b[16][32] = {{0}};
    float c[16][16] = {{0}};
    const int row = 3, column = 5;
    for (int i = 0; i < 2 * pairs; i++) {
        a[row][i] = bf16_bits(left[i]);
        b[i / 2][2 * column + i % 2] = bf16_bits(right[i]);
    }
    c[row][column] = before;
    configure();
    rotary_emulated_tile_load(0, c, 64);
    rotary_emulated_tile_load(4, a, 64);
    rotary_emulated_tile_load(6, b, 64);
    rotary_emulated_tile_multiply(0, 4, 6);
    rotary_emulated_tile_store(0, c, 64);
    rotary_emulated_tiles_release();
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            if (i != row || j != column)
                CHECK(c[i][j] == 0);
    return c[row][column];
}

static void try_products(void)
{
    const float ones[] = {1, 1, 1, 1}, numbers[] = {2, 3, -5, 7};
    CHECK(product(numbers, ones, 2, 0.5f) == 7.5f);
    CHECK(product(ones, numbers, 2, -7.0f) == 0);
    /* Even and odd elements are summed separately: in one sum 2^24 + 1 would be rounded to 2^24. */
    const float apart[] = {0x1p24f, 1, -0x1p24f, 1};
    CHECK(product(apart, ones, 2, 0) == 2);
    /* The two sums are added to each other before they are added to the tile. */
    const float last[] = {0x1p24f, -0x1p24f};
    CHECK(product(last, ones, 1, 1) == 1);
    /* Denormal inputs and results count as zero. */
    const float denormal[] = {0x1p-130f, 0}, large[] = {0x1p100f, 0}, small[] = {0x1p-64f, 0};
    CHECK(product(denormal, large, 1, 0) == 0);
    CHECK(product(small, small, 1, 0) == 0);
    CHECK(product(small, ones, 1, 0) == 0x1p-64f);
}

int main(void)
{
    if (!rotary_isa_available(ROTARY_ISA_AMX))
        check_skip("this processor has no AVX512_BF16");
    CHECK(rotary_attention_kernels(ROTARY_ISA_AMX, ROTARY_BF16)->key_block ==
          ROTARY_ATTENTION_BF16_KEY_BLOCK);
    try_products();
    return check_report();
}
