/* SPDX-License-Identifier: Apache-2.0 */
#include "study/length_run.h"

#include "base/fail.h"
#include "records/collection.h"

#include <math.h>
#include <stdio.h>

struct record_length length_record(const struct length_wanted *wanted, const struct evaluation *evaluation)
{
    struct record_length record = {.length = wanted->length, .possible = evaluation != NULL};
    snprintf(record.scaling, sizeof record.scaling, "%s", length_scaling_names[wanted->scaling]);
    if (!evaluation)
        return record;
    record.correct = evaluation->correct;
    record.problems = evaluation->problems;
    record.loss = evaluation->loss;
    record.bits_per_byte = isfinite(evaluation->bits_per_byte) ? evaluation->bits_per_byte : 0;
    record.positions = evaluation->positions;
    return record;
}

static rotary_status score(const struct length_run_call *call, const struct record *record,
                           const struct run_config *config, const struct length_wanted *wanted,
                           struct record_length *scored, rotary_error *error)
{
    const struct evaluation_config how = {.seed = (uint64_t)config->train.seed,
                                          .problems = config->task.problems,
                                          .validation_sequences = config->train.validation_sequences,
                                          .interrupted = call->interrupted};
    const struct length_call one = {.folder = record->folder,
                                    .checkpoint = record->averages ? CHECKPOINT_AVERAGE : CHECKPOINT_LAST,
                                    .config = config,
                                    .backend = call->backend,
                                    .evaluation = &how,
                                    .length = wanted->length,
                                    .scaling = wanted->scaling,
                                    .factors = call->factors};
    struct evaluation evaluation = {0};
    const bool possible = length_is_possible(&one);
    rotary_status status = possible ? length_evaluate(&one, &evaluation, error) : ROTARY_OK;
    *scored = length_record(wanted, possible ? &evaluation : NULL);
    return status;
}

/* Whether the record has the score. That of longrope may be one with other factors. */
static bool is_there(const struct record *record, const struct length_wanted *wanted)
{
    return wanted->scaling != LENGTH_SCALING_LONGROPE &&
           record_lengths_find(&record->lengths, wanted->length, length_scaling_names[wanted->scaling]);
}

/* Adds what is wanted and not there; *changed: there was something. */
static rotary_status complete(const struct length_run_call *call, struct record *record, bool *changed,
                              rotary_error *error)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    rotary_status status = run_read_config(record->folder, &config, error);
    for (int i = 0; status == ROTARY_OK && i < call->count; i++) {
        struct record_length scored;
        const struct length_wanted *wanted = &call->wanted[i];
        if (is_there(record, wanted))
            continue;
        *changed = true;
        status = score(call, record, &config, wanted, &scored, error);
        if (status == ROTARY_OK)
            status = record_lengths_add(&record->lengths, &scored, error);
    }
    return status;
}

/* The record has what was scored before of these weights. */
static rotary_status score_run(const struct length_run_call *call, struct record *record, rotary_error *error)
{
    bool changed = false;
    record->lengths.step = record->done;
    rotary_status status = complete(call, record, &changed, error);
    if (status == ROTARY_OK && changed)
        status = record_lengths_write(&record->lengths, record->folder, error);
    return status;
}

rotary_status length_run(const struct length_run_call *call, rotary_error *error)
{
    struct collection collection;
    rotary_status status = collection_read(&collection, &call->folder, 1, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; status == ROTARY_OK && i < collection.record_count; i++) {
        struct record *record = &collection.records[i];
        if (!record_finished(record) || record->diverged)
            continue;
        if (call->progress)
            call->progress(call->argument, record->folder, i + 1, collection.record_count);
        status = score_run(call, record, error);
    }
    collection_free(&collection);
    return status;
}
