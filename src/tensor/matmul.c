/* SPDX-License-Identifier: Apache-2.0
 *
 * out = epilogue(in weight + bias), cut into GEMMs: a block of rows of `in` times a panel of columns of the
 * weight. A thread multiplies its block with every panel.
 */
#include "tensor/matmul.h"

#include "base/fail.h"
#include "base/threads.h"
#include "tensor/matmul_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIP_COLUMNS = LAYER_VNNI_COLUMNS, /* the group of columns of oneDNN's own packed layouts too */
    MAX_PANEL_COLUMNS = 512,
    MAX_PANEL_ELEMENTS = 1 << 18, /* a panel stays in the L2 cache, */
    MAX_BLOCK_ELEMENTS = 1 << 18, /* and so does the block of rows multiplied with it */
    MIN_BLOCK_ROWS = 128,         /* exceed MAX_BLOCK_ELEMENTS rather than be fewer */
    MAX_BLOCK_ROWS = 512,
    MIN_BLOCKS = 32, /* where there are enough rows: work for many threads */
    ROWS_MULTIPLE = 32,
    NONTEMPORAL_BYTES = 1 << 21, /* a larger result does not stay in a cache until it is read */
};

struct packed_weight {
    struct packed_weight_config config;
    int64_t panel_columns;
    struct rotary_arena data; /* [count][bytes] */
    size_t bytes;             /* of a panel */
    int count;
    bool vnni;                   /* packed by pack_vnni, without plans and panels; else by oneDNN */
    struct panel_plan *plans[2]; /* of a full panel; of the last panel */
    struct panel **panels;
};

rotary_status matmul_create(struct matmul **matmul, int threads, rotary_isa isa,
                            const struct layer_kernels *kernels, rotary_error *error)
{
    struct matmul *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for matmuls");
    made->threads = threads;
    made->kernels = kernels;
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

/* ---- Packed weights. ---- */

static int64_t panel_width(const struct packed_weight *weight, int last)
{
    return last ? weight->config.columns - (weight->count - 1) * weight->panel_columns
                : weight->panel_columns;
}

static unsigned char *panel_data(const struct packed_weight *weight, int64_t index)
{
    return weight->data.memory + (size_t)index * weight->bytes;
}

static int create_panels(struct packed_weight *weight, const struct gemms *gemms)
{
    const struct packed_weight_config *config = &weight->config;
    int status = 0;
    if (weight->vnni)
        weight->bytes = matmul_vnni_bytes(config->inner, weight->panel_columns, config->dtype);
    for (int last = 0; last < 2 && status == 0 && !weight->vnni; last++) {
        const struct panel_shape shape = {.dtype = config->dtype,
                                          .inner = config->inner,
                                          .columns = panel_width(weight, last),
                                          .transposed = config->transposed,
                                          .source_row = config->transposed ? config->inner : config->columns};
        status = panel_plan_create(&weight->plans[last], gemms, &shape);
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

rotary_status packed_weight_create(struct packed_weight **weight, const struct matmul *matmul,
                                   const struct packed_weight_config *config, rotary_error *error)
{
    struct packed_weight *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for packed weights");
    int64_t fit = MAX_PANEL_ELEMENTS / config->inner / STRIP_COLUMNS * STRIP_COLUMNS;
    fit = fit < STRIP_COLUMNS ? STRIP_COLUMNS : min_i64(fit, MAX_PANEL_COLUMNS);
    made->config = *config;
    made->panel_columns = min_i64(fit, config->columns);
    made->count = (int)divide_up(config->columns, made->panel_columns);
    made->vnni = matmul->vnni && config->dtype == ROTARY_BF16;
    int threads = gemm_serial_begin();
    int status = create_panels(made, matmul->gemms);
    gemm_serial_end(threads);
    if (status != 0) {
        packed_weight_destroy(made);
        return gemm_fail(error, status, "creating a packed weight");
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
    const float *source;
    _Atomic int status;
};

/* Packs STRIP_COLUMNS columns in VNNI layout. The bf16 copies in between stay in the cache. */
static void fill_strip(void *argument, int64_t index, int worker)
{
    const struct fill *fill = argument;
    const struct packed_weight *weight = fill->weight;
    const struct layer_kernels *kernels = fill->matmul->kernels;
    int64_t inner = weight->config.inner, column = index * STRIP_COLUMNS,
            columns = min_i64(STRIP_COLUMNS, weight->config.columns - column);
    uint16_t *strip = (void *)matmul_workspace(fill->matmul, worker), *rows = strip + inner * STRIP_COLUMNS;
    if (weight->config.transposed) {
        kernels->to_storage(ROTARY_BF16, rows, fill->source + column * inner, columns * inner);
        kernels->transpose(strip, STRIP_COLUMNS, rows, inner, columns, inner);
    } else
        for (int64_t row = 0; row < inner; row++)
            kernels->to_storage(ROTARY_BF16, strip + row * STRIP_COLUMNS,
                                fill->source + row * weight->config.columns + column, columns);
    int64_t panel = column / weight->panel_columns, within = column - panel * weight->panel_columns;
    uint16_t *to = (void *)panel_data(weight, panel);
    int64_t padded = round_up(inner, LAYER_VNNI_ROWS);
    kernels->pack_vnni(to + within * padded, strip, STRIP_COLUMNS, inner, columns);
}

static void fill_panel(void *argument, int64_t index, int worker)
{
    struct fill *fill = argument;
    const struct packed_weight *weight = fill->weight;
    int64_t column = index * weight->panel_columns;
    int status = panel_fill(weight->panels[index], fill->matmul->gemms, worker,
                            fill->source + column * (weight->config.transposed ? weight->config.inner : 1));
    if (status != 0)
        fill->status = status;
}

rotary_status packed_weight_fill(struct packed_weight *weight, struct matmul *matmul, const float *source,
                                 rotary_error *error)
{
    struct fill fill = {.weight = weight, .matmul = matmul, .source = source};
    if (weight->vnni) {
        rotary_status status = matmul_reserve_workspace(
            matmul, matmul_bytes(2 * weight->config.inner * STRIP_COLUMNS, ROTARY_BF16), error);
        if (status == ROTARY_OK)
            rotary_parallel_for(matmul->threads, divide_up(weight->config.columns, STRIP_COLUMNS), fill_strip,
                                &fill);
        return status;
    }
    int threads = gemm_serial_begin();
    rotary_parallel_for(matmul->threads, weight->count, fill_panel, &fill);
    gemm_serial_end(threads);
    return fill.status ? gemm_fail(error, fill.status, "packing a weight") : ROTARY_OK;
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

struct matrix matmul_contiguous(struct matrix m, void *memory)
{
    if (matrix_is_contiguous(m))
        return m;
    struct matrix contiguous = matrix_of(memory, m.dtype, m.rows, m.columns);
    copy(contiguous, m);
    return contiguous;
}

/* ---- out = epilogue(in weight + bias). ---- */

struct run {
    const struct matmul *matmul;
    struct matmul_call call;
    const struct gemm *gemms[2][2]; /* [last block of rows][last panel] */
    int64_t blocks, block_rows;
    bool nontemporal; /* results are stored past the caches */
    _Atomic int status;
};

static int64_t choose_block_rows(int64_t rows, int64_t inner)
{
    int64_t fit = MAX_BLOCK_ELEMENTS / inner / ROWS_MULTIPLE * ROWS_MULTIPLE;
    fit = fit < MIN_BLOCK_ROWS ? MIN_BLOCK_ROWS : min_i64(fit, MAX_BLOCK_ROWS);
    return min_i64(fit, round_up(divide_up(rows, MIN_BLOCKS), ROWS_MULTIPLE));
}

static void run_block(void *argument, int64_t block, int worker)
{
    struct run *run = argument;
    const struct packed_weight *weight = run->call.weight;
    int64_t size = (int64_t)rotary_dtype_size(run->call.out.dtype);
    int64_t row = block * run->block_rows, rows = min_i64(run->block_rows, run->call.in.rows - row);
    unsigned char *memory = matmul_workspace(run->matmul, worker);
    struct matrix in = matmul_contiguous(matrix_rows(run->call.in, row, rows), memory);
    memory += matmul_bytes(run->block_rows * run->call.in.columns, run->call.in.dtype);
    for (int i = 0; i < weight->count; i++) {
        int64_t column = i * weight->panel_columns;
        bool last_panel = i == weight->count - 1;
        struct matrix out = matrix_block(run->call.out, row, rows, column, panel_width(weight, last_panel));
        void *to = matrix_is_contiguous(out) ? out.data : memory;
        const struct gemm_operands operands = {.source = in.data,
                                               .weights = panel_data(weight, i),
                                               .panel = weight->panels ? weight->panels[i] : NULL,
                                               .bias = run->call.bias ? run->call.bias + column : NULL,
                                               .destination = to};
        int status =
            gemm_run(run->matmul->gemms, run->gemms[block == run->blocks - 1][last_panel], worker, &operands);
        if (status != 0)
            run->status = status;
        if (to == out.data)
            continue;
        if (run->nontemporal)
            run->matmul->kernels->copy_nontemporal(out.data, out.stride * size, to, rows, out.columns * size);
        else
            copy(out, matrix_of(to, out.dtype, rows, out.columns));
    }
}

static int find_gemms(struct run *run)
{
    int status = 0;
    for (int i = 0; i < 4 && status == 0; i++) {
        int last_block = i / 2, last_panel = i % 2;
        if ((run->blocks == 1 && !last_block) || (run->call.weight->count == 1 && !last_panel))
            continue;
        int64_t inner = run->call.weight->config.inner, columns = panel_width(run->call.weight, last_panel);
        struct gemm_shape shape = {
            .rows = last_block ? run->call.in.rows - (run->blocks - 1) * run->block_rows : run->block_rows,
            .columns = columns,
            .inner = inner,
            .source_row = inner,
            .source_column = 1,
            .weights_row = run->call.weight->vnni ? GEMM_VNNI : GEMM_PACKED,
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

rotary_status matmul_run(struct matmul *matmul, const struct matmul_call *call, rotary_error *error)
{
    struct matrix in = call->in, out = call->out;
    if (in.rows == 0)
        return ROTARY_OK;
    struct run run = {.matmul = matmul,
                      .call = *call,
                      .nontemporal = matmul_bytes(out.rows * out.columns, out.dtype) >= NONTEMPORAL_BYTES,
                      .block_rows = choose_block_rows(in.rows, call->weight->config.inner)};
    run.blocks = divide_up(in.rows, run.block_rows);
    rotary_status status =
        matmul_reserve_workspace(matmul,
                                 matmul_bytes(run.block_rows * in.columns, in.dtype) +
                                     matmul_bytes(run.block_rows * call->weight->panel_columns, out.dtype),
                                 error);
    if (status != ROTARY_OK)
        return status;
    int threads = gemm_serial_begin();
    int failure = find_gemms(&run);
    if (failure == 0) {
        rotary_parallel_for(matmul->threads, run.blocks, run_block, &run);
        failure = run.status;
    }
    gemm_serial_end(threads);
    return failure == 0 ? ROTARY_OK : gemm_fail(error, failure, "a matmul");
}
