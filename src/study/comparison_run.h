/* SPDX-License-Identifier: Apache-2.0
 *
 * Trains a run for every encoding and every seed.
 *
 *     <folder>/compare.json           COMPARE_FORMAT, positions, runs, command, configuration
 *     <folder>/<position>-<seed>/     a run (src/train/run.h), such as roper-3/
 *     <folder>/report.html            made by report_write (src/report/report.h)
 *
 * Runs of the same seed see the same data in the same order, and their parameters of the same name and shape
 * start from the same weights: data is a function of (seed, step, row), initial weights of (seed, name). Runs
 * are trained seed by seed (rope-1, roper-1, rope-2, ...), so that an interrupted comparison already has
 * pairs.
 *
 * The results are read from the folder: collection_read (study/collection.h).
 */
#ifndef ROTARY_STUDY_COMPARISON_RUN_H
#define ROTARY_STUDY_COMPARISON_RUN_H

#include "train/train.h"

struct compare_progress {
    int run, runs;        /* this run, counted from 1; number of runs */
    const char *position; /* its encoding's name */
    int64_t seed;
    const struct train_progress *train; /* NULL: the run was already finished, or diverged */
    int64_t diverged;                   /* the step at which it diverged; 0: it did not */
};

struct compare_call {
    const struct run_config *config; /* checked; its position is replaced, its seed is the first */
    const int *positions; /* values of decoder_config.position, distinct; the first is the baseline */
    int position_count;
    int runs; /* of each encoding: seeds config->train.seed, the next, ... */
    const struct backend *backend;
    const char *folder;
    const char *command; /* the command line, for compare.json */
    /* Called after every step of every run, from the calling thread. May be NULL. */
    void (*progress)(void *argument, const struct compare_progress *progress);
    void *argument;
    const atomic_bool *interrupted; /* as in train_call. May be NULL */
};

/* Trains the runs that are not finished. A folder that holds a comparison is always resumed: finished runs
 * are kept, an interrupted run resumes. The call may have other positions, runs, log_every, evaluate_every
 * and checkpoint_every than the folder, and more steps unless the schedule depends on their number
 * (run_config_check_steps); with more steps finished runs resume, too. Any other difference is
 * ROTARY_INVALID_ARGUMENT, and the message has its key. A folder that holds something else is refused. A run
 * that diverges is finished without a score, and the comparison continues. */
ROTARY_CHECKED rotary_status compare(const struct compare_call *call, rotary_error *error);

#endif
