/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/loss.h"

#include "backend/profile.h"
#include "base/arena.h"
#include "base/fail.h"
#include "base/integer.h"

#include <stdlib.h>

enum {
    MAX_LOGITS = 1 << 25, /* elements of a block, unless those are fewer than MIN_ROWS rows */
    MIN_ROWS = 256,
    STRIDE_MULTIPLE = 32, /* rows of logits start on a cache line in either type */
};

struct loss {
    const struct backend *backend;
    struct linear *output;
    int64_t classes, stride, block_rows;
    float smoothing;
    bool training;
    struct rotary_arena arena;
    float *logits;          /* [block_rows, stride] */
    void *d_logits;         /* [block_rows, stride], storage type; in f32 the logits themselves */
    struct loss_sums *sums; /* of a call */
};

static int64_t choose_block_rows(int64_t rows, int64_t stride)
{
    int64_t fit = MAX_LOGITS / stride / MIN_ROWS * MIN_ROWS;
    return min_i64(max_i64(fit, MIN_ROWS), rows);
}

static void carve(struct loss *loss)
{
    loss->logits = rotary_arena_push(&loss->arena, loss->block_rows * loss->stride, sizeof(float));
    loss->d_logits = loss->logits;
    if (loss->training && loss->backend->storage != ROTARY_F32)
        loss->d_logits = rotary_arena_push(&loss->arena, loss->block_rows * loss->stride,
                                           rotary_dtype_size(loss->backend->storage));
    loss->sums = rotary_arena_push(&loss->arena, 1, sizeof *loss->sums);
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
    rotary_status status = backend_arena_allocate(backend, &made->arena, "the logits", error);
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
        backend_arena_free(loss->backend, &loss->arena);
    free(loss);
}

/* A block of rows of a call: their logits exist at once. */
struct loss_block {
    struct loss *loss;
    const struct loss_call *call;
    int64_t first, rows;
};

static struct matrix block_matrix(const struct loss_block *block, void *data, rotary_dtype dtype)
{
    struct matrix matrix = matrix_of(data, dtype, block->rows, block->loss->classes);
    matrix.stride = block->loss->stride;
    return matrix;
}

static rotary_status cross_entropy(const struct loss_block *block, struct matrix logits,
                                   struct matrix d_logits, rotary_error *error)
{
    const struct loss *loss = block->loss;
    const struct backend *backend = loss->backend;
    const struct backend_cross_entropy call = {.logits = logits,
                                               .targets = block->call->targets + block->first,
                                               .gradient_scale = block->call->gradient_scale,
                                               .smoothing = loss->smoothing,
                                               .gradient = d_logits,
                                               .sums = loss->sums};
    double begin = profile_begin(backend->profile);
    rotary_status status = backend->operations->cross_entropy(backend, &call, error);
    profile_end(backend->profile, begin, "softmax and cross-entropy", "with its gradient", 0.0,
                (double)(block->rows * loss->stride) *
                    (sizeof(float) + (double)rotary_dtype_size(backend->storage)));
    return status;
}

static rotary_status run_block(const struct loss_block *block, struct parameters *parameters,
                               rotary_error *error)
{
    struct loss *loss = block->loss;
    const struct loss_call *call = block->call;
    struct matrix hidden = matrix_rows(call->hidden, block->first, block->rows);
    struct matrix logits = block_matrix(block, loss->logits, ROTARY_F32), d_logits = {0};
    if (call->d_hidden.data)
        d_logits = block_matrix(block, loss->d_logits, loss->backend->storage);
    rotary_status status =
        linear_forward(loss->output, parameters, logits, hidden, MATMUL_EPILOGUE_NONE, error);
    if (status == ROTARY_OK)
        status = cross_entropy(block, logits, d_logits, error);
    if (status != ROTARY_OK || !call->d_hidden.data)
        return status;
    return linear_backward(loss->output, parameters, matrix_rows(call->d_hidden, block->first, block->rows),
                           d_logits, hidden, error);
}

/* Adds the sums of a call to those of the step, and reads them if they are wanted. */
static rotary_status finish(const struct loss *loss, struct parameters *parameters, bool add,
                            struct loss_sums *sums, rotary_error *error)
{
    const struct backend *backend = loss->backend;
    rotary_status status = ROTARY_OK;
    if (add) {
        const struct backend_add_sums call = {.to = &parameters->statistics->loss, .from = loss->sums};
        status = backend->operations->add_sums(backend, &call, error);
    }
    if (status == ROTARY_OK && sums)
        status = backend->operations->read(backend, sums, loss->sums, sizeof *sums, error);
    return status;
}

rotary_status loss_run(struct loss *loss, struct parameters *parameters, const struct loss_call *call,
                       struct loss_sums *sums, rotary_error *error)
{
    const struct backend *backend = loss->backend;
    if (call->d_hidden.data && !loss->training)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a loss created for inference has no backward pass");
    rotary_status status = backend->operations->clear(backend, loss->sums, sizeof *loss->sums, error);
    for (int64_t first = 0; first < call->hidden.rows && status == ROTARY_OK; first += loss->block_rows) {
        const struct loss_block block = {.loss = loss,
                                         .call = call,
                                         .first = first,
                                         .rows = min_i64(call->hidden.rows - first, loss->block_rows)};
        status = run_block(&block, parameters, error);
    }
    return status == ROTARY_OK ? finish(loss, parameters, call->d_hidden.data != NULL, sums, error) : status;
}

rotary_status loss_logits(struct loss *loss, const struct parameters *parameters, struct matrix hidden,
                          float *logits, rotary_error *error)
{
    const struct backend *backend = loss->backend;
    rotary_status status = ROTARY_OK;
    for (int64_t first = 0; first < hidden.rows && status == ROTARY_OK; first += loss->block_rows) {
        int64_t rows = min_i64(hidden.rows - first, loss->block_rows), elements = rows * loss->classes;
        struct matrix block = matrix_of(loss->logits, ROTARY_F32, rows, loss->classes);
        status = linear_forward(loss->output, parameters, block, matrix_rows(hidden, first, rows),
                                MATMUL_EPILOGUE_NONE, error);
        if (status == ROTARY_OK)
            status = backend->operations->read(backend, logits + first * loss->classes, loss->logits,
                                               (size_t)elements * sizeof *logits, error);
    }
    return status;
}

rotary_status loss_top_classes(struct loss *loss, const struct parameters *parameters, struct matrix hidden,
                               const struct backend_top_classes *call, rotary_error *error)
{
    return linear_top_classes(loss->output, parameters, hidden, call, error);
}
