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
    LINE_COLUMNS = 64,        /* oneDNN groups columns so in its packed layouts */
    PANEL_COLUMNS = 512,      /* of a weight, at most; */
    PANEL_ELEMENTS = 1 << 18, /* a panel stays in the second-level cache */
    BLOCK_ELEMENTS = 1 << 19, /* and so do the rows multiplied with it, */
    BLOCK_ROWS_LEAST = 128,   /* which are so many where there are enough of them */
    BLOCK_ROWS_MOST = 512,
    BLOCKS_WANTED = 32,
    ROWS_MULTIPLE = 32,
    TILE_COLUMNS = 512, /* of the two matrices, whose product is a tile of a gradient, at most */
    TILE_ROWS = 512,    /* summed in one piece */
    GROUP_ROWS = 2048,  /* summed into one partial gradient, at least */
    GRADIENT_ITEMS = 16,
    REDUCTION_BLOCK = 8192,
};

struct products {
    struct pieces *pieces;
    /* Dense copies of what is strided, [threads][bytes]: oneDNN's fast code takes dense operands only. */
    unsigned char *dense;
    size_t dense_bytes;
    int threads;
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
    made->threads = threads;
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
    free(products->dense);
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

int64_t products_slow(const struct products *products)
{
    return pieces_slow(products->pieces);
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
    int64_t fitting = PANEL_ELEMENTS / inner / LINE_COLUMNS * LINE_COLUMNS;
    fitting = fitting < LINE_COLUMNS ? LINE_COLUMNS : smaller(fitting, PANEL_COLUMNS);
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

/* ---- Dense copies. ---- */

static bool is_dense(struct matrix m)
{
    return m.stride == m.columns;
}

static size_t bytes_of(int64_t elements, rotary_dtype dtype)
{
    return rotary_align((size_t)elements * rotary_dtype_size(dtype));
}

static rotary_status reserve_dense(struct products *products, size_t bytes, rotary_error *error)
{
    if (bytes <= products->dense_bytes)
        return ROTARY_OK;
    unsigned char *dense = aligned_alloc(ROTARY_ALIGNMENT, bytes * (size_t)products->threads);
    if (!dense)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for matrix products");
    free(products->dense);
    products->dense = dense;
    products->dense_bytes = bytes;
    return ROTARY_OK;
}

static unsigned char *dense_of(const struct products *products, int worker)
{
    return products->dense + (size_t)worker * products->dense_bytes;
}

static struct matrix part_of(struct matrix m, int64_t row, int64_t rows, int64_t column, int64_t columns)
{
    struct matrix part = matrix_rows(m, row, rows);
    part.data = (char *)part.data + (size_t)column * rotary_dtype_size(m.dtype);
    part.columns = columns;
    return part;
}

static void copy(struct matrix to, struct matrix from)
{
    size_t size = rotary_dtype_size(from.dtype);
    for (int64_t row = 0; row < from.rows; row++)
        memcpy((char *)to.data + (size_t)(row * to.stride) * size,
               (const char *)from.data + (size_t)(row * from.stride) * size, (size_t)from.columns * size);
}

/* `m` itself if it is dense, else a copy of it at `memory`. */
static struct matrix dense(struct matrix m, void *memory)
{
    if (is_dense(m))
        return m;
    struct matrix copied = matrix_of(memory, m.dtype, m.rows, m.columns);
    copy(copied, m);
    return copied;
}

/* ---- out = finish(in weight + bias). ---- */

struct run {
    const struct products *products;
    const struct packed_weight *weight;
    struct matrix out, in;
    const float *bias;
    const struct piece *pieces[2][2]; /* full or last block of rows; full or last panel */
    int64_t blocks, block_rows;
    _Atomic int status;
};

static int64_t choose_block_rows(int64_t rows, int64_t inner)
{
    int64_t fitting = BLOCK_ELEMENTS / inner / ROWS_MULTIPLE * ROWS_MULTIPLE;
    fitting = fitting < BLOCK_ROWS_LEAST ? BLOCK_ROWS_LEAST : smaller(fitting, BLOCK_ROWS_MOST);
    return smaller(fitting, divide_up(divide_up(rows, BLOCKS_WANTED), ROWS_MULTIPLE) * ROWS_MULTIPLE);
}

static void run_block(void *argument, int64_t block, int worker)
{
    struct run *run = argument;
    const struct packed_weight *weight = run->weight;
    int64_t row = block * run->block_rows, rows = smaller(run->block_rows, run->in.rows - row);
    unsigned char *memory = dense_of(run->products, worker);
    struct matrix in = dense(matrix_rows(run->in, row, rows), memory);
    memory += bytes_of(run->block_rows * run->in.columns, run->in.dtype);
    for (int i = 0; i < weight->count; i++) {
        int64_t column = i * weight->panel_columns;
        struct matrix out = part_of(run->out, row, rows, column, panel_width(weight, i == weight->count - 1));
        void *to = is_dense(out) ? out.data : memory;
        int status =
            piece_run(run->products->pieces, run->pieces[block == run->blocks - 1][i == weight->count - 1],
                      worker, in.data, NULL, weight->panels[i], run->bias ? run->bias + column : NULL, to);
        if (status != 0)
            run->status = status;
        if (to != out.data)
            copy(out, matrix_of(to, out.dtype, rows, out.columns));
    }
}

static int run_pieces(struct run *run, enum product_finish finish)
{
    static const enum piece_finish finishes[] = {
        [PRODUCT_PLAIN] = PIECE_PLAIN, [PRODUCT_RELU] = PIECE_RELU, [PRODUCT_GELU] = PIECE_GELU};
    int status = 0;
    for (int i = 0; i < 4 && status == 0; i++) {
        int last_block = i / 2, last_panel = i % 2;
        if ((run->blocks == 1 && !last_block) || (run->weight->count == 1 && !last_panel))
            continue;
        int64_t inner = run->weight->inner, columns = panel_width(run->weight, last_panel);
        struct piece_shape shape = {.rows = last_block ? run->in.rows - (run->blocks - 1) * run->block_rows
                                                       : run->block_rows,
                                    .columns = columns,
                                    .inner = inner,
                                    .source_row = inner,
                                    .source_column = 1,
                                    .destination_row = columns,
                                    .type = run->in.dtype,
                                    .destination_type = run->out.dtype,
                                    .bias = run->bias != NULL,
                                    .finish = finishes[finish]};
        status = piece_find(run->products->pieces, &run->pieces[last_block][last_panel], &shape,
                            run->weight->plans[last_panel]);
    }
    return status;
}

rotary_status product_run(const struct compute *compute, struct matrix out, struct matrix in,
                          const struct packed_weight *weight, const float *bias, enum product_finish finish,
                          rotary_error *error)
{
    if (in.rows == 0)
        return ROTARY_OK;
    struct run run = {.products = compute->products,
                      .weight = weight,
                      .out = out,
                      .in = in,
                      .bias = bias,
                      .block_rows = choose_block_rows(in.rows, weight->inner)};
    run.blocks = divide_up(in.rows, run.block_rows);
    rotary_status reserved = reserve_dense(compute->products,
                                           bytes_of(run.block_rows * in.columns, in.dtype) +
                                               bytes_of(run.block_rows * weight->panel_columns, out.dtype),
                                           error);
    if (reserved != ROTARY_OK)
        return reserved;
    int threads = pieces_serial_begin();
    int status = run_pieces(&run, finish);
    if (status == 0) {
        rotary_parallel_for(compute->threads, run.blocks, run_block, &run);
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
    int64_t tiles_left, tile_left, tiles_right, tile_right; /* number and columns */
    int64_t groups, group_rows;
    /* Of a full or last tile left, right; a full or last chunk of rows; overwriting or adding. */
    const struct piece *pieces[2][2][2][2];
    _Atomic int status;
};

static void gradient_cut(struct gradient_run *run)
{
    run->tiles_left = divide_up(run->left.columns, TILE_COLUMNS);
    run->tiles_right = divide_up(run->right.columns, TILE_COLUMNS);
    run->tile_left = smaller(run->left.columns, TILE_COLUMNS);
    run->tile_right = smaller(run->right.columns, TILE_COLUMNS);
    int64_t wanted = divide_up(GRADIENT_ITEMS, run->tiles_left * run->tiles_right);
    int64_t groups = smaller(wanted, divide_up(run->left.rows, GROUP_ROWS));
    run->group_rows = divide_up(divide_up(run->left.rows, groups), TILE_ROWS) * TILE_ROWS;
    run->groups = divide_up(run->left.rows, run->group_rows);
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

static void gradient_tile(void *argument, int64_t index, int worker)
{
    struct gradient_run *run = argument;
    const struct products *products = run->products;
    int64_t tile_right = index % run->tiles_right, tile_left = index / run->tiles_right % run->tiles_left;
    int64_t group = index / run->tiles_right / run->tiles_left;
    int64_t first = group * run->group_rows, past = smaller(first + run->group_rows, run->left.rows);
    int64_t column_left = tile_left * run->tile_left, column_right = tile_right * run->tile_right;
    int64_t width_left = smaller(run->tile_left, run->left.columns - column_left);
    int64_t width_right = smaller(run->tile_right, run->right.columns - column_right);
    unsigned char *left_memory = dense_of(products, worker);
    unsigned char *right_memory = left_memory + bytes_of(TILE_ROWS * run->tile_left, run->left.dtype);
    float *tile = (float *)(void *)(right_memory + bytes_of(TILE_ROWS * run->tile_right, run->right.dtype));
    for (int64_t row = first; row < past; row += TILE_ROWS) {
        int64_t rows = smaller(TILE_ROWS, past - row);
        struct matrix left = dense(part_of(run->left, row, rows, column_left, width_left), left_memory);
        struct matrix right = dense(part_of(run->right, row, rows, column_right, width_right), right_memory);
        const struct piece *piece =
            run->pieces[tile_left == run->tiles_left - 1][tile_right == run->tiles_right - 1]
                       [rows < TILE_ROWS][row > first];
        int status = piece_run(products->pieces, piece, worker, left.data, right.data, NULL, NULL, tile);
        if (status != 0)
            run->status = status;
    }
    int64_t stride = run->right.columns;
    float *whole = run->groups == 1 ? run->gradient : products->partial + group * run->left.columns * stride;
    deliver(whole + column_left * stride + column_right, stride, tile, width_left, width_right,
            run->groups == 1);
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
    int64_t rest = run->left.rows % TILE_ROWS;
    for (int i = 0; i < 16 && status == 0; i++) {
        int last_left = i & 1, last_right = i >> 1 & 1, last_rows = i >> 2 & 1, adding = i >> 3;
        if ((run->tiles_left == 1 && !last_left) || (run->tiles_right == 1 && !last_right) ||
            (last_rows && rest == 0) || (!last_rows && run->left.rows < TILE_ROWS))
            continue;
        int64_t width_left =
            last_left ? run->left.columns - (run->tiles_left - 1) * run->tile_left : run->tile_left;
        int64_t width_right =
            last_right ? run->right.columns - (run->tiles_right - 1) * run->tile_right : run->tile_right;
        struct piece_shape shape = {.rows = width_left,
                                    .columns = width_right,
                                    .inner = last_rows ? rest : TILE_ROWS,
                                    .source_row = 1,
                                    .source_column = width_left,
                                    .weights_row = width_right,
                                    .destination_row = width_right,
                                    .type = run->left.dtype,
                                    .destination_type = ROTARY_F32,
                                    .finish = adding ? PIECE_ADD : PIECE_PLAIN};
        status = piece_find(run->products->pieces, &run->pieces[last_left][last_right][last_rows][adding],
                            &shape, NULL);
    }
    return status;
}

static rotary_status gradient_memory(struct gradient_run *run, rotary_error *error)
{
    struct products *products = run->products;
    int64_t count = run->groups == 1 ? 0 : run->groups * run->left.columns * run->right.columns;
    rotary_status status = reserve_dense(products,
                                         bytes_of(TILE_ROWS * run->tile_left, run->left.dtype) +
                                             bytes_of(TILE_ROWS * run->tile_right, run->right.dtype) +
                                             bytes_of(run->tile_left * run->tile_right, ROTARY_F32),
                                         error);
    if (status != ROTARY_OK || count <= products->partial_count)
        return status;
    float *partial = aligned_alloc(ROTARY_ALIGNMENT, bytes_of(count, ROTARY_F32));
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
    gradient_cut(&run);
    rotary_status reserved = gradient_memory(&run, error);
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
