/* SPDX-License-Identifier: Apache-2.0
 *
 * Packed weights. bf16 is packed in VNNI layout by our own loops where oneDNN multiplies that fast, else a
 * panel has the layout that oneDNN prefers.
 */
#include "backend/matmul_internal.h"
#include "base/fail.h"
#include "base/threads.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    STRIP_COLUMNS = LAYER_VNNI_COLUMNS, /* the group of columns of oneDNN's own packed layouts too */
    MAX_COLUMNS = 512,                  /* of a panel */
    MAX_ELEMENTS = 1 << 18,             /* a panel stays in the L2 cache */
};

static struct panel_shape shape_of(const struct packed_weight *weight, bool last)
{
    const struct packed_weight_config *config = &weight->config;
    return (struct panel_shape){.dtype = config->dtype,
                                .inner = config->inner,
                                .columns = packed_weight_panel_columns(weight, last),
                                .transposed = config->transposed,
                                .source_row = config->transposed ? config->inner : config->columns};
}

/* Whether a full panel, or the last one, is in the strips of struct layer_row. */
static bool has_strips(const struct packed_weight *weight, bool last)
{
    const struct panel_shape shape = shape_of(weight, last);
    return weight->vnni || panel_plan_has_strips(weight->plans[last], &shape);
}

static int create_panels(struct packed_weight *weight, const struct gemms *gemms)
{
    const struct packed_weight_config *config = &weight->config;
    int status = 0;
    if (weight->vnni)
        weight->bytes = matmul_vnni_bytes(config->inner, weight->panel_columns, config->dtype);
    for (int last = 0; last < 2 && status == 0 && !weight->vnni; last++) {
        const struct panel_shape shape = shape_of(weight, last);
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
                              packed_weight_panel(weight, i));
    return status;
}

rotary_status packed_weight_create(struct packed_weight **weight, const struct matmul *matmul,
                                   const struct packed_weight_config *config, rotary_error *error)
{
    struct packed_weight *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for packed weights");
    int64_t fit = MAX_ELEMENTS / config->inner / STRIP_COLUMNS * STRIP_COLUMNS;
    fit = fit < STRIP_COLUMNS ? STRIP_COLUMNS : min_i64(fit, MAX_COLUMNS);
    made->config = *config;
    made->panel_columns = min_i64(fit, config->columns);
    made->count = (int)divide_up(config->columns, made->panel_columns);
    made->vnni = matmul->vnni && config->dtype == ROTARY_BF16;
    int status = create_panels(made, matmul->gemms);
    if (status != 0) {
        packed_weight_destroy(made);
        return gemm_fail(error, status, "creating a packed weight");
    }
    for (int last = made->count == 1; last < 2 && matmul->kernels->multiply_row[config->dtype]; last++)
        if (has_strips(made, last))
            made->orders[last] = matmul_sum_order(matmul, config->dtype, config->inner,
                                                  packed_weight_panel_columns(made, last));
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

/* The source: f32 values, or rows of a stored weight from `first` on, of which the packed weight is
 * transposed. */
struct fill {
    const struct packed_weight *weight;
    const struct matmul *matmul;
    const float *source;
    const struct stored_weight *stored;
    int64_t first;
    _Atomic int status;
};

/* Columns of the packed weight, which are rows of its source, in f32: there, or at `memory`. */
static const float *source_columns(const struct fill *fill, int64_t column, int64_t columns, float *memory)
{
    const int64_t inner = fill->weight->config.inner;
    if (!fill->stored)
        return fill->source + column * inner;
    for (int64_t i = 0; i < columns; i++) {
        const int64_t row = fill->first + column + i;
        const struct stored_rows *part = stored_part(fill->stored, row);
        fill->matmul->kernels->widen(part->dtype, memory + i * inner, stored_row(fill->stored, part, row),
                                     inner);
    }
    return memory;
}

/* Packs STRIP_COLUMNS columns in VNNI layout. The bf16 copies in between stay in the cache. */
static void fill_strip(void *argument, int64_t index, int worker)
{
    const struct fill *fill = argument;
    const struct packed_weight *weight = fill->weight;
    const struct layer_kernels *kernels = fill->matmul->kernels;
    int64_t inner = weight->config.inner, column = index * STRIP_COLUMNS,
            columns = min_i64(STRIP_COLUMNS, weight->config.columns - column);
    uint16_t *strip = (void *)matmul_workspace(fill->matmul, worker), *rows = strip + inner * STRIP_COLUMNS;
    float *wide = fill->stored ? (void *)(matmul_workspace(fill->matmul, worker) +
                                          matmul_bytes(2 * inner * STRIP_COLUMNS, ROTARY_BF16))
                               : NULL;
    if (weight->config.transposed) {
        kernels->to_storage(ROTARY_BF16, rows, source_columns(fill, column, columns, wide), columns * inner);
        kernels->transpose(strip, STRIP_COLUMNS, rows, inner, columns, inner);
    } else
        for (int64_t row = 0; row < inner; row++)
            kernels->to_storage(ROTARY_BF16, strip + row * STRIP_COLUMNS,
                                fill->source + row * weight->config.columns + column, columns);
    int64_t panel = column / weight->panel_columns, within = column - panel * weight->panel_columns;
    uint16_t *to = (void *)packed_weight_panel(weight, panel);
    int64_t padded = round_up(inner, LAYER_VNNI_ROWS);
    kernels->pack_vnni(to + within * padded, strip, STRIP_COLUMNS, inner, columns);
}

static void fill_panel(void *argument, int64_t index, int worker)
{
    struct fill *fill = argument;
    const struct packed_weight *weight = fill->weight;
    int64_t column = index * weight->panel_columns,
            columns = packed_weight_panel_columns(weight, index == weight->count - 1);
    float *wide = fill->stored ? (void *)matmul_workspace(fill->matmul, worker) : NULL;
    int status = panel_fill(weight->panels[index], fill->matmul->gemms, worker,
                            weight->config.transposed ? source_columns(fill, column, columns, wide)
                                                      : fill->source + column);
    if (status != 0)
        fill->status = status;
}

static rotary_status run_fill(struct fill *fill, struct matmul *matmul, rotary_error *error)
{
    const struct packed_weight *weight = fill->weight;
    const int64_t inner = weight->config.inner, wide = weight->vnni ? STRIP_COLUMNS : weight->panel_columns;
    size_t bytes = weight->vnni ? matmul_bytes(2 * inner * STRIP_COLUMNS, ROTARY_BF16) : 0;
    bytes += fill->stored ? matmul_bytes(wide * inner, ROTARY_F32) : 0;
    rotary_status status = matmul_reserve_workspace(matmul, bytes, error);
    if (status != ROTARY_OK)
        return status;
    if (weight->vnni)
        rotary_parallel_for(matmul->threads, divide_up(weight->config.columns, STRIP_COLUMNS), fill_strip,
                            fill);
    else
        rotary_parallel_for(matmul->threads, weight->count, fill_panel, fill);
    return fill->status ? gemm_fail(error, fill->status, "packing a weight") : ROTARY_OK;
}

rotary_status packed_weight_fill(struct packed_weight *weight, struct matmul *matmul, const float *source,
                                 rotary_error *error)
{
    struct fill fill = {.weight = weight, .matmul = matmul, .source = source};
    return run_fill(&fill, matmul, error);
}

rotary_status packed_weight_fill_stored(struct packed_weight *weight, struct matmul *matmul,
                                        const struct stored_weight *stored, int64_t first,
                                        rotary_error *error)
{
    struct fill fill = {.weight = weight, .matmul = matmul, .stored = stored, .first = first};
    return run_fill(&fill, matmul, error);
}
