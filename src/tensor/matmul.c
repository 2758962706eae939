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
#include "kernel/layer/layer_kernels.h"
#include "tensor/matmul_internal.h"
#include "tensor/onednn.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIP_COLUMNS = LAYER_VNNI_COLUMNS, /* oneDNN groups columns so in its packed layouts too */
    PANEL_COLUMNS = 512,                /* of a weight, at most; */
    PANEL_ELEMENTS = 1 << 18,           /* a panel stays in the second-level cache */
    BLOCK_ELEMENTS = 1 << 18,           /* and so do the rows multiplied with it, */
    MIN_BLOCK_ROWS = 128,               /* which are so many where there are enough of them */
    MAX_BLOCK_ROWS = 512,
    BLOCKS_WANTED = 32,
    ROWS_MULTIPLE = 32,
    NONTEMPORAL_BYTES = 1 << 21, /* a result this large will not be in a cache when it is read again */
};

struct packed_weight {
    int64_t inner, columns, panel_columns;
    bool transposed;
    struct rotary_arena data; /* [count][bytes] */
    size_t bytes;             /* of a panel */
    int count;
    bool vnni;                   /* by our own loops; else: */
    struct panel_plan *plans[2]; /* of a full panel, of the last one */
    struct panel **panels;
};

rotary_status matmul_create(struct matmul **matmul, int threads, rotary_isa isa, rotary_error *error)
{
    struct matmul *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for matrix products");
    made->threads = threads;
    rotary_status status = gemms_create(&made->gemms, threads, isa, error);
    if (status == ROTARY_OK)
        *matmul = made;
    else
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
    free(matmul);
}

bool matmul_bf16_is_fast(void)
{
    return gemm_bf16_is_fast();
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
    int threads = gemm_serial_begin();
    bool works = gemm_probe(matmul->gemms, &shape) != GEMM_UNSUPPORTED;
    shape.weights_row = GEMM_VNNI;
    matmul->vnni = gemm_probe(matmul->gemms, &shape) == GEMM_OPTIMIZED;
    gemm_serial_end(threads);
    return works;
}

int64_t matmul_reference_gemms(const struct matmul *matmul)
{
    return gemms_reference(matmul->gemms);
}

/* ---- Weights, packed. ---- */

static int64_t panel_width(const struct packed_weight *weight, int last)
{
    return last ? weight->columns - (weight->count - 1) * weight->panel_columns : weight->panel_columns;
}

static unsigned char *panel_data(const struct packed_weight *weight, int64_t index)
{
    return weight->data.memory + (size_t)index * weight->bytes;
}

static int make_panels(struct packed_weight *weight, const struct compute *compute)
{
    const struct gemms *gemms = compute->matmul->gemms;
    int status = 0;
    if (weight->vnni)
        weight->bytes = matmul_vnni_bytes(weight->inner, weight->panel_columns, compute->storage);
    for (int last = 0; last < 2 && status == 0 && !weight->vnni; last++) {
        status = panel_plan_create(&weight->plans[last], gemms, compute->storage, weight->inner,
                                   panel_width(weight, last), weight->transposed,
                                   weight->transposed ? weight->inner : weight->columns);
        if (status == 0 && panel_plan_bytes(weight->plans[last]) > weight->bytes)
            weight->bytes = panel_plan_bytes(weight->plans[last]);
    }
    if (status != 0)
        return status;
    rotary_arena_push(&weight->data, weight->count, weight->bytes);
    if (rotary_arena_allocate(&weight->data, "a packed weight", NULL) != ROTARY_OK)
        return GEMM_NO_MEMORY;
    if (weight->vnni)
        return 0;
    weight->panels = calloc((size_t)weight->count, sizeof(struct panel *));
    if (!weight->panels)
        return GEMM_NO_MEMORY;
    for (int i = 0; i < weight->count && status == 0; i++)
        status = panel_create(&weight->panels[i], gemms, weight->plans[i == weight->count - 1],
                              panel_data(weight, i));
    return status;
}

rotary_status packed_weight_create(struct packed_weight **weight, const struct compute *compute,
                                   int64_t inner, int64_t columns, bool transposed, rotary_error *error)
{
    struct packed_weight *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for packed weights");
    int64_t fit = PANEL_ELEMENTS / inner / STRIP_COLUMNS * STRIP_COLUMNS;
    fit = fit < STRIP_COLUMNS ? STRIP_COLUMNS : matmul_min(fit, PANEL_COLUMNS);
    made->inner = inner;
    made->columns = columns;
    made->panel_columns = matmul_min(fit, columns);
    made->count = (int)matmul_divide_up(columns, made->panel_columns);
    made->transposed = transposed;
    made->vnni = compute->matmul->vnni && compute->storage == ROTARY_BF16;
    int threads = gemm_serial_begin();
    int status = make_panels(made, compute);
    gemm_serial_end(threads);
    if (status != 0) {
        packed_weight_destroy(made);
        return gemm_fail(error, status, "packed weights");
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
    rotary_arena_free(&weight->data);
    free(weight);
}

size_t packed_weight_bytes(const struct packed_weight *weight)
{
    return weight->bytes * (size_t)weight->count;
}

struct fill {
    const struct packed_weight *weight;
    const struct matmul *matmul;
    const struct layer_kernels *kernels;
    const float *source;
    _Atomic int status;
};

/* LINE_COLUMNS columns of an interleaved weight, through rounded copies that stay in the cache. */
static void fill_strip(void *argument, int64_t index, int worker)
{
    const struct fill *fill = argument;
    const struct packed_weight *weight = fill->weight;
    const struct layer_kernels *kernels = fill->kernels;
    int64_t inner = weight->inner, column = index * STRIP_COLUMNS,
            columns = matmul_min(STRIP_COLUMNS, weight->columns - column);
    uint16_t *strip = (void *)matmul_workspace(fill->matmul, worker), *rows = strip + inner * STRIP_COLUMNS;
    if (weight->transposed) {
        kernels->to_storage(ROTARY_BF16, rows, fill->source + column * inner, columns * inner);
        kernels->transpose(strip, STRIP_COLUMNS, rows, inner, columns, inner);
    } else
        for (int64_t row = 0; row < inner; row++)
            kernels->to_storage(ROTARY_BF16, strip + row * STRIP_COLUMNS,
                                fill->source + row * weight->columns + column, columns);
    int64_t panel = column / weight->panel_columns, within = column - panel * weight->panel_columns;
    uint16_t *to = (void *)panel_data(weight, panel);
    int64_t padded = matmul_round_up(inner, LAYER_VNNI_ROWS);
    kernels->pack_vnni(to + within * padded, strip, STRIP_COLUMNS, inner, columns);
}

static void fill_panel(void *argument, int64_t index, int worker)
{
    struct fill *fill = argument;
    const struct packed_weight *weight = fill->weight;
    int64_t column = index * weight->panel_columns;
    int status = panel_fill(weight->panels[index], fill->matmul->gemms, worker,
                            fill->source + column * (weight->transposed ? weight->inner : 1));
    if (status != 0)
        fill->status = status;
}

rotary_status packed_weight_fill(struct packed_weight *weight, const struct compute *compute,
                                 const float *source, rotary_error *error)
{
    struct matmul *matmul = compute->matmul;
    struct fill fill = {.weight = weight, .matmul = matmul, .kernels = compute->kernels, .source = source};
    if (weight->vnni) {
        rotary_status status = matmul_reserve_workspace(
            matmul, matmul_bytes(2 * weight->inner * STRIP_COLUMNS, ROTARY_BF16), error);
        if (status == ROTARY_OK)
            rotary_parallel_for(compute->threads, matmul_divide_up(weight->columns, STRIP_COLUMNS),
                                fill_strip, &fill);
        return status;
    }
    int threads = gemm_serial_begin();
    rotary_parallel_for(compute->threads, weight->count, fill_panel, &fill);
    gemm_serial_end(threads);
    return fill.status ? gemm_fail(error, fill.status, "packing of weights") : ROTARY_OK;
}

/* ---- Dense copies. ---- */

rotary_status matmul_reserve_workspace(struct matmul *matmul, size_t bytes, rotary_error *error)
{
    if (bytes <= matmul->workspace_bytes)
        return ROTARY_OK;
    struct rotary_arena workspace = {0};
    rotary_arena_push(&workspace, matmul->threads, bytes);
    rotary_status status = rotary_arena_allocate(&workspace, "the operands of a matrix product", error);
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

struct matrix matmul_contiguous(struct matrix m, void *memory)
{
    if (matrix_is_contiguous(m))
        return m;
    struct matrix contiguous = matrix_of(memory, m.dtype, m.rows, m.columns);
    copy(contiguous, m);
    return contiguous;
}

/* ---- out = finish(in weight + bias). ---- */

struct run {
    const struct matmul *matmul;
    const struct layer_kernels *kernels;
    const struct packed_weight *weight;
    struct matrix out, in;
    const float *bias;
    const struct gemm *gemms[2][2]; /* full or last block of rows; full or last panel */
    int64_t blocks, block_rows;
    bool nontemporal; /* the results of panels go past the caches */
    _Atomic int status;
};

static int64_t choose_block_rows(int64_t rows, int64_t inner)
{
    int64_t fit = BLOCK_ELEMENTS / inner / ROWS_MULTIPLE * ROWS_MULTIPLE;
    fit = fit < MIN_BLOCK_ROWS ? MIN_BLOCK_ROWS : matmul_min(fit, MAX_BLOCK_ROWS);
    return matmul_min(fit,
                      matmul_divide_up(matmul_divide_up(rows, BLOCKS_WANTED), ROWS_MULTIPLE) * ROWS_MULTIPLE);
}

static void run_block(void *argument, int64_t block, int worker)
{
    struct run *run = argument;
    const struct packed_weight *weight = run->weight;
    int64_t size = (int64_t)rotary_dtype_size(run->out.dtype);
    int64_t row = block * run->block_rows, rows = matmul_min(run->block_rows, run->in.rows - row);
    unsigned char *memory = matmul_workspace(run->matmul, worker);
    struct matrix in = matmul_contiguous(matrix_rows(run->in, row, rows), memory);
    memory += matmul_bytes(run->block_rows * run->in.columns, run->in.dtype);
    for (int i = 0; i < weight->count; i++) {
        int64_t column = i * weight->panel_columns;
        struct matrix out =
            matrix_block(run->out, row, rows, column, panel_width(weight, i == weight->count - 1));
        void *to = matrix_is_contiguous(out) ? out.data : memory;
        int status =
            gemm_run(run->matmul->gemms, run->gemms[block == run->blocks - 1][i == weight->count - 1], worker,
                     in.data, panel_data(weight, i), weight->panels ? weight->panels[i] : NULL,
                     run->bias ? run->bias + column : NULL, to);
        if (status != 0)
            run->status = status;
        if (to == out.data)
            continue;
        if (run->nontemporal)
            run->kernels->copy_nontemporal(out.data, out.stride * size, to, rows, out.columns * size);
        else
            copy(out, matrix_of(to, out.dtype, rows, out.columns));
    }
}

static int find_gemms(struct run *run, enum matmul_epilogue epilogue)
{
    int status = 0;
    for (int i = 0; i < 4 && status == 0; i++) {
        int last_block = i / 2, last_panel = i % 2;
        if ((run->blocks == 1 && !last_block) || (run->weight->count == 1 && !last_panel))
            continue;
        int64_t inner = run->weight->inner, columns = panel_width(run->weight, last_panel);
        struct gemm_shape shape = {
            .rows = last_block ? run->in.rows - (run->blocks - 1) * run->block_rows : run->block_rows,
            .columns = columns,
            .inner = inner,
            .source_row = inner,
            .source_column = 1,
            .weights_row = run->weight->vnni ? GEMM_VNNI : GEMM_PACKED,
            .destination_row = columns,
            .type = run->in.dtype,
            .destination_type = run->out.dtype,
            .bias = run->bias != NULL,
            .epilogue = epilogue == MATMUL_EPILOGUE_RELU ? GEMM_EPILOGUE_RELU : GEMM_EPILOGUE_NONE};
        status = gemm_find(run->matmul->gemms, &run->gemms[last_block][last_panel], &shape,
                           run->weight->plans[last_panel]);
    }
    return status;
}

rotary_status matmul_run(const struct compute *compute, struct matrix out, struct matrix in,
                         const struct packed_weight *weight, const float *bias, enum matmul_epilogue epilogue,
                         rotary_error *error)
{
    if (in.rows == 0)
        return ROTARY_OK;
    struct run run = {.matmul = compute->matmul,
                      .kernels = compute->kernels,
                      .nontemporal = matmul_bytes(out.rows * out.columns, out.dtype) >= NONTEMPORAL_BYTES,
                      .weight = weight,
                      .out = out,
                      .in = in,
                      .bias = bias,
                      .block_rows = choose_block_rows(in.rows, weight->inner)};
    run.blocks = matmul_divide_up(in.rows, run.block_rows);
    rotary_status reserved =
        matmul_reserve_workspace(compute->matmul,
                                 matmul_bytes(run.block_rows * in.columns, in.dtype) +
                                     matmul_bytes(run.block_rows * weight->panel_columns, out.dtype),
                                 error);
    if (reserved != ROTARY_OK)
        return reserved;
    int threads = gemm_serial_begin();
    int status = find_gemms(&run, epilogue);
    if (status == 0) {
        rotary_parallel_for(compute->threads, run.blocks, run_block, &run);
        status = run.status;
    }
    gemm_serial_end(threads);
    return status == 0 ? ROTARY_OK : gemm_fail(error, status, "a matrix product");
}
