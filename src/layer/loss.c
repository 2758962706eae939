/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/loss.h"

#include "backend/profile.h"
#include "base/arena.h"
#include "base/fail.h"
#include "base/integer.h"
#include "base/threads.h"
#include "kernel/layer/layer_kernels.h"

#include <stdlib.h>

enum {
    MAX_LOGITS = 1 << 25, /* elements of a block, unless those are fewer than MIN_ROWS rows */
    MIN_ROWS = 256,
    STRIDE_MULTIPLE = 32, /* rows of logits start on a cache line in either type */
    ITEM_ROWS = 64,       /* of a work item */
};

struct loss {
    const struct backend *backend;
    struct linear *output;
    int64_t classes, stride, block_rows;
    float smoothing;
    bool training;
    struct rotary_arena arena;
    float *logits;                     /* [block_rows, stride] */
    void *d_logits;                    /* [block_rows, stride], storage type */
    struct layer_cross_entropy *items; /* [block_rows / ITEM_ROWS] */
};

static int64_t items_of(int64_t rows)
{
    return divide_up(rows, ITEM_ROWS);
}

static int64_t choose_block_rows(int64_t rows, int64_t stride)
{
    int64_t fit = MAX_LOGITS / stride / MIN_ROWS * MIN_ROWS;
    return min_i64(max_i64(fit, MIN_ROWS), rows);
}

static void carve(struct loss *loss)
{
    loss->logits = rotary_arena_push(&loss->arena, loss->block_rows * loss->stride, sizeof(float));
    if (loss->training)
        loss->d_logits = rotary_arena_push(&loss->arena, loss->block_rows * loss->stride,
                                           rotary_dtype_size(loss->backend->storage));
    loss->items = rotary_arena_push(&loss->arena, items_of(loss->block_rows), sizeof *loss->items);
}

/* A loss without memory, whose arena is measured. */
static struct loss measure(const struct backend *backend, int64_t classes, const struct loss_config *config)
{
    struct loss loss = {
        .backend = backend,
        .classes = classes,
        .stride = round_up(classes, STRIDE_MULTIPLE),
        .smoothing = config->label_smoothing,
        .training = config->training,
    };
    loss.block_rows = choose_block_rows(config->rows, loss.stride);
    carve(&loss);
    return loss;
}

size_t loss_bytes(const struct backend *backend, int64_t classes, const struct loss_config *config)
{
    return measure(backend, classes, config).arena.used;
}

rotary_status loss_create(struct loss **loss, const struct backend *backend, struct linear *output,
                          const struct loss_config *config, rotary_error *error)
{
    if (config->rows < 1 || !(config->label_smoothing >= 0.0f && config->label_smoothing < 1.0f))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a loss of %lld rows with label smoothing %g: wanted at least 1 row, and label smoothing in "
            "[0, 1)",
            (long long)config->rows, (double)config->label_smoothing);
    struct loss *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the loss");
    *made = measure(backend, linear_outputs(output), config);
    made->output = output;
    rotary_status status = rotary_arena_allocate(&made->arena, "the logits", error);
    if (status != ROTARY_OK) {
        free(made);
        return status;
    }
    carve(made);
    *loss = made;
    return ROTARY_OK;
}

void loss_destroy(struct loss *loss)
{
    if (loss)
        rotary_arena_free(&loss->arena);
    free(loss);
}

/* A block of rows of a call: their logits exist at once. */
struct loss_block {
    struct loss *loss;
    const struct loss_call *call;
    int64_t first, rows;
};

static void softmax_item(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct loss_block *block = argument;
    struct loss *loss = block->loss;
    int64_t first = index * ITEM_ROWS;
    struct matrix d_logits = matrix_of(loss->d_logits, loss->backend->storage, block->rows, loss->stride);
    struct layer_cross_entropy *item = &loss->items[index];
    *item = (struct layer_cross_entropy){
        .rows = min_i64(block->rows - first, ITEM_ROWS),
        .classes = loss->classes,
        .logits = loss->logits + first * loss->stride,
        .logits_stride = loss->stride,
        .targets = block->call->targets + block->first + first,
        .gradient_scale = block->call->gradient_scale,
        .smoothing = loss->smoothing,
        .storage = loss->backend->storage,
        .gradient = block->call->d_hidden.data ? matrix_rows(d_logits, first, 1).data : NULL,
        .gradient_stride = loss->stride};
    loss->backend->kernels->cross_entropy(item);
}

static rotary_status run_block(struct loss_block *block, struct parameters *parameters,
                               struct loss_sums *sums, rotary_error *error)
{
    struct loss *loss = block->loss;
    const struct loss_call *call = block->call;
    int64_t first = block->first, rows = block->rows;
    struct matrix hidden = matrix_rows(call->hidden, first, rows);
    struct matrix logits = matrix_of(loss->logits, ROTARY_F32, rows, loss->classes);
    logits.stride = loss->stride;
    rotary_status status =
        linear_forward(loss->output, parameters, logits, hidden, MATMUL_EPILOGUE_NONE, error);
    if (status != ROTARY_OK)
        return status;
    double begin = profile_begin(loss->backend->profile);
    rotary_parallel_for(loss->backend->threads, items_of(rows), softmax_item, block);
    profile_end(loss->backend->profile, begin, "softmax and cross-entropy", "with its gradient", 0.0,
                (double)(rows * loss->stride) *
                    (sizeof(float) + (double)rotary_dtype_size(loss->backend->storage)));
    for (int64_t i = 0; i < items_of(rows); i++) {
        sums->total += loss->items[i].loss;
        sums->counted += loss->items[i].counted;
        sums->correct += loss->items[i].correct;
    }
    if (!call->d_hidden.data)
        return ROTARY_OK;
    struct matrix d_logits = matrix_of(loss->d_logits, loss->backend->storage, rows, loss->classes);
    d_logits.stride = loss->stride;
    return linear_backward(loss->output, parameters, matrix_rows(call->d_hidden, first, rows), d_logits,
                           hidden, error);
}

rotary_status loss_run(struct loss *loss, struct parameters *parameters, const struct loss_call *call,
                       struct loss_sums *sums, rotary_error *error)
{
    if (call->d_hidden.data && !loss->training)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a loss created for inference has no backward pass");
    rotary_status status = ROTARY_OK;
    *sums = (struct loss_sums){0};
    for (int64_t first = 0; first < call->hidden.rows && status == ROTARY_OK; first += loss->block_rows) {
        struct loss_block block = {.loss = loss,
                                   .call = call,
                                   .first = first,
                                   .rows = min_i64(call->hidden.rows - first, loss->block_rows)};
        status = run_block(&block, parameters, sums, error);
    }
    return status;
}
