/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison of runs: grouped by encoding, paired by seed, with statistics. It is made from records alone.
 * Only finished runs count. A run that diverged has no score: it is counted separately and left out of means
 * and pairs. It is the worst run in "the mean without the worst", which is undefined if two or more diverged.
 */
#ifndef ROTARY_STUDY_COMPARISON_H
#define ROTARY_STUDY_COMPARISON_H

#include "study/records.h"
#include "study/statistics.h"

/* What is measured at the end of a run: exact match in percent of the problems, validation loss in nats per
 * token. */
enum measure { MEASURE_EXACT_MATCH, MEASURE_VALIDATION_LOSS, MEASURES };

struct comparison_encoding {
    const char *name; /* of the position encoding; borrowed */
    int run_count;    /* finished and not diverged */
    int diverged_count;
    /* run_count values, by seed. values[0] owns the memory of all arrays here. */
    double *values[MEASURES]; /* NaN where a run has no such measure */
    /* run_count and then diverged_count values, each by seed. */
    int64_t *steps_to_90; /* step of the first evaluation with 90% exact match, or NOT_REACHED; always
                             NOT_REACHED for a run that diverged */
    int *runs;            /* index into the records */
    struct statistics statistics[MEASURES];
    /* Differences from the first encoding, over the seeds that both have finished: each, and their mean. */
    double *differences[MEASURES];
    int64_t *pair_seeds;
    struct paired_difference difference[MEASURES];
    struct reached reached; /* 90% exact match; of run_count + diverged_count runs */
};

struct comparison {
    const struct record *records;          /* borrowed */
    struct comparison_encoding *encodings; /* in order of `positions`; the first is the baseline */
    int encoding_count;
    bool has_problems; /* else the validation loss is the only measure */
    int64_t problems;  /* of an evaluation */
    int64_t steps;     /* of a run; the maximum where they differ */
    int unfinished;    /* records of unfinished runs */
    int diverged;      /* records of runs that diverged */
};

/* Groups `count` records. `positions` gives the order of encodings, of which the first is the baseline; NULL:
 * in order of appearance. The records must be of one task and live as long as the comparison. Two finished
 * records of the same encoding and seed are ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status comparison_create(struct comparison **comparison, const struct record *records,
                                               int count, const char *const *positions, int position_count,
                                               rotary_error *error);
void comparison_destroy(struct comparison *comparison);

/* The measure that decides: exact match if the task has problems, else validation loss. */
enum measure comparison_measure(const struct comparison *comparison);
enum direction measure_direction(enum measure measure);

/* The index of the encoding of that name; -1 if there is none. */
int comparison_find(const struct comparison *comparison, const char *name);

#endif
