/* SPDX-License-Identifier: Apache-2.0
 *
 * A piece is a product small enough for one thread: a block of rows by a panel of columns, or a tile of a
 * weight's gradient by a chunk of rows. oneDNN plans each piece for one thread and runs it with memory that
 * is handed to it, so that any worker can run any piece at any time.
 */
#include "tensor/matmul.h"

#include "base/arena.h"
#include "base/fail.h"
#include "base/threads.h"
#include "tensor/onednn.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_BLOCK = 256,          /* rows of a piece of product_run */
    PANEL_ALIGNMENT = 64,     /* columns oneDNN groups in its blocked layouts */
    PANEL_COLUMNS = 512,      /* at most in a piece of product_run, */
    PANEL_ELEMENTS = 1 << 18, /* and its weights take at most this, to stay in the second-level cache */
    TILE_LEFT = 256,          /* a piece of product_gradient: rows and columns of the gradient, */
    TILE_RIGHT = 512,
    TILE_CHUNK = 512,    /* and rows summed over */
    GROUP_ROWS = 2048,   /* rows summed into one partial gradient, at least */
    GRADIENT_ITEMS = 16, /* pieces of work wanted of a gradient */
    REDUCTION_BLOCK = 8192,
};

struct products {
    struct pieces *pieces;
    float *partial; /* gradients of groups of rows, before they are summed */
    int64_t partial_count;
};

struct packed_weight {
    int64_t inner, columns, panel_columns;
    bool transposed;
    unsigned char *data;         /* [count][bytes] */
    size_t bytes;                /* of a panel */
    struct panel_plan *plans[2]; /* of a full panel, of the last one */
    int count;
    struct panel **panels;
};

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

rotary_status products_create(struct products **products, int threads, rotary_isa isa, rotary_error *error)
{
    struct products *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for matrix products");
    rotary_status status = pieces_create(&made->pieces, threads, isa, error);
    if (status == ROTARY_OK)
        *products = made;
    else
        free(made);
    return status;
}

void products_destroy(struct products *products)
{
    if (!products)
        return;
    pieces_destroy(products->pieces);
    free(products->partial);
    free(products);
}

bool products_bf16_is_fast(void)
{
    return pieces_bf16_is_fast();
}

bool products_bf16_works(struct products *products)
{
    const struct piece_shape shape = {.rows = 64,
                                      .columns = 64,
                                      .inner = 64,
                                      .source_row = 64,
                                      .source_column = 1,
                                      .weights_row = 64,
                                      .destination_row = 64,
                                      .type = ROTARY_BF16,
                                      .destination_type = ROTARY_F32,
                                      .finish = PIECE_ADD};
    const struct piece *piece;
    int threads = pieces_serial_begin();
    int status = piece_find(products->pieces, &piece, &shape, NULL);
    pieces_serial_end(threads);
    return status == 0;
}

/* ---- Weights, packed. ---- */

static int64_t panel_width(const struct packed_weight *weight, int last)
{
    return last ? weight->columns - (weight->count - 1) * weight->panel_columns : weight->panel_columns;
}

static int make_panels(struct packed_weight *weight, const struct compute *compute)
{
    const struct pieces *pieces = compute->products->pieces;
    int status = 0;
    for (int last = 0; last < 2 && status == 0; last++) {
        status = panel_plan_create(&weight->plans[last], pieces, compute->storage, weight->inner,
                                   panel_width(weight, last), weight->transposed,
                                   weight->transposed ? weight->inner : weight->columns);
        if (status == 0 && panel_plan_bytes(weight->plans[last]) > weight->bytes)
            weight->bytes = panel_plan_bytes(weight->plans[last]);
    }
    if (status != 0)
        return status;
    weight->data = aligned_alloc(ROTARY_ALIGNMENT, weight->bytes * (size_t)weight->count);
    weight->panels = calloc((size_t)weight->count, sizeof(struct panel *));
    if (!weight->data || !weight->panels)
        return PIECES_NO_MEMORY;
    memset(weight->data, 0, weight->bytes * (size_t)weight->count);
    for (int i = 0; i < weight->count && status == 0; i++)
        status = panel_create(&weight->panels[i], pieces, weight->plans[i == weight->count - 1],
                              weight->data + (size_t)i * weight->bytes);
    return status;
}

rotary_status packed_weight_create(struct packed_weight **weight, const struct compute *compute,
                                   int64_t inner, int64_t columns, bool transposed, rotary_error *error)
{
    struct packed_weight *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for packed weights");
    int64_t fitting = PANEL_ELEMENTS / inner / PANEL_ALIGNMENT * PANEL_ALIGNMENT;
    fitting = fitting < PANEL_ALIGNMENT ? PANEL_ALIGNMENT : smaller(fitting, PANEL_COLUMNS);
    made->inner = inner;
    made->columns = columns;
    made->panel_columns = smaller(fitting, columns);
    made->count = (int)divide_up(columns, made->panel_columns);
    made->transposed = transposed;
    int threads = pieces_serial_begin();
    int status = make_panels(made, compute);
    pieces_serial_end(threads);
    if (status != 0) {
        packed_weight_destroy(made);
        return pieces_fail(error, status, "packed weights");
    }
    *weight = made;
    return ROTARY_OK;
}

void packed_weight_destroy(struct packed_weight *weight)
{
    if (!weight)
        return;
    for (int i = 0; weight->panels && i < weight->count; i++)
        panel_destroy(weight->panels[i]);
    free(weight->panels);
    panel_plan_destroy(weight->plans[0]);
    panel_plan_destroy(weight->plans[1]);
    free(weight->data);
    free(weight);
}

size_t packed_weight_bytes(const struct packed_weight *weight)
{
    return weight->bytes * (size_t)weight->count;
}

struct fill {
    const struct packed_weight *weight;
    const struct pieces *pieces;
    const float *source;
    _Atomic int status;
};

static void fill_panel(void *argument, int64_t index, int worker)
{
    struct fill *fill = argument;
    const struct packed_weight *weight = fill->weight;
    int64_t column = index * weight->panel_columns;
    int status = panel_fill(weight->panels[index], fill->pieces, worker,
                            fill->source + column * (weight->transposed ? weight->inner : 1));
    if (status != 0)
        fill->status = status;
}

rotary_status packed_weight_fill(struct packed_weight *weight, const struct compute *compute,
                                 const float *source, rotary_error *error)
{
    struct fill fill = {.weight = weight, .pieces = compute->products->pieces, .source = source};
    int threads = pieces_serial_begin();
    rotary_parallel_for(compute->threads, weight->count, fill_panel, &fill);
    pieces_serial_end(threads);
    return fill.status ? pieces_fail(error, fill.status, "packing of weights") : ROTARY_OK;
}

/* ---- out = finish(in weight + bias). ---- */

struct run {
    const struct products *products;
    const struct packed_weight *weight;
    struct matrix out, in;
    const float *bias;
    const struct piece *pieces[2][2]; /* full or last block of rows; full or last panel */
    int64_t blocks;
    _Atomic int status;
};

static void run_block(void *argument, int64_t index, int worker)
{
    struct run *run = argument;
    int64_t block = index / run->weight->count, panel = index % run->weight->count;
    const struct piece *piece = run->pieces[block == run->blocks - 1][panel == run->weight->count - 1];
    int64_t row = block * ROW_BLOCK, column = panel * run->weight->panel_columns;
    const char *in =
        (const char *)run->in.data + (size_t)(row * run->in.stride) * rotary_dtype_size(run->in.dtype);
    char *out =
        (char *)run->out.data + (size_t)(row * run->out.stride + column) * rotary_dtype_size(run->out.dtype);
    int status = piece_run(run->products->pieces, piece, worker, in, NULL, run->weight->panels[panel],
                           run->bias ? run->bias + column : NULL, out);
    if (status != 0)
        run->status = status;
}

rotary_status product_run(const struct compute *compute, struct matrix out, struct matrix in,
                          const struct packed_weight *weight, const float *bias, enum product_finish finish,
                          rotary_error *error)
{
    static const enum piece_finish finishes[] = {
        [PRODUCT_PLAIN] = PIECE_PLAIN, [PRODUCT_RELU] = PIECE_RELU, [PRODUCT_GELU] = PIECE_GELU};
    if (in.rows == 0)
        return ROTARY_OK;
    struct run run = {.products = compute->products,
                      .weight = weight,
                      .out = out,
                      .in = in,
                      .bias = bias,
                      .blocks = divide_up(in.rows, ROW_BLOCK)};
    int threads = pieces_serial_begin();
    int status = 0;
    for (int i = 0; i < 4 && status == 0; i++) {
        int last_block = i / 2, last_panel = i % 2;
        if ((run.blocks == 1 && !last_block) || (weight->count == 1 && !last_panel))
            continue;
        struct piece_shape shape = {.rows = last_block ? in.rows - (run.blocks - 1) * ROW_BLOCK : ROW_BLOCK,
                                    .columns = panel_width(weight, last_panel),
                                    .inner = weight->inner,
                                    .source_row = in.stride,
                                    .source_column = 1,
                                    .destination_row = out.stride,
                                    .type = in.dtype,
                                    .destination_type = out.dtype,
                                    .bias = bias != NULL,
                                    .finish = finishes[finish]};
        status = piece_find(compute->products->pieces, &run.pieces[last_block][last_panel], &shape,
                            weight->plans[last_panel]);
    }
    if (status == 0) {
        rotary_parallel_for(compute->threads, run.blocks * weight->count, run_block, &run);
        status = run.status;
    }
    pieces_serial_end(threads);
    return status == 0 ? ROTARY_OK : pieces_fail(error, status, "a matrix product");
}

/* ---- gradient += left^T right. ---- */

struct gradient_run {
    struct products *products;
    struct matrix left, right;
    float *gradient;
    int64_t tiles_left, tiles_right, groups, group_rows;
    /* Of a full or last tile left, right; a full or last chunk; overwriting or adding. */
    const struct piece *pieces[2][2][2][2];
    _Atomic int status;
};

static void gradient_cut(struct gradient_run *run, int64_t rows, int64_t left_columns, int64_t right_columns)
{
    run->tiles_left = divide_up(left_columns, TILE_LEFT);
    run->tiles_right = divide_up(right_columns, TILE_RIGHT);
    int64_t wanted = divide_up(GRADIENT_ITEMS, run->tiles_left * run->tiles_right);
    int64_t groups = smaller(wanted, divide_up(rows, GROUP_ROWS));
    run->group_rows = divide_up(divide_up(rows, groups), TILE_CHUNK) * TILE_CHUNK;
    run->groups = divide_up(rows, run->group_rows);
}

static void gradient_tile(void *argument, int64_t index, int worker)
{
    struct gradient_run *run = argument;
    int64_t tile_right = index % run->tiles_right, tile_left = index / run->tiles_right % run->tiles_left;
    int64_t group = index / run->tiles_right / run->tiles_left;
    int64_t first = group * run->group_rows, past = smaller(first + run->group_rows, run->left.rows);
    int64_t column_left = tile_left * TILE_LEFT, column_right = tile_right * TILE_RIGHT;
    size_t size = rotary_dtype_size(run->left.dtype);
    float *whole = run->groups == 1 ? run->gradient
                                    : run->products->partial + group * run->left.columns * run->right.columns;
    float *tile = whole + column_left * run->right.columns + column_right;
    for (int64_t row = first; row < past; row += TILE_CHUNK) {
        bool adding = row > first || run->groups == 1;
        const struct piece *piece =
            run->pieces[tile_left == run->tiles_left - 1][tile_right == run->tiles_right - 1]
                       [past - row < TILE_CHUNK][adding];
        const char *left =
            (const char *)run->left.data + (size_t)(row * run->left.stride + column_left) * size;
        const char *right =
            (const char *)run->right.data + (size_t)(row * run->right.stride + column_right) * size;
        int status = piece_run(run->products->pieces, piece, worker, left, right, NULL, NULL, tile);
        if (status != 0)
            run->status = status;
    }
}

static void gradient_reduce(void *argument, int64_t index, int worker)
{
    (void)worker;
    struct gradient_run *run = argument;
    int64_t count = run->left.columns * run->right.columns;
    int64_t first = index * REDUCTION_BLOCK, past = smaller(first + REDUCTION_BLOCK, count);
    for (int64_t group = 0; group < run->groups; group++) {
        const float *partial = run->products->partial + group * count;
        for (int64_t i = first; i < past; i++)
            run->gradient[i] += partial[i];
    }
}

static int gradient_pieces(struct gradient_run *run)
{
    int status = 0;
    int64_t rest = run->left.rows % TILE_CHUNK;
    for (int i = 0; i < 16 && status == 0; i++) {
        int last_left = i & 1, last_right = i >> 1 & 1, last_chunk = i >> 2 & 1, adding = i >> 3;
        if ((run->tiles_left == 1 && !last_left) || (run->tiles_right == 1 && !last_right) ||
            (last_chunk && rest == 0) || (!last_chunk && run->left.rows < TILE_CHUNK) ||
            (!adding && run->groups == 1))
            continue;
        struct piece_shape shape = {
            .rows = last_left ? run->left.columns - (run->tiles_left - 1) * TILE_LEFT : TILE_LEFT,
            .columns = last_right ? run->right.columns - (run->tiles_right - 1) * TILE_RIGHT : TILE_RIGHT,
            .inner = last_chunk ? rest : TILE_CHUNK,
            .source_row = 1,
            .source_column = run->left.stride,
            .weights_row = run->right.stride,
            .destination_row = run->right.columns,
            .type = run->left.dtype,
            .destination_type = ROTARY_F32,
            .finish = adding ? PIECE_ADD : PIECE_PLAIN};
        status = piece_find(run->products->pieces, &run->pieces[last_left][last_right][last_chunk][adding],
                            &shape, NULL);
    }
    return status;
}

rotary_status product_gradient_reserve(const struct compute *compute, int64_t rows, int64_t left_columns,
                                       int64_t right_columns, rotary_error *error)
{
    struct products *products = compute->products;
    struct gradient_run run = {0};
    gradient_cut(&run, rows, left_columns, right_columns);
    int64_t count = run.groups == 1 ? 0 : run.groups * left_columns * right_columns;
    if (count <= products->partial_count)
        return ROTARY_OK;
    float *partial = aligned_alloc(ROTARY_ALIGNMENT, rotary_align((size_t)count * sizeof(float)));
    if (!partial)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the gradient of a weight");
    free(products->partial);
    products->partial = partial;
    products->partial_count = count;
    return ROTARY_OK;
}

rotary_status product_gradient(const struct compute *compute, float *gradient, struct matrix left,
                               struct matrix right, rotary_error *error)
{
    if (left.rows == 0)
        return ROTARY_OK;
    struct gradient_run run = {
        .products = compute->products, .left = left, .right = right, .gradient = gradient};
    gradient_cut(&run, left.rows, left.columns, right.columns);
    rotary_status reserved = product_gradient_reserve(compute, left.rows, left.columns, right.columns, error);
    if (reserved != ROTARY_OK)
        return reserved;
    int threads = pieces_serial_begin();
    int status = gradient_pieces(&run);
    if (status == 0) {
        rotary_parallel_for(compute->threads, run.tiles_left * run.tiles_right * run.groups, gradient_tile,
                            &run);
        status = run.status;
    }
    pieces_serial_end(threads);
    if (status != 0)
        return pieces_fail(error, status, "the gradient of a weight");
    if (run.groups > 1)
        rotary_parallel_for(compute->threads, divide_up(left.columns * right.columns, REDUCTION_BLOCK),
                            gradient_reduce, &run);
    return ROTARY_OK;
}
