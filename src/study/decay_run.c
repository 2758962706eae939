/* SPDX-License-Identifier: Apache-2.0 */
#include "study/decay_run.h"

#include "base/fail.h"
#include "base/integer.h"
#include "model/attention_weights.h"
#include "model/encoding/model_encoding.h"
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
    enum attention_kind reader;        /* of the tokens that are not a source: a decoder or an encoder */
    int64_t layers[ATTENTION_KINDS];   /* of the model */
    int64_t furthest[ATTENTION_KINDS]; /* the largest distance that is kept */
};

static rotary_status add_row(void *context, const struct attention_row *row, rotary_error *error)
{
    struct sums *sums = context;
    struct decay_kind *kind = &sums->decay->kinds[row->kind];
    if (row->kind == ATTENTION_CROSS)
        return ROTARY_OK;
    if (kind->layers == 0) {
        const int64_t last = sums->furthest[row->kind], first = row->kind == ATTENTION_ENCODER ? -last : 0;
        rotary_status status =
            decay_kind_create(kind, sums->layers[row->kind], row->heads, first, last - first + 1, error);
        if (status != ROTARY_OK)
            return status;
    }
    /* Key n has the distance row->query - n, and entry `zero` - n. */
    const int64_t zero = row->query - kind->first, begin = max_i64(row->first, zero - kind->distances + 1),
                  end = min_i64(row->end, zero + 1);
    int64_t *pairs = kind->pairs + row->layer * kind->distances;
    double *means[DECAY_MEASURES];
    for (int i = 0; i < DECAY_MEASURES; i++)
        means[i] = kind->means[i] + (row->layer * kind->heads + row->head) * kind->distances;
    for (int64_t n = begin; n < end; n++) {
        pairs[zero - n] += row->head == 0;
        means[DECAY_SCORE][zero - n] += row->scores[n];
        means[DECAY_WEIGHT][zero - n] += (double)row->weights[n];
        means[DECAY_BIAS][zero - n] += row->biases[n];
    }
    return ROTARY_OK;
}

static rotary_status divide(struct decay_kind *kind, rotary_error *error)
{
    for (int64_t i = 0; i < kind->layers * kind->heads * kind->distances; i++) {
        const int64_t layer = i / (kind->heads * kind->distances), distance = i % kind->distances,
                      pairs = kind->pairs[layer * kind->distances + distance];
        for (int measure = 0; measure < DECAY_MEASURES; measure++) {
            if (pairs > 0 && !isfinite(kind->means[measure][i]))
                return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                   "the model computes numbers that are not finite: it diverged");
            kind->means[measure][i] = pairs > 0 ? kind->means[measure][i] / (double)pairs : (double)NAN;
        }
    }
    return ROTARY_OK;
}

/* ---- the run ---- */

/* The longest sequences, of encoder and decoder. */
static rotary_status find_furthest(const struct sequences *sequences, struct sums *sums, rotary_error *error)
{
    const int64_t distance = sequences->request->distance, limit = distance > 0 ? distance : INT64_MAX;
    for (int64_t i = 0; i < sequences->count; i++) {
        const struct attention_weights_call call = sequence_at(sequences, i);
        sums->furthest[sums->reader] = max_i64(sums->furthest[sums->reader], call.count - 1);
        if (call.source)
            sums->furthest[ATTENTION_ENCODER] =
                max_i64(sums->furthest[ATTENTION_ENCODER], call.source_count - 1);
    }
    for (int kind = 0; kind < ATTENTION_KINDS; kind++)
        sums->furthest[kind] = min_i64(sums->furthest[kind], limit);
    if (sequences->count < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the task has no validation sequences");
    return ROTARY_OK;
}

static rotary_status add_sequences(const struct sequences *sequences, struct transformer *transformer,
                                   struct sums *sums, rotary_error *error)
{
    const struct decay_request *request = sequences->request;
    const struct attention_row_observer observer = {.see = add_row, .context = sums};
    rotary_status status = find_furthest(sequences, sums, error);
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
    struct sums sums = {.decay = decay, .reader = ATTENTION_DECODER};
    if (config->architecture == ARCHITECTURE_ENCODER)
        sums.reader = ATTENTION_ENCODER;
    sums.layers[ATTENTION_ENCODER] = config->num_encoder_layers;
    sums.layers[sums.reader] = config->num_hidden_layers;
    rotary_status status = open_sequences(&sequences, error);
    if (status == ROTARY_OK)
        status = add_sequences(&sequences, transformer, &sums, error);
    for (int kind = 0; status == ROTARY_OK && kind < ATTENTION_KINDS; kind++)
        status = divide(&decay->kinds[kind], error);
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
    snprintf(decay->position, sizeof decay->position, "%s",
             model_encoding_name(&request->model->config.model));
    snprintf(decay->checkpoint, sizeof decay->checkpoint, "%s", checkpoint_names[request->checkpoint]);
    rotary_status status = measure(decay, request, &inner);
    if (status != ROTARY_OK)
        return rotary_fail(error, status, "%s: %.400s", request->folder, inner.message);
    return measured_decay_write(decay, request->folder, error);
}
