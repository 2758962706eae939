/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores the runs of a comparison at other lengths than that of training, into their folders
 * (records/record_lengths.h).
 */
#ifndef ROTARY_STUDY_LENGTH_RUN_H
#define ROTARY_STUDY_LENGTH_RUN_H

#include "train/evaluation/length_evaluation.h"

struct length_wanted {
    int64_t length;
    enum length_scaling scaling;
};

/* What was scored as a record has it: NULL, the model cannot compute such sequences. */
struct record_length length_record(const struct length_wanted *wanted, const struct evaluation *evaluation);

struct length_run_call {
    const char *folder; /* of a comparison */
    const struct backend *backend;
    const struct length_wanted *wanted;
    int count;
    const json_t *factors; /* of longrope, as in length_call. May be NULL */
    /* Called before a run is scored, `number` counted from 1. May be NULL. */
    void (*progress)(void *argument, const char *run, int number, int runs);
    void *argument;
    const atomic_bool *interrupted; /* as in evaluation_config. May be NULL */
};

/* Scores every finished run that did not diverge. What a run has already, of the weights it has now, is kept,
 * but for longrope, whose factors may be others than they were.
 * ROTARY_INTERRUPTED keeps the runs that are done. */
ROTARY_CHECKED rotary_status length_run(const struct length_run_call *call, rotary_error *error);

#endif
