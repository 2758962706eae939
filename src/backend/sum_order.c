/* SPDX-License-Identifier: Apache-2.0
 *
 * How oneDNN adds up the products of a matmul: its version, the processor and the shape decide whether there
 * is one sum, or sums of blocks of rows of the weight that are then added. It is found by trying, so that our
 * own kernel for single rows gives the same bits or is not used.
 */
#include "backend/matmul_internal.h"
#include "base/element.h"

#include <stdlib.h>
#include <string.h>

struct trial {
    const struct matmul *matmul;
    rotary_dtype dtype;
    int64_t rows, inner, columns;
    void *in, *panel;    /* [rows, inner], and in strips */
    float *wanted, *got; /* [rows, columns] */
};

/* Numbers of both signs, of sizes that make another order another sum: between 2^-8 and 2^6, so that even the
 * sums of few products of bf16, which have 16 bits, are rounded. */
static void fill(void *values, rotary_dtype dtype, int64_t count, uint32_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const uint32_t high = (seed >> 31) << 15 | (0x3b80u + (seed >> 16) % 0x700u);
        if (dtype == ROTARY_BF16)
            ((uint16_t *)values)[i] = (uint16_t)high;
        else
            ((uint32_t *)values)[i] = high << 16 | (seed >> 8 & 0xffffu);
    }
}

/* Rows of the weight behind the last are zero. */
static void clear_padding(const struct trial *trial)
{
    const size_t size = rotary_dtype_size(trial->dtype),
                 bytes = (size_t)matmul_strip_bytes(trial->dtype, trial->inner);
    const int64_t pair = trial->dtype == ROTARY_BF16 ? 2 : 1,
                  padded = (int64_t)(bytes / size) / LAYER_VNNI_COLUMNS,
                  strips = divide_up(trial->columns, LAYER_VNNI_COLUMNS);
    for (int64_t strip = 0; strip < strips; strip++)
        for (int64_t row = trial->inner; row < padded; row++)
            for (int64_t column = 0; column < LAYER_VNNI_COLUMNS; column++)
                rotary_set_element(trial->panel,
                                   (strip * padded + row / pair * pair) * LAYER_VNNI_COLUMNS + pair * column +
                                       row % pair,
                                   trial->dtype, 0.0f);
}

static bool run_onednn(const struct trial *trial)
{
    const struct gemm_shape shape = {.rows = trial->rows,
                                     .columns = trial->columns,
                                     .inner = trial->inner,
                                     .source_row = trial->inner,
                                     .source_column = 1,
                                     .weights_row = GEMM_VNNI,
                                     .destination_row = trial->columns,
                                     .type = trial->dtype,
                                     .destination_type = ROTARY_F32,
                                     .epilogue = GEMM_EPILOGUE_NONE};
    const struct gemm_operands operands = {
        .source = trial->in, .weights = trial->panel, .destination = trial->wanted};
    const struct gemm *gemm;
    return gemm_find(trial->matmul->gemms, &gemm, &shape, NULL) == 0 &&
           gemm_run(trial->matmul->gemms, gemm, 0, &operands) == 0;
}

/* Whether our kernel gives what oneDNN gave. */
static bool is_alike(const struct trial *trial, struct layer_sum_order order)
{
    for (int64_t row = 0; row < trial->rows; row++) {
        const struct layer_row work = {.in = (const char *)trial->in +
                                             (size_t)(row * trial->inner) * rotary_dtype_size(trial->dtype),
                                       .inner = trial->inner,
                                       .order = order,
                                       .columns = trial->columns,
                                       .panel = trial->panel,
                                       .out_type = ROTARY_F32,
                                       .out = trial->got + row * trial->columns};
        trial->matmul->kernels->multiply_row[trial->dtype](&work);
    }
    return memcmp(trial->got, trial->wanted, (size_t)(trial->rows * trial->columns) * sizeof *trial->got) ==
           0;
}

/* Asks it in as many trials as make COMPARED sums: fewer could be alike by chance. */
static bool is_always_alike(const struct trial *trial, struct layer_sum_order order)
{
    enum { COMPARED = 512 };
    for (int64_t compared = 0; compared < COMPARED; compared += trial->rows * trial->columns) {
        fill(trial->in, trial->dtype, trial->rows * trial->inner, (uint32_t)compared);
        if (!run_onednn(trial) || !is_alike(trial, order))
            return false;
    }
    return true;
}

static struct layer_sum_order find_order(const struct trial *trial)
{
    /* A tile of AMX has 32 values of a row of bf16. */
    const struct layer_sum_order whole = {round_up(trial->inner, 2), false}, tiles = {32, true};
    static const int64_t blocks[] = {1024, 512, 256, 128, 64};
    if (!trial->in || !trial->panel || !trial->wanted || !trial->got)
        return (struct layer_sum_order){0};
    if (is_always_alike(trial, whole))
        return whole;
    if (trial->dtype == ROTARY_BF16 && is_always_alike(trial, tiles))
        return tiles;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const struct layer_sum_order order = {blocks[i], false};
        if (order.block < whole.block && is_always_alike(trial, order))
            return order;
    }
    return (struct layer_sum_order){0};
}

struct layer_sum_order matmul_sum_order(const struct matmul *matmul, rotary_dtype dtype, int64_t inner,
                                        int64_t columns)
{
    struct sum_orders *orders = matmul->orders;
    for (int i = 0; i < orders->count; i++)
        if (orders->known[i].dtype == dtype && orders->known[i].inner == inner &&
            orders->known[i].columns == columns)
            return orders->known[i].order;
    const int64_t rows = max_i64(2, matmul_fewest_rows(matmul, dtype, columns));
    const size_t size = rotary_dtype_size(dtype),
                 bytes = (size_t)(divide_up(columns, LAYER_VNNI_COLUMNS) * matmul_strip_bytes(dtype, inner));
    struct trial trial = {.matmul = matmul,
                          .dtype = dtype,
                          .rows = rows,
                          .inner = inner,
                          .columns = columns,
                          .in = calloc((size_t)(rows * inner), size),
                          .panel = aligned_alloc(64, rotary_align(bytes)),
                          .wanted = calloc((size_t)(rows * columns), sizeof(float)),
                          .got = calloc((size_t)(rows * columns), sizeof(float))};
    if (trial.panel) {
        fill(trial.panel, dtype, (int64_t)(bytes / size), 2);
        clear_padding(&trial);
    }
    const struct layer_sum_order order = find_order(&trial);
    if (orders->count < SUM_ORDERS)
        orders->known[orders->count++] = (struct sum_order){dtype, inner, columns, order};
    free(trial.in);
    free(trial.panel);
    free(trial.wanted);
    free(trial.got);
    return order;
}
