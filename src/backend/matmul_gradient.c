/* SPDX-License-Identifier: Apache-2.0
 *
 * gradient += a^T b, summed over many rows. The gradient is cut into tiles and the rows into groups. A work
 * item sums a few neighbouring tiles over one group of rows, chunk by chunk; each tile of a chunk is one
 * GEMM. With more than one group, each sums into a partial gradient of its own, and these are added in order.
 *
 * In f32 on AVX-512 our own kernel is the GEMM, and sums the columns of `a` too. oneDNN 2 transposes `a` into
 * a copy first; both sum in the same order.
 *
 * In bf16 our own loops transpose a chunk of `a` and pack a chunk of `b` in VNNI layout: with both left to
 * oneDNN they take as long as the matmul. The columns of `a` are summed just before, which brings the chunk
 * into the cache for the transposition; a separate pass would read all of `a` from memory again.
 */
#include "backend/matmul_internal.h"
#include "base/threads.h"
#include "kernel/layer/layer_kernels.h"

#include <stdatomic.h>
#include <string.h>

enum {
    MAX_A_TILE = 512, /* columns */
    MAX_B_TILE = 256,
    ITEM_B_TILES = 2, /* tiles of a work item */
    CHUNK_ROWS = 256,
    MIN_GROUP_ROWS = 2048,
    MIN_ITEMS = 4,
    REDUCTION_BLOCK = 8192,
};

struct run {
    struct matmul *matmul;
    struct matrix a, b;
    float *gradient, *sums;
    bool vnni;
    bool own;                                 /* in f32 by our own kernel */
    int64_t a_tiles, a_tile, b_tiles, b_tile; /* number of tiles, columns of a tile */
    int64_t groups, group_rows;
    /* [last tile of a][last tile of b][last chunk of rows][adding to the tile] */
    const struct gemm *gemms[2][2][2][2];
    _Atomic int status;
};

static int64_t a_tile_width(const struct run *run, bool last)
{
    return last ? run->a.columns - (run->a_tiles - 1) * run->a_tile : run->a_tile;
}

static int64_t b_tile_width(const struct run *run, bool last)
{
    return last ? run->b.columns - (run->b_tiles - 1) * run->b_tile : run->b_tile;
}

static void choose_tiles(struct run *run)
{
    run->a_tiles = divide_up(run->a.columns, MAX_A_TILE);
    run->b_tiles = divide_up(run->b.columns, MAX_B_TILE);
    run->a_tile = min_i64(run->a.columns, MAX_A_TILE);
    run->b_tile = min_i64(run->b.columns, MAX_B_TILE);
    int64_t wanted = divide_up(MIN_ITEMS, run->a_tiles * divide_up(run->b_tiles, ITEM_B_TILES));
    int64_t groups = min_i64(wanted, divide_up(run->a.rows, MIN_GROUP_ROWS));
    run->group_rows = round_up(divide_up(run->a.rows, groups), CHUNK_ROWS);
    run->groups = divide_up(run->a.rows, run->group_rows);
}

/* A worker's workspace: a chunk of a, a chunk of b (f32: the kernel's workspace), the tiles of an item,
 * column sums. */
static size_t a_bytes(const struct run *run)
{
    if (run->own)
        return matmul_bytes(CHUNK_ROWS * (run->b_tile + LAYER_PRODUCT_PADDING), ROTARY_F32);
    return matmul_bytes(CHUNK_ROWS * run->a_tile, run->a.dtype);
}

static size_t b_bytes(const struct run *run)
{
    if (run->own)
        return 0;
    return matmul_vnni_bytes(CHUNK_ROWS, run->b_tile, run->b.dtype);
}

static size_t tile_bytes(const struct run *run)
{
    return matmul_bytes(run->a_tile * run->b_tile, ROTARY_F32);
}

static size_t sums_bytes(const struct run *run)
{
    return run->sums ? matmul_bytes(run->a_tile, ROTARY_F32) : 0;
}

/* to = from, or to += from. from is contiguous. */
static void copy_or_add(float *to, int64_t stride, const float *from, int64_t rows, int64_t columns,
                        bool adding)
{
    for (int64_t row = 0; row < rows; row++, to += stride, from += columns)
        if (adding)
            for (int64_t i = 0; i < columns; i++)
                to[i] += from[i];
        else
            memcpy(to, from, (size_t)columns * sizeof(float));
}

/* The operand in the layout that the GEMMs read: in place, or a copy at `memory`. */
static const void *prepare_a(const struct run *run, struct matrix a, int64_t rows, void *memory)
{
    if (!run->vnni)
        return matmul_contiguous(a, rows, memory).data;
    int64_t rest = rows - a.rows;
    for (int64_t column = 0; column < a.columns && rest > 0; column++)
        memset((uint16_t *)memory + column * rows + a.rows, 0, (size_t)rest * sizeof(uint16_t));
    run->matmul->kernels->transpose(memory, rows, a.data, a.stride, a.rows, a.columns);
    return memory;
}

static const void *prepare_b(const struct run *run, struct matrix b, int64_t rows, void *memory)
{
    if (!run->vnni)
        return matmul_contiguous(b, rows, memory).data;
    run->matmul->kernels->pack_vnni(memory, b.data, b.stride, b.rows, b.columns); /* pads with zeros */
    return memory;
}

/* A work item: neighbouring tiles of one group of rows. */
struct item {
    int64_t first, end;             /* rows */
    int64_t a_tile, first_b, end_b; /* indices of tiles */
};

/* A group's partial gradient. The partial column sums of all groups follow the last partial gradient. */
static float *partial_of(const struct run *run, int64_t group)
{
    return (float *)(void *)run->matmul->partial.memory + group * run->a.columns * run->b.columns;
}

static float *partial_sums_of(const struct run *run, int64_t group)
{
    return partial_of(run, run->groups) + group * run->a.columns;
}

/* Adds the column sums of a chunk, which began at zero: rounding errors grow with the number of chunks, not
 * of rows. */
static void add_sums(const struct run *run, const struct item *item, const float *sums, int64_t columns,
                     bool adding)
{
    float *to = (run->groups == 1 ? run->sums : partial_sums_of(run, item->first / run->group_rows)) +
                item->a_tile * run->a_tile;
    copy_or_add(to, columns, sums, 1, columns, adding || run->groups == 1);
}

static void sum_columns(const struct run *run, const struct item *item, struct matrix a, float *memory,
                        bool adding)
{
    memset(memory, 0, (size_t)a.columns * sizeof(float));
    run->matmul->kernels->column_sums(memory, a.dtype, a.data, a.rows, a.columns, a.stride);
    add_sums(run, item, memory, a.columns, adding);
}

/* Where a worker sums the tiles of an item, and behind them the columns. */
static unsigned char *tiles_memory(const struct run *run, int worker)
{
    return matmul_workspace(run->matmul, worker) + a_bytes(run) + b_bytes(run);
}

static float *sums_memory(const struct run *run, int worker)
{
    return (float *)(void *)(tiles_memory(run, worker) + ITEM_B_TILES * tile_bytes(run));
}

static struct matrix a_block_of(const struct run *run, const struct item *item, int64_t row, int64_t rows)
{
    return matrix_block(run->a, row, rows, item->a_tile * run->a_tile,
                        a_tile_width(run, item->a_tile == run->a_tiles - 1));
}

static struct matrix b_block_of(const struct run *run, int64_t tile, int64_t row, int64_t rows)
{
    return matrix_block(run->b, row, rows, tile * run->b_tile, b_tile_width(run, tile == run->b_tiles - 1));
}

/* Adds a chunk of rows to the tiles of an item, by our own kernel. */
static void sum_own_chunk(const struct run *run, const struct item *item, int worker, int64_t row,
                          bool adding)
{
    unsigned char *memory = matmul_workspace(run->matmul, worker), *tile = tiles_memory(run, worker);
    int64_t rows = min_i64(CHUNK_ROWS, item->end - row);
    struct matrix a = a_block_of(run, item, row, rows);
    float *sums = run->sums && item->first_b == 0 ? sums_memory(run, worker) : NULL;
    for (int64_t i = item->first_b; i < item->end_b; i++, tile += tile_bytes(run)) {
        struct matrix b = b_block_of(run, i, row, rows);
        const struct layer_product product = {.rows = rows,
                                              .a = a.data,
                                              .b = b.data,
                                              .a_columns = a.columns,
                                              .b_columns = b.columns,
                                              .a_stride = a.stride,
                                              .b_stride = b.stride,
                                              .to = (float *)(void *)tile,
                                              .adding = adding,
                                              .a_sums = i == 0 ? sums : NULL,
                                              .workspace = (float *)(void *)memory};
        run->matmul->kernels->add_product(&product);
    }
    if (sums)
        add_sums(run, item, sums, a.columns, adding);
}

/* Computes it by GEMMs. All tiles of the item read the same transposed chunk of `a`. */
static int sum_chunk(const struct run *run, const struct item *item, int worker, int64_t row, bool adding)
{
    const struct matmul *matmul = run->matmul;
    unsigned char *memory = matmul_workspace(matmul, worker);
    unsigned char *b_memory = memory + a_bytes(run), *tile = tiles_memory(run, worker);
    int64_t rows = min_i64(CHUNK_ROWS, item->end - row), planned = matmul_planned_rows(rows);
    bool last_a = item->a_tile == run->a_tiles - 1;
    struct matrix a_block = a_block_of(run, item, row, rows);
    if (run->sums && item->first_b == 0)
        sum_columns(run, item, a_block, sums_memory(run, worker), adding);
    const void *a = prepare_a(run, a_block, planned, memory);
    for (int64_t i = item->first_b; i < item->end_b; i++, tile += tile_bytes(run)) {
        bool last_b = i == run->b_tiles - 1;
        const void *b = prepare_b(run, b_block_of(run, i, row, rows), planned, b_memory);
        const struct gemm_operands operands = {.source = a, .weights = b, .destination = tile};
        int status =
            gemm_run(matmul->gemms, run->gemms[last_a][last_b][rows < CHUNK_ROWS][adding], worker, &operands);
        if (status != 0)
            return status;
    }
    return 0;
}

static void sum_item(void *argument, int64_t index, int worker)
{
    struct run *run = argument;
    int64_t across = divide_up(run->b_tiles, ITEM_B_TILES), group = index / across / run->a_tiles;
    struct item item = {.first = group * run->group_rows,
                        .a_tile = index / across % run->a_tiles,
                        .first_b = index % across * ITEM_B_TILES};
    item.end = min_i64(item.first + run->group_rows, run->a.rows);
    item.end_b = min_i64(item.first_b + ITEM_B_TILES, run->b_tiles);
    for (int64_t row = item.first; row < item.end; row += CHUNK_ROWS) {
        int status = 0;
        if (run->own)
            sum_own_chunk(run, &item, worker, row, row > item.first);
        else
            status = sum_chunk(run, &item, worker, row, row > item.first);
        if (status != 0)
            run->status = status;
    }
    int64_t stride = run->b.columns;
    float *gradient =
        (run->groups == 1 ? run->gradient : partial_of(run, group)) + item.a_tile * run->a_tile * stride;
    unsigned char *tile = tiles_memory(run, worker);
    for (int64_t i = item.first_b; i < item.end_b; i++, tile += tile_bytes(run))
        copy_or_add(gradient + i * run->b_tile, stride, (const float *)(const void *)tile,
                    a_tile_width(run, item.a_tile == run->a_tiles - 1),
                    b_tile_width(run, i == run->b_tiles - 1), run->groups == 1);
}

static void add_groups(void *argument, int64_t index, int worker)
{
    (void)worker;
    struct run *run = argument;
    int64_t count = run->a.columns * run->b.columns;
    int64_t first = index * REDUCTION_BLOCK, end = min_i64(first + REDUCTION_BLOCK, count);
    for (int64_t group = 0; group < run->groups; group++) {
        const float *partial = partial_of(run, group);
        for (int64_t i = first; i < end; i++)
            run->gradient[i] += partial[i];
    }
    for (int64_t group = 0; run->sums && index == 0 && group < run->groups; group++)
        copy_or_add(run->sums, run->a.columns, partial_sums_of(run, group), 1, run->a.columns, true);
}

static int find_gemms(struct run *run)
{
    int status = 0;
    int64_t rest = run->a.rows % CHUNK_ROWS;
    for (int i = 0; i < 16 && status == 0; i++) {
        int last_a = i & 1, last_b = i >> 1 & 1, last_rows = i >> 2 & 1, adding = i >> 3;
        if ((run->a_tiles == 1 && !last_a) || (run->b_tiles == 1 && !last_b) || (last_rows && rest == 0) ||
            (!last_rows && run->a.rows < CHUNK_ROWS))
            continue;
        int64_t a_columns = a_tile_width(run, last_a), b_columns = b_tile_width(run, last_b);
        int64_t rows = last_rows ? matmul_planned_rows(rest) : CHUNK_ROWS;
        struct gemm_shape shape = {.rows = a_columns,
                                   .columns = b_columns,
                                   .inner = rows,
                                   .source_row = run->vnni ? rows : 1,
                                   .source_column = run->vnni ? 1 : a_columns,
                                   .weights_row = run->vnni ? GEMM_VNNI : b_columns,
                                   .destination_row = b_columns,
                                   .type = run->a.dtype,
                                   .destination_type = ROTARY_F32,
                                   .epilogue = adding ? GEMM_EPILOGUE_SUM : GEMM_EPILOGUE_NONE};
        status = gemm_find(run->matmul->gemms, &run->gemms[last_a][last_b][last_rows][adding], &shape, NULL);
    }
    return status;
}

static rotary_status reserve(const struct run *run, rotary_error *error)
{
    struct matmul *matmul = run->matmul;
    int64_t count = run->groups == 1 ? 0 : run->groups * run->a.columns * (run->b.columns + 1);
    rotary_status status = matmul_reserve_workspace(
        matmul, a_bytes(run) + b_bytes(run) + ITEM_B_TILES * tile_bytes(run) + sums_bytes(run), error);
    if (status != ROTARY_OK || (size_t)count * sizeof(float) <= matmul->partial.capacity)
        return status;
    struct rotary_arena partial = {0};
    rotary_arena_push(&partial, count, sizeof(float));
    status = rotary_arena_allocate(&partial, "the gradient of a weight", error);
    if (status != ROTARY_OK)
        return status;
    rotary_arena_free(&matmul->partial);
    matmul->partial = partial;
    return ROTARY_OK;
}

/* The column sums of `a` alone: chunks of rows are summed as in sum_chunk. */
static rotary_status sum_all_columns(struct run *run, rotary_error *error)
{
    rotary_status status =
        matmul_reserve_workspace(run->matmul, matmul_bytes(run->a.columns, ROTARY_F32), error);
    if (status != ROTARY_OK)
        return status;
    run->a_tile = run->a.columns;
    run->groups = 1;
    for (int64_t row = 0; row < run->a.rows; row += CHUNK_ROWS) {
        const struct item item = {.first = row};
        sum_columns(run, &item, matrix_rows(run->a, row, min_i64(CHUNK_ROWS, run->a.rows - row)),
                    (float *)(void *)matmul_workspace(run->matmul, 0), true);
    }
    return ROTARY_OK;
}

rotary_status matmul_gradient(struct matmul *matmul, const struct backend_weight_gradient *call,
                              rotary_error *error)
{
    struct matrix a = call->a, b = call->b;
    if (a.rows == 0 || (!call->gradient && !call->sums))
        return ROTARY_OK;
    struct run run = {.matmul = matmul,
                      .a = a,
                      .b = b,
                      .gradient = call->gradient,
                      .sums = call->sums,
                      .vnni = matmul->vnni && a.dtype == ROTARY_BF16,
                      .own = matmul->kernels->add_product && a.dtype == ROTARY_F32};
    if (!run.gradient)
        return sum_all_columns(&run, error);
    choose_tiles(&run);
    rotary_status reserved = reserve(&run, error);
    if (reserved != ROTARY_OK)
        return reserved;
    int status = run.own ? 0 : find_gemms(&run);
    if (status == 0) {
        int64_t items = run.groups * run.a_tiles * divide_up(run.b_tiles, ITEM_B_TILES);
        rotary_parallel_for(matmul->threads, items, sum_item, &run);
        status = run.status;
    }
    if (status != 0)
        return gemm_fail(error, status, "the gradient of a weight");
    if (run.groups > 1)
        rotary_parallel_for(matmul->threads, divide_up(a.columns * b.columns, REDUCTION_BLOCK), add_groups,
                            &run);
    return ROTARY_OK;
}
