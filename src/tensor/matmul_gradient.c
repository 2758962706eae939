/* SPDX-License-Identifier: Apache-2.0
 *
 * gradient += left^T right, summed over many rows. The gradient is cut into tiles, the rows into groups; a
 * tile of a group is one piece of work and sums its rows chunk by chunk. Where there is more than one group,
 * each has a gradient of its own, and they are added in order.
 *
 * In bf16 a chunk of `left` is transposed and one of `right` interleaved by our own loops: oneDNN doing both
 * takes as long as the product itself. Columns of `left` are summed just before, which fetches the chunk for
 * the transposition: a pass of its own would bring all of `left` from memory once more.
 */
#include "base/threads.h"
#include "kernel/layer/layer_kernels.h"
#include "tensor/matmul_internal.h"

#include <stdatomic.h>
#include <string.h>

enum {
    LEFT_COLUMNS = 512, /* of a tile, at most */
    RIGHT_COLUMNS = 256,
    RIGHT_TILES = 2, /* of one piece of work */
    CHUNK_ROWS = 256,
    GROUP_ROWS = 2048, /* at least */
    ITEMS_WANTED = 4,
    REDUCTION_BLOCK = 8192,
};

struct run {
    const struct compute *compute;
    struct matmul *matmul;
    struct matrix left, right;
    float *gradient, *sums;
    bool vnni;
    int64_t tiles_left, tile_left, tiles_right, tile_right; /* number and columns */
    int64_t groups, group_rows;
    /* Of a full or last tile left, right; a full or last chunk of rows; overwriting or adding. */
    const struct gemm *gemms[2][2][2][2];
    _Atomic int status;
};

static int64_t width_left(const struct run *run, bool last)
{
    return last ? run->left.columns - (run->tiles_left - 1) * run->tile_left : run->tile_left;
}

static int64_t width_right(const struct run *run, bool last)
{
    return last ? run->right.columns - (run->tiles_right - 1) * run->tile_right : run->tile_right;
}

static void cut(struct run *run)
{
    run->tiles_left = matmul_divide_up(run->left.columns, LEFT_COLUMNS);
    run->tiles_right = matmul_divide_up(run->right.columns, RIGHT_COLUMNS);
    run->tile_left = matmul_min(run->left.columns, LEFT_COLUMNS);
    run->tile_right = matmul_min(run->right.columns, RIGHT_COLUMNS);
    int64_t wanted =
        matmul_divide_up(ITEMS_WANTED, run->tiles_left * matmul_divide_up(run->tiles_right, RIGHT_TILES));
    int64_t groups = matmul_min(wanted, matmul_divide_up(run->left.rows, GROUP_ROWS));
    run->group_rows = matmul_round_up(matmul_divide_up(run->left.rows, groups), CHUNK_ROWS);
    run->groups = matmul_divide_up(run->left.rows, run->group_rows);
}

/* What a worker has in its dense memory: operands of a chunk, and the tile. */
static size_t left_bytes(const struct run *run)
{
    return matmul_bytes(CHUNK_ROWS * run->tile_left, run->left.dtype);
}

static size_t right_bytes(const struct run *run)
{
    return matmul_vnni_bytes(CHUNK_ROWS, run->tile_right, run->right.dtype);
}

static size_t tile_bytes(const struct run *run)
{
    return matmul_bytes(run->tile_left * run->tile_right, ROTARY_F32);
}

static size_t sums_bytes(const struct run *run)
{
    return run->sums ? matmul_bytes(run->tile_left, ROTARY_F32) : 0;
}

/* to = from, or to += from, where from is dense f32. */
static void deliver(float *to, int64_t stride, const float *from, int64_t rows, int64_t columns, bool adding)
{
    for (int64_t row = 0; row < rows; row++, to += stride, from += columns)
        if (adding)
            for (int64_t i = 0; i < columns; i++)
                to[i] += from[i];
        else
            memcpy(to, from, (size_t)columns * sizeof(float));
}

/* Brings operands into the order the pieces want, at the given memory; gives where they are. */
static const void *prepare_left(const struct run *run, struct matrix left, void *memory)
{
    if (!run->vnni)
        return matmul_densified(left, memory).data;
    run->compute->kernels->transpose(memory, left.rows, left.data, left.stride, left.rows, left.columns);
    return memory;
}

static const void *prepare_right(const struct run *run, struct matrix right, void *memory)
{
    if (!run->vnni)
        return matmul_densified(right, memory).data;
    run->compute->kernels->pack_vnni(memory, right.data, right.stride, right.rows, right.columns);
    return memory;
}

/* A piece of work: tiles beside one another, of a group of rows. */
struct item {
    int64_t first, past; /* rows */
    int64_t tile_left, first_right, past_right;
};

/* A group's own gradient and, behind those of all groups, its own sums. */
static float *partial_of(const struct run *run, int64_t group)
{
    return (float *)(void *)run->matmul->partial.memory + group * run->left.columns * run->right.columns;
}

static float *partial_sums_of(const struct run *run, int64_t group)
{
    return partial_of(run, run->groups) + group * run->left.columns;
}

/* Sums a chunk of rows of a tile by itself, and then adds it: sums of many rows stay as exact as those of
 * few. */
static void sum_columns(const struct run *run, const struct item *item, struct matrix left, float *memory,
                        bool adding)
{
    float *to = (run->groups == 1 ? run->sums : partial_sums_of(run, item->first / run->group_rows)) +
                item->tile_left * run->tile_left;
    memset(memory, 0, (size_t)left.columns * sizeof(float));
    run->compute->kernels->column_sums(memory, left.dtype, left.data, left.rows, left.columns, left.stride);
    deliver(to, left.columns, memory, 1, left.columns, adding || run->groups == 1);
}

/* Adds a chunk of rows to the tiles of an item. The transposed `left` serves all of them. */
static int sum_chunk(const struct run *run, const struct item *item, int worker, int64_t row, bool adding)
{
    const struct matmul *matmul = run->matmul;
    unsigned char *memory = matmul_dense(matmul, worker);
    unsigned char *right_memory = memory + left_bytes(run), *tile = right_memory + right_bytes(run);
    int64_t rows = matmul_min(CHUNK_ROWS, item->past - row);
    bool last_left = item->tile_left == run->tiles_left - 1;
    struct matrix left_part =
        matrix_part(run->left, row, rows, item->tile_left * run->tile_left, width_left(run, last_left));
    if (run->sums && item->first_right == 0)
        sum_columns(run, item, left_part, (float *)(void *)(tile + RIGHT_TILES * tile_bytes(run)), adding);
    const void *left = prepare_left(run, left_part, memory);
    for (int64_t i = item->first_right; i < item->past_right; i++, tile += tile_bytes(run)) {
        bool last_right = i == run->tiles_right - 1;
        const void *right = prepare_right(
            run, matrix_part(run->right, row, rows, i * run->tile_right, width_right(run, last_right)),
            right_memory);
        int status = gemm_run(matmul->gemms, run->gemms[last_left][last_right][rows < CHUNK_ROWS][adding],
                              worker, left, right, NULL, NULL, tile);
        if (status != 0)
            return status;
    }
    return 0;
}

static void sum_item(void *argument, int64_t index, int worker)
{
    struct run *run = argument;
    int64_t across = matmul_divide_up(run->tiles_right, RIGHT_TILES),
            group = index / across / run->tiles_left;
    struct item item = {.first = group * run->group_rows,
                        .tile_left = index / across % run->tiles_left,
                        .first_right = index % across * RIGHT_TILES};
    item.past = matmul_min(item.first + run->group_rows, run->left.rows);
    item.past_right = matmul_min(item.first_right + RIGHT_TILES, run->tiles_right);
    for (int64_t row = item.first; row < item.past; row += CHUNK_ROWS) {
        int status = sum_chunk(run, &item, worker, row, row > item.first);
        if (status != 0)
            run->status = status;
    }
    int64_t stride = run->right.columns;
    float *whole = (run->groups == 1 ? run->gradient : partial_of(run, group)) +
                   item.tile_left * run->tile_left * stride;
    unsigned char *tile = matmul_dense(run->matmul, worker) + left_bytes(run) + right_bytes(run);
    for (int64_t i = item.first_right; i < item.past_right; i++, tile += tile_bytes(run))
        deliver(whole + i * run->tile_right, stride, (const float *)(const void *)tile,
                width_left(run, item.tile_left == run->tiles_left - 1),
                width_right(run, i == run->tiles_right - 1), run->groups == 1);
}

static void add_groups(void *argument, int64_t index, int worker)
{
    (void)worker;
    struct run *run = argument;
    int64_t count = run->left.columns * run->right.columns;
    int64_t first = index * REDUCTION_BLOCK, past = matmul_min(first + REDUCTION_BLOCK, count);
    for (int64_t group = 0; group < run->groups; group++) {
        const float *partial = partial_of(run, group);
        for (int64_t i = first; i < past; i++)
            run->gradient[i] += partial[i];
    }
    for (int64_t group = 0; run->sums && index == 0 && group < run->groups; group++)
        deliver(run->sums, run->left.columns, partial_sums_of(run, group), 1, run->left.columns, true);
}

static int find_gemms(struct run *run)
{
    int status = 0;
    int64_t rest = run->left.rows % CHUNK_ROWS;
    for (int i = 0; i < 16 && status == 0; i++) {
        int last_left = i & 1, last_right = i >> 1 & 1, last_rows = i >> 2 & 1, adding = i >> 3;
        if ((run->tiles_left == 1 && !last_left) || (run->tiles_right == 1 && !last_right) ||
            (last_rows && rest == 0) || (!last_rows && run->left.rows < CHUNK_ROWS))
            continue;
        int64_t left = width_left(run, last_left), right = width_right(run, last_right);
        int64_t rows = last_rows ? rest : CHUNK_ROWS;
        struct gemm_shape shape = {.rows = left,
                                   .columns = right,
                                   .inner = rows,
                                   .source_row = run->vnni ? rows : 1,
                                   .source_column = run->vnni ? 1 : left,
                                   .weights_row = run->vnni ? GEMM_VNNI : right,
                                   .destination_row = right,
                                   .type = run->left.dtype,
                                   .destination_type = ROTARY_F32,
                                   .epilogue = adding ? GEMM_ADD : GEMM_PLAIN};
        status = gemm_find(run->matmul->gemms, &run->gemms[last_left][last_right][last_rows][adding], &shape,
                           NULL);
    }
    return status;
}

static rotary_status reserve(const struct run *run, rotary_error *error)
{
    struct matmul *matmul = run->matmul;
    int64_t count = run->groups == 1 ? 0 : run->groups * run->left.columns * (run->right.columns + 1);
    rotary_status status = matmul_reserve_dense(
        matmul, left_bytes(run) + right_bytes(run) + RIGHT_TILES * tile_bytes(run) + sums_bytes(run), error);
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

rotary_status matmul_gradient(const struct compute *compute, float *gradient, float *sums, struct matrix left,
                              struct matrix right, rotary_error *error)
{
    if (left.rows == 0)
        return ROTARY_OK;
    struct matmul *matmul = compute->matmul;
    struct run run = {.compute = compute,
                      .matmul = matmul,
                      .left = left,
                      .right = right,
                      .gradient = gradient,
                      .sums = sums,
                      .vnni = matmul->vnni && left.dtype == ROTARY_BF16};
    cut(&run);
    rotary_status reserved = reserve(&run, error);
    if (reserved != ROTARY_OK)
        return reserved;
    int threads = gemm_serial_begin();
    int status = find_gemms(&run);
    if (status == 0) {
        int64_t items = run.groups * run.tiles_left * matmul_divide_up(run.tiles_right, RIGHT_TILES);
        rotary_parallel_for(compute->threads, items, sum_item, &run);
        status = run.status;
    }
    gemm_serial_end(threads);
    if (status != 0)
        return gemm_fail(error, status, "the gradient of a weight");
    if (run.groups > 1)
        rotary_parallel_for(compute->threads, matmul_divide_up(left.columns * right.columns, REDUCTION_BLOCK),
                            add_groups, &run);
    return ROTARY_OK;
}
