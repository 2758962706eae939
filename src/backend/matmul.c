/* SPDX-License-Identifier: Apache-2.0
 *
 * out = epilogue(in weight + bias), cut into GEMMs: a block of rows of `in` times a panel of columns of the
 * weight. A thread multiplies its block with every panel, or, where there are few blocks, with some.
 */
#include "backend/matmul.h"

#include "backend/matmul_internal.h"
#include "base/fail.h"
#include "base/threads.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_BLOCK_ELEMENTS = 1 << 18, /* a block of rows stays in the L2 cache beside a panel */
    MIN_BLOCK_ROWS = 128,         /* takes precedence over MAX_BLOCK_ELEMENTS */
    MAX_BLOCK_ROWS = 512,
    MIN_BLOCKS = 32,    /* where there are enough rows, or panels: work for many threads */
    CONSUMED_ROWS = 64, /* at most, of a tile that is consumed */
    CONSUMED_MULTIPLE = 8,
    NONTEMPORAL_BYTES = 1 << 21, /* a larger result does not stay in a cache until it is read */
};

rotary_status matmul_create(struct matmul **matmul, int threads, rotary_isa isa,
                            const struct layer_kernels *kernels, rotary_error *error)
{
    struct matmul *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for matmuls");
    made->threads = threads;
    made->kernels = kernels;
    made->orders = calloc(1, sizeof *made->orders);
    rotary_status status = made->orders ? gemms_create(&made->gemms, threads, isa, error)
                                        : rotary_fail_memory(error, "for matmuls");
    if (status == ROTARY_OK) {
        made->amx = gemm_bf16_isa() == ROTARY_ISA_AMX;
        *matmul = made;
        return ROTARY_OK;
    }
    free(made->orders);
    free(made);
    return status;
}

void matmul_destroy(struct matmul *matmul)
{
    if (!matmul)
        return;
    gemms_destroy(matmul->gemms);
    rotary_arena_free(&matmul->workspace);
    rotary_arena_free(&matmul->partial);
    free(matmul->orders);
    free(matmul);
}

rotary_isa matmul_bf16_isa(void)
{
    return gemm_bf16_isa();
}

bool matmul_prepare_bf16(struct matmul *matmul)
{
    struct gemm_shape shape = {.rows = 64,
                               .columns = 64,
                               .inner = 64,
                               .source_row = 64,
                               .source_column = 1,
                               .weights_row = 64,
                               .destination_row = 64,
                               .type = ROTARY_BF16,
                               .destination_type = ROTARY_F32,
                               .epilogue = GEMM_EPILOGUE_SUM};
    bool works = gemm_probe(matmul->gemms, &shape) != GEMM_UNSUPPORTED;
    shape.weights_row = GEMM_VNNI;
    matmul->vnni = gemm_probe(matmul->gemms, &shape) == GEMM_OPTIMIZED;
    return works;
}

int64_t matmul_planned_gemms(const struct matmul *matmul)
{
    return gemms_planned(matmul->gemms);
}

int64_t matmul_reference_gemms(const struct matmul *matmul)
{
    return gemms_reference(matmul->gemms);
}

/* ---- Contiguous copies. ---- */

rotary_status matmul_reserve_workspace(struct matmul *matmul, size_t bytes, rotary_error *error)
{
    if (bytes <= matmul->workspace_bytes)
        return ROTARY_OK;
    struct rotary_arena workspace = {0};
    rotary_arena_push(&workspace, matmul->threads, bytes);
    rotary_status status = rotary_arena_allocate(&workspace, "the operands of a matmul", error);
    if (status != ROTARY_OK)
        return status;
    rotary_arena_free(&matmul->workspace);
    matmul->workspace = workspace;
    matmul->workspace_bytes = bytes;
    return ROTARY_OK;
}

static void copy(struct matrix to, struct matrix from)
{
    size_t size = rotary_dtype_size(from.dtype);
    for (int64_t row = 0; row < from.rows; row++)
        memcpy((char *)to.data + (size_t)(row * to.stride) * size,
               (const char *)from.data + (size_t)(row * from.stride) * size, (size_t)from.columns * size);
}

struct matrix matmul_contiguous(struct matrix m, int64_t rows, void *memory)
{
    if (matrix_is_contiguous(m) && m.rows == rows)
        return m;
    struct matrix contiguous = matrix_of(memory, m.dtype, rows, m.columns);
    copy(contiguous, m);
    size_t row = (size_t)m.columns * rotary_dtype_size(m.dtype);
    memset((char *)memory + (size_t)m.rows * row, 0, (size_t)(rows - m.rows) * row);
    return contiguous;
}

/* ---- out = epilogue(in weight + bias). ---- */

struct run {
    struct matmul *matmul;
    struct backend_matmul call;
    const struct gemm *gemms[2][2];          /* [last block of rows][last panel] */
    int64_t blocks, block_rows, fewest_rows; /* of a GEMM: matmul_fewest_rows */
    int64_t parts;                           /* of the panels, each an item of a block of rows */
    bool nontemporal;                        /* results are stored past the caches */
    matmul_consumer *consume;                /* instead of storing them; NULL: they are stored */
    void *context;
    _Atomic int status;
};

static int64_t choose_block_rows(int64_t rows, int64_t inner)
{
    int64_t fit = MAX_BLOCK_ELEMENTS / inner / ROWS_MULTIPLE * ROWS_MULTIPLE;
    fit = fit < MIN_BLOCK_ROWS ? MIN_BLOCK_ROWS : min_i64(fit, MAX_BLOCK_ROWS);
    return min_i64(fit, round_up(divide_up(rows, MIN_BLOCKS), ROWS_MULTIPLE));
}

/* Rows of the GEMM of the last block, of which `rows` are wanted. */
static int64_t last_block_rows(const struct run *run, int64_t rows)
{
    return max_i64(run->fewest_rows, matmul_planned_rows(rows));
}

/* Shows a tile to its consumer, or copies it to the output unless it was computed there. */
static void store_tile(const struct run *run, struct matrix tile, int64_t row, int64_t column)
{
    struct matrix all = run->call.out;
    if (run->consume) {
        const struct matmul_tile shown = {.row = row,
                                          .rows = tile.rows,
                                          .column = column,
                                          .columns = tile.columns,
                                          .all_columns = run->call.weight->config.columns,
                                          .data = tile.data};
        run->consume(run->context, &shown);
        return;
    }
    struct matrix out = matrix_block(all, row, tile.rows, column, tile.columns);
    int64_t size = (int64_t)rotary_dtype_size(out.dtype);
    if (tile.data == out.data)
        return;
    if (run->nontemporal)
        run->matmul->kernels->copy_nontemporal(out.data, out.stride * size, tile.data, tile.rows,
                                               tile.columns * size);
    else
        copy(out, tile);
}

/* Where a GEMM of `planned` rows, of which `rows` are wanted, stores a tile: in the output, if it can. */
static void *tile_memory(const struct run *run, struct matrix tile, int64_t row, int64_t column,
                         int64_t planned)
{
    if (run->consume || planned != tile.rows)
        return tile.data;
    struct matrix out = matrix_block(run->call.out, row, tile.rows, column, tile.columns);
    return matrix_is_contiguous(out) ? out.data : tile.data;
}

/* Multiplies the rows of `in`, which is contiguous, with one panel. Returns a status of oneDNN. */
static int multiply_panel(const struct run *run, struct matrix in, bool last_block, int panel, int worker,
                          void *destination)
{
    const struct packed_weight *weight = run->call.weight;
    const float *bias = run->call.bias ? run->call.bias + panel * weight->panel_columns : NULL;
    bool last_panel = panel == weight->count - 1;
    const struct gemm_operands operands = {.source = in.data,
                                           .weights = packed_weight_panel(weight, panel),
                                           .panel = weight->panels ? weight->panels[panel] : NULL,
                                           .bias = bias,
                                           .destination = destination};
    return gemm_run(run->matmul->gemms, run->gemms[last_block][last_panel], worker, &operands);
}

static void run_panel(struct run *run, struct matrix in, int64_t block, int64_t rows, int panel, int worker,
                      unsigned char *memory)
{
    const struct packed_weight *weight = run->call.weight;
    int64_t row = block * run->block_rows, column = panel * weight->panel_columns;
    struct matrix tile = matrix_of(memory, run->call.out.dtype, rows,
                                   packed_weight_panel_columns(weight, panel == weight->count - 1));
    tile.data = tile_memory(run, tile, row, column, in.rows);
    int status = multiply_panel(run, in, block == run->blocks - 1, panel, worker, tile.data);
    if (status != 0)
        run->status = status;
    store_tile(run, tile, row, column);
}

static void run_item(void *argument, int64_t item, int worker)
{
    struct run *run = argument;
    const struct packed_weight *weight = run->call.weight;
    int64_t block = item / run->parts, part = item % run->parts, row = block * run->block_rows,
            rows = min_i64(run->block_rows, run->call.in.rows - row);
    unsigned char *memory = matmul_workspace(run->matmul, worker);
    int64_t planned = block == run->blocks - 1 ? last_block_rows(run, rows) : rows;
    struct matrix in = matmul_contiguous(matrix_rows(run->call.in, row, rows), planned, memory);
    memory +=
        matmul_bytes(round_up(run->block_rows, ROWS_MULTIPLE) * run->call.in.columns, run->call.in.dtype);
    int64_t end = (part + 1) * weight->count / run->parts;
    for (int64_t panel = part * weight->count / run->parts; panel < end; panel++)
        run_panel(run, in, block, rows, (int)panel, worker, memory);
}

/* ---- A single row, by our own kernel. ---- */

static bool is_single(const struct run *run)
{
    const struct packed_weight *weight = run->call.weight;
    return run->call.in.rows == 1 && weight->orders[1].block > 0 &&
           (weight->count == 1 || weight->orders[0].block > 0);
}

static void run_strip(const struct run *run, int64_t strip, unsigned char *memory)
{
    const struct packed_weight *weight = run->call.weight;
    const rotary_dtype dtype = weight->config.dtype;
    const int64_t inner = weight->config.inner, column = strip * LAYER_VNNI_COLUMNS,
                  columns = min_i64(LAYER_VNNI_COLUMNS, weight->config.columns - column),
                  panel = column / weight->panel_columns,
                  within = column % weight->panel_columns / LAYER_VNNI_COLUMNS;
    struct matrix tile = matrix_of(memory, run->call.out.dtype, 1, columns);
    tile.data = run->consume ? memory : matrix_block(run->call.out, 0, 1, column, columns).data;
    const struct layer_row work = {.in = run->call.in.data,
                                   .inner = inner,
                                   .order = weight->orders[panel == weight->count - 1],
                                   .columns = columns,
                                   .panel = packed_weight_panel(weight, panel) +
                                            within * matmul_strip_bytes(dtype, inner),
                                   .bias = run->call.bias ? run->call.bias + column : NULL,
                                   .relu = run->call.epilogue == MATMUL_EPILOGUE_RELU,
                                   .out_type = run->call.out.dtype,
                                   .out = tile.data};
    run->matmul->kernels->multiply_row[dtype](&work);
    store_tile(run, tile, 0, column);
}

/* A strip, or all of them for a consumer. */
static void run_strips(void *argument, int64_t item, int worker)
{
    const struct run *run = argument;
    const int64_t strips = divide_up(run->call.weight->config.columns, LAYER_VNNI_COLUMNS);
    unsigned char *memory = matmul_workspace(run->matmul, worker);
    for (int64_t strip = run->consume ? 0 : item; strip < (run->consume ? strips : item + 1); strip++)
        run_strip(run, strip, memory);
}

/* ---- Several rows, by oneDNN. ---- */

static int find_gemms(struct run *run)
{
    int status = 0;
    for (int i = 0; i < 4 && status == 0; i++) {
        int last_block = i / 2, last_panel = i % 2;
        if ((run->blocks == 1 && !last_block) || (run->call.weight->count == 1 && !last_panel))
            continue;
        int64_t inner = run->call.weight->config.inner,
                columns = packed_weight_panel_columns(run->call.weight, last_panel);
        struct gemm_shape shape = {
            .rows = last_block ? last_block_rows(run, run->call.in.rows - (run->blocks - 1) * run->block_rows)
                               : run->block_rows,
            .columns = columns,
            .inner = inner,
            .source_row = inner,
            .source_column = 1,
            .weights_row = run->call.weight->vnni ? GEMM_VNNI : GEMM_WEIGHT_PANEL,
            .destination_row = columns,
            .type = run->call.in.dtype,
            .destination_type = run->call.out.dtype,
            .bias = run->call.bias != NULL,
            .epilogue = run->call.epilogue == MATMUL_EPILOGUE_RELU ? GEMM_EPILOGUE_RELU : GEMM_EPILOGUE_NONE};
        status = gemm_find(run->matmul->gemms, &run->gemms[last_block][last_panel], &shape,
                           run->call.weight->plans[last_panel]);
    }
    return status;
}

static rotary_status run_all(struct run *run, rotary_error *error)
{
    struct matmul *matmul = run->matmul;
    struct matrix in = run->call.in, out = run->call.out;
    run->fewest_rows =
        matmul_fewest_rows(matmul, in.dtype, packed_weight_panel_columns(run->call.weight, true));
    run->block_rows = max_i64(run->block_rows, run->fewest_rows);
    int64_t rows = round_up(run->block_rows, ROWS_MULTIPLE); /* at most, of a GEMM */
    run->blocks = divide_up(in.rows, run->block_rows);
    /* A consumer is shown the tiles of the same rows by one thread. */
    run->parts = run->consume ? 1 : min_i64(run->call.weight->count, divide_up(MIN_BLOCKS, run->blocks));
    rotary_status status =
        matmul_reserve_workspace(matmul,
                                 matmul_bytes(rows * in.columns, in.dtype) +
                                     matmul_bytes(rows * run->call.weight->panel_columns, out.dtype),
                                 error);
    if (status != ROTARY_OK)
        return status;
    if (is_single(run)) {
        const int64_t strips = divide_up(out.columns, LAYER_VNNI_COLUMNS);
        rotary_parallel_for(matmul->threads, run->consume ? 1 : strips, run_strips, run);
        return ROTARY_OK;
    }
    int failure = find_gemms(run);
    if (failure == 0) {
        rotary_parallel_for(matmul->threads, run->blocks * run->parts, run_item, run);
        failure = run->status;
    }
    return failure == 0 ? ROTARY_OK : gemm_fail(error, failure, "a matmul");
}

rotary_status matmul_run(struct matmul *matmul, const struct backend_matmul *call, rotary_error *error)
{
    struct matrix in = call->in, out = call->out;
    if (in.rows == 0)
        return ROTARY_OK;
    struct run run = {.matmul = matmul,
                      .call = *call,
                      .nontemporal = matmul_bytes(out.rows * out.columns, out.dtype) >= NONTEMPORAL_BYTES,
                      .block_rows = choose_block_rows(in.rows, call->weight->config.inner)};
    return run_all(&run, error);
}

/* Each block of rows reads the whole weight, which a cache does not hold: blocks are few, but equal ones. */
static int64_t choose_consumed_rows(int64_t rows)
{
    int64_t blocks = 2 * divide_up(rows, 2 * CONSUMED_ROWS);
    return round_up(divide_up(rows, blocks), CONSUMED_MULTIPLE);
}

rotary_status matmul_consume(struct matmul *matmul, const struct backend_matmul *call,
                             matmul_consumer *consume, void *context, rotary_error *error)
{
    if (call->in.rows == 0)
        return ROTARY_OK;
    struct run run = {.matmul = matmul,
                      .call = *call,
                      .consume = consume,
                      .context = context,
                      .block_rows = choose_consumed_rows(call->in.rows)};
    return run_all(&run, error);
}
