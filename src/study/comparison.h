/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs put side by side: grouped by encoding, paired by seed, summed up. Made from records alone, whether the
 * runs are finished or not; only finished ones count. Of these, runs that diverged have no score: they are
 * counted by themselves, left out of means and pairs, and of "the mean without the worst" a single one is the
 * worst, and more leave nothing to be said.
 */
#ifndef ROTARY_STUDY_COMPARISON_H
#define ROTARY_STUDY_COMPARISON_H

#include "study/records.h"
#include "study/statistics.h"

/* What is measured at the end of a run. Right answers are in percent of the problems. */
enum measure { MEASURE_EXACT_MATCH, MEASURE_VALIDATION_LOSS, MEASURES };

struct comparison_encoding {
    const char *name; /* of the position encoding; borrowed */
    int run_count;    /* finished ones that did not diverge */
    int diverged_count;
    /* Of each of run_count, by seed. The first array of values owns the memory of all. */
    double *values[MEASURES]; /* NaN where a run has no such measure */
    /* Of each of run_count and, behind them, diverged_count runs, both by seed. */
    int64_t *steps_to_90; /* first evaluation with 90% right answers; NOT_REACHED is a value, and that of a
                             run that diverged */
    int *runs;            /* index into the records */
    struct statistics statistics[MEASURES];
    /* Against the first encoding, over the seeds both have finished: each pair's difference, and all
     * together. */
    double *differences[MEASURES];
    int64_t *pair_seeds;
    struct paired_difference difference[MEASURES];
    struct reached reached; /* 90% right answers; of all run_count + diverged_count */
};

struct comparison {
    const struct record *records;          /* borrowed */
    struct comparison_encoding *encodings; /* in order of `positions`; the first is the baseline */
    int encoding_count;
    bool has_problems; /* else the only measure is the loss */
    int64_t problems;  /* of an evaluation */
    int64_t steps;     /* of a run; the most, where they differ */
    int unfinished;    /* records that do not count yet */
    int diverged;      /* records of runs that diverged */
};

/* Groups `count` records. `positions` gives the order of encodings, the first being the baseline; NULL: in
 * order of appearance. The records must be of one task and live as long as the comparison. Two finished
 * records of one encoding and seed are ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status comparison_create(struct comparison **comparison, const struct record *records,
                                               int count, const char *const *positions, int position_count,
                                               rotary_error *error);
void comparison_destroy(struct comparison *comparison);

/* The measure the verdict is about: right answers where the task has problems, else the held-out loss. */
enum measure comparison_measure(const struct comparison *comparison);
enum direction measure_direction(enum measure measure);

/* The encoding of that name, which is its place among the comparison's; -1: there is none. */
int comparison_find(const struct comparison *comparison, const char *name);

#endif
