/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses and the most probable classes in the cpu backend.
 */
#include "backend/cpu.h"

#include "base/integer.h"
#include "base/threads.h"

enum { ITEM_ROWS = 64 }; /* of a work item of cross-entropy */

struct softmax {
    const struct layer_kernels *kernels;
    const struct backend_cross_entropy *call;
    struct layer_cross_entropy *items;
};

struct top_classes {
    const struct layer_kernels *kernels;
    const struct backend_top_classes *call;
    float *maximum, *sum; /* [rows] */
};

static void softmax_item(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct softmax *softmax = argument;
    const struct backend_cross_entropy *call = softmax->call;
    int64_t first = index * ITEM_ROWS;
    struct layer_cross_entropy *item = &softmax->items[index];
    *item = (struct layer_cross_entropy){
        .rows = min_i64(call->logits.rows - first, ITEM_ROWS),
        .classes = call->logits.columns,
        .logits = matrix_rows(call->logits, first, 1).data,
        .logits_stride = call->logits.stride,
        .targets = call->targets + first,
        .gradient_scale = call->gradient_scale,
        .smoothing = call->smoothing,
        .softcap = call->softcap,
        .storage = call->gradient.dtype,
        .gradient = call->gradient.data ? matrix_rows(call->gradient, first, 1).data : NULL,
        .gradient_stride = call->gradient.stride,
        .losses = call->losses ? call->losses + first : NULL};
    softmax->kernels->cross_entropy(item);
}

rotary_status cpu_cross_entropy(const struct backend *backend, const struct backend_cross_entropy *call,
                                rotary_error *error)
{
    int64_t count = divide_up(call->logits.rows, ITEM_ROWS);
    void *memory;
    rotary_status status = cpu_scratch(backend, &memory, count, sizeof(struct layer_cross_entropy), error);
    if (status != ROTARY_OK)
        return status;
    struct softmax softmax = {.kernels = cpu_of(backend)->kernels, .call = call, .items = memory};
    rotary_parallel_for(backend->threads, count, softmax_item, &softmax);
    for (int64_t i = 0; i < count; i++) {
        call->sums->total += softmax.items[i].loss;
        call->sums->counted += softmax.items[i].counted;
        call->sums->correct += softmax.items[i].correct;
    }
    return ROTARY_OK;
}

struct capping {
    const struct layer_kernels *kernels;
    const struct backend_softcap *call;
};

static void cap_rows(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct capping *capping = argument;
    const struct matrix *logits = &capping->call->logits;
    for (int64_t row = index * ITEM_ROWS; row < logits->rows && row < (index + 1) * ITEM_ROWS; row++)
        capping->kernels->softcap(matrix_rows(*logits, row, 1).data, logits->columns, capping->call->cap);
}

rotary_status cpu_softcap(const struct backend *backend, const struct backend_softcap *call,
                          rotary_error *error)
{
    (void)error;
    struct capping capping = {.kernels = cpu_of(backend)->kernels, .call = call};
    rotary_parallel_for(backend->threads, divide_up(call->logits.rows, ITEM_ROWS), cap_rows, &capping);
    return ROTARY_OK;
}

/* A batch has few of these: one of each sequence. */
rotary_status cpu_squared_error(const struct backend *backend, const struct backend_squared_error *call,
                                rotary_error *error)
{
    (void)error;
    const struct layer_kernels *kernels = cpu_of(backend)->kernels;
    for (int64_t row = 0; row < call->predictions.rows; row++) {
        const float *prediction = matrix_rows(call->predictions, row, 1).data;
        const double d = (double)*prediction - (double)call->targets[row];
        const float gradient = (float)(2.0 * (double)call->gradient_scale * d);
        if (call->gradient.data)
            kernels->to_storage(call->gradient.dtype, matrix_rows(call->gradient, row, 1).data, &gradient, 1);
        call->sums->total += d * d;
        call->sums->counted++;
    }
    return ROTARY_OK;
}

rotary_status cpu_add_sums(const struct backend *backend, const struct backend_add_sums *call,
                           rotary_error *error)
{
    (void)backend;
    (void)error;
    call->to->total += call->from->total;
    call->to->counted += call->from->counted;
    call->to->correct += call->from->correct;
    return ROTARY_OK;
}

static void choose_from_tile(void *context, const struct matmul_tile *tile)
{
    const struct top_classes *all = context;
    const struct backend_top_classes *call = all->call;
    for (int64_t row = 0; call->softcap > 0.0f && row < tile->rows; row++)
        all->kernels->softcap(tile->data + row * tile->columns, tile->columns, call->softcap);
    const struct layer_top_classes work = {.rows = tile->rows,
                                           .classes = tile->all_columns,
                                           .first = tile->column,
                                           .columns = tile->columns,
                                           .count = call->count,
                                           .logits = tile->data,
                                           .logits_stride = tile->columns,
                                           .excluded = call->excluded,
                                           .excluded_count = call->excluded_count,
                                           .maximum = all->maximum + tile->row,
                                           .sum = all->sum + tile->row,
                                           .log_probabilities =
                                               call->log_probabilities + tile->row * call->count,
                                           .chosen = call->chosen + tile->row * call->count};
    all->kernels->top_classes(&work);
}

rotary_status cpu_top_classes(const struct backend *backend, const struct backend_top_classes *call,
                              rotary_error *error)
{
    struct cpu *cpu = cpu_of(backend);
    int64_t rows = call->in.rows;
    void *memory;
    rotary_status status = cpu_scratch(backend, &memory, 2 * rows, sizeof(float), error);
    if (status != ROTARY_OK)
        return status;
    struct top_classes all = {.kernels = cpu->kernels, .call = call, .maximum = memory};
    all.sum = all.maximum + rows;
    const struct backend_matmul matmul = {
        .out = {.dtype = ROTARY_F32}, .in = call->in, .weight = call->weight, .bias = call->bias};
    return matmul_consume(cpu->matmul, &matmul, choose_from_tile, &all, error);
}
