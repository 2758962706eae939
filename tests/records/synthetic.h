/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders of runs that were never trained: smooth curves with noise, a pure function of position and seed.
 */
#ifndef TESTS_STUDY_SYNTHETIC_H
#define TESTS_STUDY_SYNTHETIC_H

#include "records/collection.h"

struct synthetic_run {
    const char *task, *position;
    int64_t seed;
    int64_t steps, done; /* done < steps: unfinished, or diverged */
    int64_t evaluate_every;
    int64_t problems;   /* 0: the task has none */
    double half;        /* the step at which half of the problems are correct */
    const char *prompt; /* of the samples; NULL: one of the index task's */
    bool diverged;      /* at the step after `done` */
};

/* 600 steps of the index task from seed 1; has no position and no half. */
extern const struct synthetic_run synthetic_quick;

/* <folder>/<name>, in one of sixteen buffers: valid until the sixteenth call after this one. */
const char *synthetic_path(const char *folder, const char *name);

/* Replaces the text of <folder>/<name>, making the folder. */
void synthetic_write(const char *folder, const char *name, const char *text);
/* Adds to it. */
void synthetic_append(const char *folder, const char *name, const char *text);
/* Writes config.json and metrics.jsonl. */
void synthetic_run(const char *folder, const struct synthetic_run *run);
/* The same in a comparison's folder, as <folder>/<position>-<seed>. */
void synthetic_run_of(const char *folder, const struct synthetic_run *run);
/* A comparison in <folder>: compare.json and every run. Runs are alike but for position, seed and half: the
 * encoding's own, and a little of the seed's. */
void synthetic_comparison(const char *folder, const struct synthetic_run *run, int runs, int positions,
                          const char *const *names, const double *halves);
/* Replaces the run roper-<seed> of a quick comparison by one that got to step `done` and is unfinished, or
 * diverged at the next. */
void synthetic_stop(const char *folder, int64_t seed, int64_t done, bool diverged);

/* Reads a comparison or a run; if that fails, so does the test. The caller frees it. */
struct collection synthetic_read(const char *folder);

#endif
