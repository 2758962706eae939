/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders of runs that were never trained: smooth curves with noise, a pure function of position and seed.
 */
#ifndef TESTS_STUDY_SYNTHETIC_H
#define TESTS_STUDY_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

enum { SYNTHETIC_PATH = 1024 };

struct synthetic_run {
    const char *task, *position;
    int64_t seed;
    int64_t steps, done; /* done < steps: unfinished */
    int64_t evaluate_every;
    int64_t problems;   /* 0: the task has none */
    double half;        /* the step at which half of the problems are right */
    const char *prompt; /* of the samples; NULL: one of the index task's */
};

/* Replaces the text of <folder>/<name>, making the folder. */
void synthetic_write(const char *folder, const char *name, const char *text);
/* Adds to it. */
void synthetic_append(const char *folder, const char *name, const char *text);
/* Writes config.json and metrics.jsonl. */
void synthetic_run(const char *folder, const struct synthetic_run *run);
/* A comparison in <folder>: compare.json and every run, <position>-<seed>. Runs are alike but for position,
 * seed and half: the encoding's own, and a little of the seed's. */
void synthetic_comparison(const char *folder, const struct synthetic_run *run, int runs, int positions,
                          const char *const *names, const double *halves);

#endif
