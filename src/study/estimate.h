/* SPDX-License-Identifier: Apache-2.0
 *
 * What a list of runs will take, and how many of them are best trained side by side.
 */
#ifndef ROTARY_STUDY_ESTIMATE_H
#define ROTARY_STUDY_ESTIMATE_H

#include "train/run.h"

#include <stdatomic.h>

/* What is left to do. */
struct estimate_work {
    int runs;
    int64_t steps, evaluations; /* of each run */
    bool uneven;                /* runs have other numbers of steps left, of which `steps` is the mean */
};

/* Seconds of a step and of an evaluation of each run while `jobs` of them share the threads. */
struct estimate_times {
    int jobs;
    double step, evaluation;
};

enum { ESTIMATE_ROWS = 16 };

/* ceil(runs / jobs) (steps step + evaluations evaluation): runs are equally long. */
double estimate_seconds(const struct estimate_times *times, const struct estimate_work *work);

/* The row that takes the least time. Rows are in ascending order of jobs, and more jobs must save at least
 * ESTIMATE_GAIN: a measurement that short is no more exact, and fewer jobs need less memory. */
#define ESTIMATE_GAIN 0.03
int estimate_choose(const struct estimate_times *rows, int count, const struct estimate_work *work);

/* The numbers of jobs, ascending, that are worth measuring: the powers of two, those that take one to four
 * rounds, and `limit`, above which there is none. Returns how many there are. */
int estimate_candidates(int candidates[ESTIMATE_ROWS], int runs, int limit);

/* The most jobs that there may be: as many as runs, as threads, and as have room in `available` bytes. At
 * least 1. */
struct estimate_limits {
    int runs, threads;
    size_t run_bytes, available;
};
int estimate_limit(const struct estimate_limits *limits);

struct estimate_call {
    const struct run_config *config; /* of a run, checked; others are taken to be as long */
    const struct backend *backend;   /* has all threads */
    struct estimate_work work;
    int jobs;                       /* 0: the best number; else this one, if there is room for it */
    const atomic_bool *interrupted; /* once true, it ends with ROTARY_INTERRUPTED. May be NULL */
};

struct estimate {
    int jobs;
    int limit; /* the most that there may be */
    double seconds;
    size_t run_bytes; /* of one run */
};

/* Trains models for some steps, evaluates them, and writes nothing. Measures one job first. Others are
 * measured only if the runs will take ESTIMATE_SECONDS or more, and for at most ESTIMATE_SHARE of that:
 * without, the choice is one job. The model that it trains has another seed than the runs.
 * ROTARY_OUT_OF_MEMORY if there is no room for one run. */
#define ESTIMATE_SECONDS 30.0
#define ESTIMATE_SHARE   0.05
ROTARY_CHECKED rotary_status estimate_make(const struct estimate_call *call, struct estimate *estimate,
                                           rotary_error *error);

#endif
