/* SPDX-License-Identifier: Apache-2.0 */
#include "study/decay_run.h"

#include "base/fail.h"
#include "base/integer.h"
#include "model/attention_weights.h"
#include "model/encoding/model_encoding.h"
#include "records/head_statistics.h"
#include "train/batches.h"

#include <math.h>
#include <stdio.h>

/* ---- sequences ---- */

/* The validation sequences, one at a time. */
struct sequences {
    const struct decay_request *request;
    struct row_order order;
    int64_t count;
    struct rotary_arena arena;
    struct batch_memory memory;
};

static rotary_status open_sequences(struct sequences *sequences, rotary_error *error)
{
    const struct decay_request *request = sequences->request;
    const struct task *task = request->model->task;
    sequences->count = request->sequences;
    if (task_has_examples(task_configuration(task)))
        sequences->count = min_i64(sequences->count, task_examples(task, TASK_VALIDATION));
    sequences->order = (struct row_order){
        .task = task, .split = TASK_VALIDATION, .seed = (uint64_t)request->seed, .rows = request->sequences};
    batch_carve(&sequences->memory, task, task_shape(task).time, &sequences->arena);
    rotary_status status = rotary_arena_allocate(&sequences->arena, "a validation sequence", error);
    if (status == ROTARY_OK)
        batch_carve(&sequences->memory, task, task_shape(task).time, &sequences->arena);
    return status;
}

/* The tokens live until the next call. */
static struct attention_weights_call sequence_at(const struct sequences *sequences, int64_t index)
{
    const struct batch batch = batch_fill(&sequences->memory, &sequences->order, index, 1, 1);
    return (struct attention_weights_call){.tokens = batch.input.tokens,
                                           .count = token_rows(&batch.input),
                                           .source = batch.source.tokens,
                                           .source_count = token_rows(&batch.source)};
}

/* ---- sums ---- */

/* Sums are kept where the means will be. */
struct sums {
    struct measured_decay *decay;
    enum attention_kind reader;       /* of the tokens that are not a source: a decoder or an encoder */
    int64_t distance;                 /* the largest that is kept */
    int64_t layers[ATTENTION_KINDS];  /* of the model */
    int64_t longest[ATTENTION_KINDS]; /* tokens of a sequence */
};

/* Distances that are kept, and places of queries. */
static rotary_status create_kind(struct sums *sums, const struct attention_row *row, rotary_error *error)
{
    const int64_t tokens = sums->longest[row->kind], last = min_i64(sums->distance, tokens - 1),
                  first = row->kind == ATTENTION_ENCODER ? -last : 0;
    const struct decay_kind sizes = {
        .layers = sums->layers[row->kind],
        .heads = row->heads,
        .axes = {
            [DECAY_BY_DISTANCE] = {first, last - first + 1, NULL}, [DECAY_BY_QUERY] = {0, tokens, NULL}}};
    return decay_kind_create(&sums->decay->kinds[row->kind], &sizes, error);
}

/* The sums of a measure and the row's head. */
static double *sums_of(const struct decay_kind *kind, const struct attention_row *row,
                       enum decay_measure measure)
{
    return decay_means(kind, measure, row->layer, row->head);
}

static void add_pairs(struct decay_kind *kind, const struct attention_row *row)
{
    const struct decay_points *distances = &kind->axes[DECAY_BY_DISTANCE];
    /* Key n has the distance row->query - n, and entry `zero` - n. */
    const int64_t zero = row->query - distances->first,
                  begin = max_i64(row->first, zero - distances->count + 1), end = min_i64(row->end, zero + 1);
    int64_t *pairs = distances->counts + row->layer * distances->count;
    double *scores = sums_of(kind, row, DECAY_SCORE), *weights = sums_of(kind, row, DECAY_WEIGHT),
           *biases = sums_of(kind, row, DECAY_BIAS);
    for (int64_t n = begin; n < end; n++) {
        pairs[zero - n] += row->head == 0;
        scores[zero - n] += row->scores[n];
        weights[zero - n] += (double)row->weights[n];
        biases[zero - n] += row->biases[n];
    }
}

static void add_query(struct decay_kind *kind, const struct attention_row *row)
{
    const struct decay_points *queries = &kind->axes[DECAY_BY_QUERY];
    queries->counts[row->layer * queries->count + row->query] += row->head == 0;
    sums_of(kind, row, DECAY_ENTROPY)[row->query] +=
        head_entropy(row->weights + row->first, row->end - row->first);
    sums_of(kind, row, DECAY_OUTPUT_NORM)[row->query] += row->output_norm;
}

static rotary_status add_row(void *context, const struct attention_row *row, rotary_error *error)
{
    struct sums *sums = context;
    struct decay_kind *kind = &sums->decay->kinds[row->kind];
    if (row->kind == ATTENTION_CROSS)
        return ROTARY_OK;
    if (kind->layers == 0) {
        rotary_status status = create_kind(sums, row, error);
        if (status != ROTARY_OK)
            return status;
    }
    add_pairs(kind, row);
    add_query(kind, row);
    return ROTARY_OK;
}

static rotary_status divide(struct decay_kind *kind, enum decay_measure measure, rotary_error *error)
{
    const struct decay_points *points = decay_points_of(kind, measure);
    for (int64_t i = 0; i < kind->layers * kind->heads * points->count; i++) {
        const int64_t layer = i / (kind->heads * points->count), point = i % points->count,
                      count = points->counts[layer * points->count + point];
        double *mean = &kind->means[measure][i];
        if (count > 0 && !isfinite(*mean))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "the model computes numbers that are not finite: it diverged");
        *mean = count > 0 ? *mean / (double)count : (double)NAN;
    }
    return ROTARY_OK;
}

/* ---- the run ---- */

static rotary_status find_longest(const struct sequences *sequences, struct sums *sums, rotary_error *error)
{
    int64_t *reader = &sums->longest[sums->reader], *encoder = &sums->longest[ATTENTION_ENCODER];
    for (int64_t i = 0; i < sequences->count; i++) {
        const struct attention_weights_call call = sequence_at(sequences, i);
        *reader = max_i64(*reader, call.count);
        if (call.source)
            *encoder = max_i64(*encoder, call.source_count);
    }
    if (sequences->count < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the task has no validation sequences");
    return ROTARY_OK;
}

static rotary_status add_sequences(const struct sequences *sequences, struct transformer *transformer,
                                   struct sums *sums, rotary_error *error)
{
    const struct decay_request *request = sequences->request;
    const struct attention_row_observer observer = {.see = add_row, .context = sums};
    rotary_status status = find_longest(sequences, sums, error);
    for (int64_t i = 0; status == ROTARY_OK && i < sequences->count; i++) {
        if (request->progress)
            request->progress(request->context, i, sequences->count);
        const struct attention_weights_call call = sequence_at(sequences, i);
        if (call.count > 0) /* else there is nothing to see */
            status = attention_rows(transformer, &call, &observer, error);
    }
    return status;
}

static rotary_status measure(struct measured_decay *decay, const struct decay_request *request,
                             rotary_error *error)
{
    struct transformer *transformer = request->model->transformer;
    const struct transformer_config *config = transformer_configuration(transformer);
    struct sequences sequences = {.request = request};
    struct sums sums = {.decay = decay,
                        .reader = ATTENTION_DECODER,
                        .distance = request->distance > 0 ? request->distance : INT64_MAX};
    if (config->architecture == ARCHITECTURE_ENCODER)
        sums.reader = ATTENTION_ENCODER;
    sums.layers[ATTENTION_ENCODER] = config->num_encoder_layers;
    sums.layers[sums.reader] = config->num_hidden_layers;
    rotary_status status = open_sequences(&sequences, error);
    if (status == ROTARY_OK)
        status = add_sequences(&sequences, transformer, &sums, error);
    for (int i = 0; status == ROTARY_OK && i < ATTENTION_KINDS * DECAY_MEASURES; i++)
        status = divide(&decay->kinds[i / DECAY_MEASURES], (enum decay_measure)(i % DECAY_MEASURES), error);
    decay->sequences = sequences.count;
    rotary_arena_free(&sequences.arena);
    return status;
}

rotary_status decay_run(struct measured_decay *decay, const struct decay_request *request,
                        rotary_error *error)
{
    rotary_error inner = {0};
    decay->step = request->model->step;
    decay->seed = request->seed;
    decay->length = request->length;
    snprintf(decay->scaling, sizeof decay->scaling, "%s", length_scaling_names[request->scaling]);
    snprintf(decay->position, sizeof decay->position, "%s",
             model_encoding_name(&request->model->config.model));
    snprintf(decay->checkpoint, sizeof decay->checkpoint, "%s", checkpoint_names[request->checkpoint]);
    rotary_status status = measure(decay, request, &inner);
    if (status != ROTARY_OK)
        return rotary_fail(error, status, "%s: %.400s", request->folder, inner.message);
    return measured_decay_write(decay, request->folder, error);
}
