/* SPDX-License-Identifier: Apache-2.0
 *
 * Training every encoding from every seed, side by side.
 *
 *     <folder>/compare.json           COMPARE_FORMAT, positions, runs, command, configuration
 *     <folder>/<position>-<seed>/     a run (src/train/run.h), such as roper-3/
 *     <folder>/report.html            made by report_write (src/report/report.h)
 *
 * Runs of one seed see the same data in the same order and start from the same weights wherever parameters
 * agree in name and shape: data is a function of (seed, step, row), and initial weights of (seed, name). Runs
 * are made seed by seed (rope-1, roper-1, rope-2, ...), so that a comparison that was stopped half way is
 * already one of pairs.
 *
 * The results are read from the folder afterwards: collection_read (study/collection.h).
 */
#ifndef ROTARY_STUDY_COMPARISON_RUN_H
#define ROTARY_STUDY_COMPARISON_RUN_H

#include "train/train.h"

struct compare_progress {
    int run, runs;        /* this run, counted from 1; all of them */
    const char *position; /* its encoding's name */
    int64_t seed;
    const struct train_progress *train; /* NULL: the run was found finished, or diverged */
    int64_t diverged;                   /* the step it diverged at; 0: it did not */
};

struct compare_call {
    const struct run_config *config; /* checked; its position is replaced, its seed is the first one */
    const int *positions; /* values of decoder_config.position, distinct; the first is the baseline */
    int position_count;
    int runs; /* seeds an encoding: config->train.seed, the next, ... */
    const struct compute *compute;
    const char *folder;
    const char *command; /* the command line, for the record */
    /* Called after every step of every run, from the calling thread. May be NULL. */
    void (*progress)(void *argument, const struct compare_progress *progress);
    void *argument;
    const atomic_bool *interrupted; /* as in train_call. May be NULL */
};

/* Trains what is not trained yet. A folder that holds a comparison is always continued: finished runs are
 * read back, the interrupted one resumes where it stopped. More runs or other positions than last time are
 * fine, and so are other log_every, evaluate_every and checkpoint_every, and more steps unless the schedule
 * leads to the last one (run_config_extends): then finished runs go on too. A configuration that differs
 * otherwise from the folder's is ROTARY_INVALID_ARGUMENT and names the key. A folder that holds something
 * else is refused. A run that diverges is a finished run without a score, and the others go on. */
ROTARY_CHECKED rotary_status compare(const struct compare_call *call, rotary_error *error);

#endif
