/* SPDX-License-Identifier: Apache-2.0
 *
 * a^T b in f32, summed over the rows of both. A row of `a` gives the factors of a tile and a row of `b` its
 * vectors, so neither is transposed. Both are copied to where the rows of a tile follow one another: those of
 * wide matrices are pages apart, and evict each other from the L1 cache.
 */
#include "base/integer.h"
#include "kernel/layer/layer_variant.h"

#if LANES == 16

/* A tile of PRODUCT_ROWS x PANEL sums stays in registers. 13 divides the usual widths with little rest. */
enum { PRODUCT_ROWS = 13, PANEL = 2 * LANES, PREFETCHED_ROWS = 8 };
enum { TILES = 4 }; /* of `a`, that are copied together */
_Static_assert(PANEL + TILES * PRODUCT_ROWS <= LAYER_PRODUCT_PADDING,
               "the workspace holds a padded panel and tiles");

/* Where the columns of `a` after those of a tile are: they are prefetched while the tile is computed. */
struct columns {
    const float *first;
    int64_t stride;
};

/* sums[PRODUCT_ROWS][PANEL] = a^T panel. */
static void multiply_tile(float *sums, int64_t rows, const float *a, const float *panel, struct columns next)
{
    vfloat left[PRODUCT_ROWS], right[PRODUCT_ROWS];
#pragma GCC unroll 16
    for (int i = 0; i < PRODUCT_ROWS; i++)
        left[i] = right[i] = (vfloat){0};
    for (int64_t row = 0; row < rows; row++, a += PRODUCT_ROWS, panel += PANEL) {
        vfloat b_left = v_load(panel), b_right = v_load(panel + LANES);
        __builtin_prefetch(panel + PREFETCHED_ROWS * PANEL);
        __builtin_prefetch(panel + PREFETCHED_ROWS * PANEL + LANES);
        __builtin_prefetch(next.first + row * next.stride, 0, 2);
#pragma GCC unroll 16
        for (int i = 0; i < PRODUCT_ROWS; i++) {
            vfloat factor = v_set(a[i]);
            left[i] = v_fma(factor, b_left, left[i]);
            right[i] = v_fma(factor, b_right, right[i]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < PRODUCT_ROWS; i++) {
        v_store(sums + i * PANEL, left[i]);
        v_store(sums + i * PANEL + LANES, right[i]);
    }
}

/* Copies `columns` columns of `a` from `first` on to tiles, [TILES, rows, PRODUCT_ROWS], and zeros to the
 * columns of a tile that `a` lacks. `sums` become theirs, in the order of layer_column_sums. */
INLINE void copy_a(float *to, const struct layer_product *work, int64_t first, int64_t columns,
                   vfloat sums[TILES])
{
    enum { ROWS_AT_ONCE = 4 };
    for (int tile = 0; tile < TILES; tile++)
        sums[tile] = (vfloat){0};
    for (int64_t row = 0; row < work->rows; row += ROWS_AT_ONCE)
#pragma GCC unroll 4
        for (int tile = 0; tile < TILES; tile++) {
            int64_t lanes = min_i64(PRODUCT_ROWS, columns - tile * PRODUCT_ROWS);
            const float *from = work->a + row * work->a_stride + first + tile * PRODUCT_ROWS;
            float *out = to + (tile * work->rows + row) * PRODUCT_ROWS;
            vfloat x[ROWS_AT_ONCE];
            if (lanes <= 0)
                break;
            if (row + ROWS_AT_ONCE > work->rows) {
                for (int64_t i = 0; i < work->rows - row; i++) {
                    x[0] = load_f32(from, i * work->a_stride, lanes);
                    store_f32(out, i * PRODUCT_ROWS, x[0], PRODUCT_ROWS);
                    sums[tile] += x[0];
                }
                continue;
            }
            for (int i = 0; i < ROWS_AT_ONCE; i++) {
                x[i] = load_f32(from, i * work->a_stride, lanes);
                store_f32(out, i * PRODUCT_ROWS, x[i], PRODUCT_ROWS);
            }
            sums[tile] += (x[0] + x[1]) + (x[2] + x[3]);
        }
}

/* The columns of `b` as panels of PANEL columns, the last filled up with zeros. */
static void copy_b(float *panels, const struct layer_product *work)
{
    for (int64_t row = 0; row < work->rows; row++) {
        const float *from = work->b + row * work->b_stride;
        for (int64_t column = 0; column < work->b_columns; column += PANEL) {
            float *to = panels + column * work->rows + row * PANEL;
            int64_t columns = min_i64(PANEL, work->b_columns - column);
            if (columns == PANEL) {
                memcpy(to, from + column, PANEL * sizeof(float));
            } else {
                memset(to, 0, PANEL * sizeof(float));
                memcpy(to, from + column, (size_t)columns * sizeof(float));
            }
        }
    }
}

static void add_tile(const struct layer_product *work, int64_t row, int64_t column, const float *sums)
{
    int64_t rows = min_i64(PRODUCT_ROWS, work->a_columns - row),
            columns = min_i64(PANEL, work->b_columns - column);
    float *to = work->to + row * work->b_columns + column;
    for (int64_t at = 0; at < rows; at++, to += work->b_columns, sums += PANEL)
        for (int64_t i = 0; i < columns; i += LANES) {
            int64_t lanes = remaining_lanes(i, columns);
            vfloat sum = v_load(sums + i);
            store_f32(to, i, work->adding ? load_f32(to, i, lanes) + sum : sum, lanes);
        }
}

void ROTARY_KERNEL(layer_add_product)(const struct layer_product *work)
{
    enum { COPIED = TILES * PRODUCT_ROWS };
    float *panels = work->workspace, *a = panels + round_up(work->b_columns, PANEL) * work->rows;
    float sums[PRODUCT_ROWS * PANEL];
    vfloat a_sums[TILES];
    copy_b(panels, work);
    for (int64_t row = 0; row < work->a_columns; row += PRODUCT_ROWS) {
        int64_t tile = row / PRODUCT_ROWS % TILES, left = work->a_columns - row;
        if (tile == 0 && left >= COPIED)
            copy_a(a, work, row, COPIED, a_sums);
        else if (tile == 0)
            copy_a(a, work, row, left, a_sums);
        if (work->a_sums)
            store_f32(work->a_sums, row, a_sums[tile], min_i64(PRODUCT_ROWS, left));
        struct columns next = {work->a + min_i64(row + COPIED + PRODUCT_ROWS, work->a_columns) - 1,
                               work->a_stride};
        for (int64_t column = 0; column < work->b_columns; column += PANEL) {
            multiply_tile(sums, work->rows, a + tile * work->rows * PRODUCT_ROWS,
                          panels + column * work->rows, next);
            add_tile(work, row, column, sums);
        }
    }
}
#endif
