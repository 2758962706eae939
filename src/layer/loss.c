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
    float smoothing, softcap;
    bool training;
    struct output_transform *transform;
    int64_t gathered_width; /* 0: rows are never gathered */
    struct rotary_arena arena;
    float *logits;                      /* [block_rows, stride] */
    void *d_logits;                     /* [block_rows, stride], storage type; in f32 the logits themselves */
    struct matrix gathered, d_gathered; /* [block_rows, gathered_width], storage type */
    float *losses;                      /* [block_rows] */
    struct loss_sums *sums;             /* of a call */
};

static int64_t choose_block_rows(int64_t rows, int64_t stride)
{
    int64_t fit = MAX_LOGITS / stride / MIN_ROWS * MIN_ROWS;
    return min_i64(max_i64(fit, MIN_ROWS), rows);
}

static struct matrix push_gathered(struct loss *loss)
{
    rotary_dtype storage = loss->backend->storage;
    int64_t rows = loss->block_rows, width = loss->gathered_width;
    return matrix_of(rotary_arena_push(&loss->arena, rows * width, rotary_dtype_size(storage)), storage, rows,
                     width);
}

static void carve(struct loss *loss)
{
    loss->logits = rotary_arena_push(&loss->arena, loss->block_rows * loss->stride, sizeof(float));
    loss->d_logits = loss->logits;
    if (loss->training && loss->backend->storage != ROTARY_F32)
        loss->d_logits = rotary_arena_push(&loss->arena, loss->block_rows * loss->stride,
                                           rotary_dtype_size(loss->backend->storage));
    loss->losses = rotary_arena_push(&loss->arena, loss->block_rows, sizeof *loss->losses);
    loss->sums = rotary_arena_push(&loss->arena, 1, sizeof *loss->sums);
    if (loss->transform)
        output_transform_carve(loss->transform, loss->block_rows, &loss->arena);
    if (loss->gathered_width == 0)
        return;
    loss->gathered = push_gathered(loss);
    if (loss->training)
        loss->d_gathered = push_gathered(loss);
}

/* A loss without memory, whose arena is measured. */
static struct loss measure(const struct backend *backend, int64_t classes, const struct loss_config *config)
{
    struct loss loss = {
        .backend = backend,
        .classes = classes,
        .stride = classes == 1 ? 1 : round_up(classes, STRIDE_MULTIPLE),
        .smoothing = config->label_smoothing,
        .softcap = config->softcap,
        .training = config->training,
        .transform = config->transform,
        .gathered_width = config->gathers ? config->width : 0,
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
        return rotary_fail_memory(error, "for the loss");
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
    const struct loss_rows *from;
    int64_t first, rows;
    struct output_transform_call transform; /* of these rows of the hidden channels */
    struct matrix features;                 /* these rows, through the transform if there is one */
};

/* The rows that have one target. */
static int64_t group_of(const struct loss_call *call)
{
    return max_i64(call->choices, 1);
}

static int64_t count_rows(const struct loss_rows *rows)
{
    return rows->index ? rows->count : rows->hidden.rows;
}

static struct matrix block_matrix(const struct loss_block *block, void *data, rotary_dtype dtype)
{
    struct matrix matrix = matrix_of(data, dtype, block->rows, block->loss->classes);
    matrix.stride = block->loss->stride;
    return matrix;
}

/* How many rows a block from `first` on has, of which `group` have one target and stay together. */
static int64_t rows_of_block(const struct loss *loss, const struct loss_rows *rows, int64_t first,
                             int64_t group)
{
    return min_i64(count_rows(rows) - first, loss->block_rows / group * group);
}

/* The rows that the call names, or their means. */
static rotary_status gather(const struct loss_block *block, struct matrix out, rotary_error *error)
{
    const struct backend *backend = block->loss->backend;
    const struct loss_rows *from = block->from;
    const int64_t *index = from->index + block->first;
    if (from->means) {
        const struct backend_mean_rows_forward call = {
            .out = out, .in = from->hidden, .first = index, .counts = from->means + block->first};
        return backend->operations->mean_rows_forward(backend, &call, error);
    }
    const struct backend_copy_rows call = {.out = out, .in = from->hidden, .index = index};
    return backend->operations->copy_rows(backend, &call, error);
}

/* The gradient of gather(). */
static rotary_status scatter(const struct loss_block *block, struct matrix d_hidden, struct matrix d_gathered,
                             rotary_error *error)
{
    const struct backend *backend = block->loss->backend;
    const struct loss_rows *from = block->from;
    const int64_t *index = from->index + block->first;
    if (from->means) {
        const struct backend_mean_rows_backward call = {
            .d_in = d_hidden, .d_out = d_gathered, .first = index, .counts = from->means + block->first};
        return backend->operations->mean_rows_backward(backend, &call, error);
    }
    const struct backend_scatter_rows call = {.out = d_hidden, .in = d_gathered, .index = index};
    return backend->operations->scatter_rows(backend, &call, error);
}

/* Reads the block's rows, and computes their features. */
static rotary_status start_block(struct loss_block *block, const struct parameters *parameters,
                                 struct dropout dropout, rotary_error *error)
{
    struct loss *loss = block->loss;
    const struct loss_rows *from = block->from;
    struct matrix in;
    rotary_status status = ROTARY_OK;
    if (from->index) {
        in = matrix_rows(loss->gathered, 0, block->rows);
        status = gather(block, in, error);
    } else {
        in = matrix_rows(from->hidden, block->first, block->rows);
    }
    block->features = in;
    block->transform = (struct output_transform_call){.in = in, .dropout = dropout};
    if (status != ROTARY_OK || !loss->transform)
        return status;
    return output_transform_forward(loss->transform, parameters, &block->transform, &block->features, error);
}

static rotary_status squared_error(const struct loss_block *block, const struct loss_call *given,
                                   struct matrix predictions, struct matrix d_predictions,
                                   rotary_error *error)
{
    const struct backend *backend = block->loss->backend;
    const struct backend_squared_error call = {.predictions = predictions,
                                               .targets = given->values + block->first,
                                               .gradient_scale = given->gradient_scale,
                                               .gradient = d_predictions,
                                               .sums = block->loss->sums};
    return backend->operations->squared_error(backend, &call, error);
}

/* The logits of one output as rows of choices, in the same memory; choices 0: as they are. */
static struct matrix group_choices(struct matrix rows, int64_t choices)
{
    return rows.data && choices > 0 ? matrix_of(rows.data, rows.dtype, rows.rows / choices, choices) : rows;
}

static rotary_status cross_entropy(const struct loss_block *block, const struct loss_call *given,
                                   struct matrix logits, struct matrix d_logits, rotary_error *error)
{
    const struct loss *loss = block->loss;
    const struct backend *backend = loss->backend;
    const struct backend_cross_entropy call = {.logits = group_choices(logits, given->choices),
                                               .targets = given->targets + block->first / group_of(given),
                                               .gradient_scale = given->gradient_scale,
                                               .smoothing = loss->smoothing,
                                               .softcap = loss->softcap,
                                               .gradient = group_choices(d_logits, given->choices),
                                               .losses = given->losses ? loss->losses : NULL,
                                               .sums = loss->sums};
    double begin = profile_begin(backend->profile);
    rotary_status status = backend->operations->cross_entropy(backend, &call, error);
    profile_end(backend->profile, begin, "softmax and cross-entropy", "with its gradient", 0.0,
                (double)(block->rows * loss->stride) *
                    (sizeof(float) + (double)rotary_dtype_size(backend->storage)));
    if (status != ROTARY_OK || !given->losses)
        return status;
    const int64_t group = group_of(given);
    return backend->operations->read(backend, given->losses + block->first / group, loss->losses,
                                     (size_t)(block->rows / group) * sizeof *loss->losses, error);
}

/* From the gradient of the logits to that of the hidden channels. */
static rotary_status block_backward(const struct loss_block *block, struct parameters *parameters,
                                    struct matrix d_logits, struct matrix d_hidden, rotary_error *error)
{
    const struct loss *loss = block->loss;
    bool gathers = block->from->index != NULL;
    struct matrix d_in = gathers ? matrix_rows(loss->d_gathered, 0, block->rows)
                                 : matrix_rows(d_hidden, block->first, block->rows),
                  d_features =
                      loss->transform ? output_transform_gradient(loss->transform, block->rows) : d_in;
    rotary_status status =
        linear_backward(loss->output, parameters, d_features, d_logits, block->features, error);
    if (status == ROTARY_OK && loss->transform)
        status = output_transform_backward(loss->transform, parameters, &block->transform, d_in, error);
    return status == ROTARY_OK && gathers ? scatter(block, d_hidden, d_in, error) : status;
}

static rotary_status run_block(struct loss *loss, struct parameters *parameters, const struct loss_call *call,
                               int64_t first, int64_t rows, rotary_error *error)
{
    struct loss_block block = {.loss = loss, .from = &call->rows, .first = first, .rows = rows};
    rotary_status status = start_block(&block, parameters, call->dropout, error);
    if (status != ROTARY_OK)
        return status;
    struct matrix logits = block_matrix(&block, loss->logits, ROTARY_F32), d_logits = {0};
    if (call->d_hidden.data)
        d_logits = block_matrix(&block, loss->d_logits, loss->backend->storage);
    status = linear_forward(loss->output, parameters, logits, block.features, MATMUL_EPILOGUE_NONE, error);
    if (status == ROTARY_OK)
        status = call->values ? squared_error(&block, call, logits, d_logits, error)
                              : cross_entropy(&block, call, logits, d_logits, error);
    if (status != ROTARY_OK || !call->d_hidden.data)
        return status;
    return block_backward(&block, parameters, d_logits, call->d_hidden, error);
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

static rotary_status check_rows(const struct loss *loss, const struct loss_rows *rows, rotary_error *error)
{
    if (!rows->index || loss->gathered_width > 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "a call of a loss that names its rows: the loss was not created to gather rows");
}

/* Numbers and choices want one output, and choices complete groups. */
static rotary_status check_targets(const struct loss *loss, const struct loss_call *call, rotary_error *error)
{
    const int64_t rows = count_rows(&call->rows);
    if (loss->classes != 1 && (call->values || call->choices > 0))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s of %lld outputs: wanted 1",
                           call->values ? "a squared error" : "a softmax over choices",
                           (long long)loss->classes);
    if (call->choices <= 0 || rows % call->choices == 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%lld rows of %d choices: wanted a multiple of these",
                       (long long)rows, call->choices);
}

rotary_status loss_run(struct loss *loss, struct parameters *parameters, const struct loss_call *call,
                       struct loss_sums *sums, rotary_error *error)
{
    const struct backend *backend = loss->backend;
    const struct matrix *d_hidden = &call->d_hidden;
    if (d_hidden->data && !loss->training)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a loss created for inference has no backward pass");
    rotary_status status = check_rows(loss, &call->rows, error);
    if (status == ROTARY_OK)
        status = check_targets(loss, call, error);
    if (status == ROTARY_OK)
        status = backend->operations->clear(backend, loss->sums, sizeof *loss->sums, error);
    if (status == ROTARY_OK && d_hidden->data && call->rows.index)
        status = backend->operations->clear(
            backend, d_hidden->data,
            (size_t)(d_hidden->rows * d_hidden->stride) * rotary_dtype_size(d_hidden->dtype), error);
    const int64_t count = count_rows(&call->rows);
    for (int64_t first = 0, rows; first < count && status == ROTARY_OK; first += rows) {
        rows = rows_of_block(loss, &call->rows, first, group_of(call));
        status = run_block(loss, parameters, call, first, rows, error);
    }
    return status == ROTARY_OK ? finish(loss, parameters, d_hidden->data != NULL, sums, error) : status;
}

rotary_status loss_logits(struct loss *loss, const struct parameters *parameters,
                          const struct loss_rows *rows, float *logits, rotary_error *error)
{
    const struct backend *backend = loss->backend;
    const struct dropout none = {0};
    const int64_t count = count_rows(rows);
    rotary_status status = check_rows(loss, rows, error);
    for (int64_t first = 0; first < count && status == ROTARY_OK; first += loss->block_rows) {
        struct loss_block block = {
            .loss = loss, .from = rows, .first = first, .rows = rows_of_block(loss, rows, first, 1)};
        status = start_block(&block, parameters, none, error);
        if (status != ROTARY_OK)
            return status;
        struct matrix all = matrix_of(loss->logits, ROTARY_F32, block.rows, loss->classes);
        status = linear_forward(loss->output, parameters, all, block.features, MATMUL_EPILOGUE_NONE, error);
        const struct backend_softcap cap = {.logits = all, .cap = loss->softcap};
        if (status == ROTARY_OK && loss->softcap > 0.0f)
            status = backend->operations->softcap(backend, &cap, error);
        if (status == ROTARY_OK)
            status = backend->operations->read(backend, logits + first * loss->classes, loss->logits,
                                               (size_t)(block.rows * loss->classes) * sizeof *logits, error);
    }
    return status;
}

rotary_status loss_top_classes(struct loss *loss, const struct parameters *parameters, struct matrix hidden,
                               const struct backend_top_classes *wanted, rotary_error *error)
{
    const struct loss_rows rows = {.hidden = hidden};
    struct backend_top_classes given = *wanted;
    const struct dropout none = {0};
    rotary_status status = ROTARY_OK;
    given.softcap = loss->softcap;
    if (!loss->transform)
        return linear_top_classes(loss->output, parameters, hidden, &given, error);
    for (int64_t first = 0; first < hidden.rows && status == ROTARY_OK; first += loss->block_rows) {
        struct loss_block block = {
            .loss = loss, .from = &rows, .first = first, .rows = rows_of_block(loss, &rows, first, 1)};
        struct backend_top_classes call = given;
        call.log_probabilities += first * call.count;
        call.chosen += first * call.count;
        status = start_block(&block, parameters, none, error);
        if (status == ROTARY_OK)
            status = linear_top_classes(loss->output, parameters, block.features, &call, error);
    }
    return status;
}
