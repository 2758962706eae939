/* SPDX-License-Identifier: Apache-2.0
 *
 * Types and functions that matmul.c, matmul_gradient.c and packed_weight.c share.
 */
#ifndef ROTARY_BACKEND_MATMUL_INTERNAL_H
#define ROTARY_BACKEND_MATMUL_INTERNAL_H

#include "backend/matmul.h"
#include "backend/onednn.h"
#include "base/arena.h"
#include "base/integer.h"
#include "kernel/layer/layer_kernels.h"

/* How oneDNN sums up the products with weights [inner, columns]; a block of 0: not as our own kernel for
 * single rows can. */
struct sum_order {
    rotary_dtype dtype;
    int64_t inner, columns;
    struct layer_sum_order order;
};
enum { SUM_ORDERS = 64 }; /* that are remembered */
struct sum_orders {
    int count;
    struct sum_order known[SUM_ORDERS];
};

struct matmul {
    struct gemms *gemms;
    const struct layer_kernels *kernels;
    int threads;
    struct sum_orders *orders;
    bool vnni; /* oneDNN has optimized code for bf16 in VNNI layout (kernel/layer/layer_kernels.h) */
    bool amx;  /* oneDNN multiplies bf16 with it */
    struct rotary_arena workspace; /* [threads][workspace_bytes]: contiguous or packed copies of operands */
    size_t workspace_bytes;
    struct rotary_arena partial; /* gradients of groups of rows, f32, before they are summed */
};

struct packed_weight {
    struct packed_weight_config config;
    int64_t panel_columns;
    struct rotary_arena data; /* [count][bytes] */
    size_t bytes;             /* of a panel */
    int count;
    struct layer_sum_order orders[2]; /* of a full panel; of the last panel: matmul_sum_order */
    bool vnni;                        /* packed by pack_vnni, without plans and panels; else by oneDNN */
    struct panel_plan *plans[2];      /* of a full panel; of the last panel */
    struct panel **panels;
};

static inline int64_t packed_weight_panel_columns(const struct packed_weight *weight, bool last)
{
    return last ? weight->config.columns - (weight->count - 1) * weight->panel_columns
                : weight->panel_columns;
}

static inline unsigned char *packed_weight_panel(const struct packed_weight *weight, int64_t index)
{
    return weight->data.memory + (size_t)index * weight->bytes;
}

/* Bytes of `elements` elements, rounded up to the alignment. */
static inline size_t matmul_bytes(int64_t elements, rotary_dtype dtype)
{
    return rotary_align((size_t)elements * rotary_dtype_size(dtype));
}

/* Bytes of an operand in VNNI layout, with the padding of pack_vnni. */
static inline size_t matmul_vnni_bytes(int64_t rows, int64_t columns, rotary_dtype dtype)
{
    return matmul_bytes(round_up(rows, LAYER_VNNI_ROWS) * round_up(columns, LAYER_VNNI_COLUMNS), dtype);
}

/* That of a panel of strips (struct layer_row), found at the first question. */
struct layer_sum_order matmul_sum_order(const struct matmul *matmul, rotary_dtype dtype, int64_t inner,
                                        int64_t columns);

/* oneDNN sums up few rows of bf16 in another order than many: one row, and what has at most
 * GEMM_WITHOUT_TILES elements where it else uses AMX. A GEMM of at least so many rows, of zeros at the end,
 * makes a row's result the same whatever is beside it. */
static inline int64_t matmul_fewest_rows(const struct matmul *matmul, rotary_dtype dtype, int64_t columns)
{
    enum { GEMM_WITHOUT_TILES = 256 };
    if (dtype != ROTARY_BF16)
        return 1;
    return matmul->amx ? max_i64(2, GEMM_WITHOUT_TILES / columns + 1) : 2;
}

/* Bytes of a strip of LAYER_VNNI_COLUMNS columns. */
static inline int64_t matmul_strip_bytes(rotary_dtype dtype, int64_t inner)
{
    const int64_t size = (int64_t)rotary_dtype_size(dtype), multiple = LAYER_VNNI_ROWS * 2 / size;
    return round_up(inner, multiple) * LAYER_VNNI_COLUMNS * size;
}

/* Grows the workspace of each thread to at least `bytes`. */
ROTARY_CHECKED rotary_status matmul_reserve_workspace(struct matmul *matmul, size_t bytes,
                                                      rotary_error *error);

static inline unsigned char *matmul_workspace(const struct matmul *matmul, int worker)
{
    return matmul->workspace.memory + (size_t)worker * matmul->workspace_bytes;
}

/* `m` itself if it is contiguous and has `rows` rows, else a contiguous copy at `memory`, to which rows of
 * zeros are added. */
struct matrix matmul_contiguous(struct matrix m, int64_t rows, void *memory);

/* The number of rows of the GEMM that computes `rows` of them; rows of zeros fill it up. Planning one takes
 * as long as running it a few times, and packed batches have ever new numbers of rows: those that are no
 * multiple of 8 take the next of a few sizes. At most `rows` rounded up to ROWS_MULTIPLE. */
enum { ROWS_MULTIPLE = 32 };
static inline int64_t matmul_planned_rows(int64_t rows)
{
    if (rows <= 8 || rows % 8 == 0)
        return rows;
    return round_up(rows, rows <= 64 ? 8 : ROWS_MULTIPLE);
}

#endif
