/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs put side by side: grouped by encoding, paired by seed, summed up. Made from records alone, whether the
 * runs are finished or not; only finished ones count.
 */
#ifndef ROTARY_STUDY_COMPARISON_H
#define ROTARY_STUDY_COMPARISON_H

#include "study/records.h"
#include "study/statistics.h"

/* What is measured at the end of a run. Right answers are in percent of the problems. */
enum measure { MEASURE_RIGHT, MEASURE_LOSS, MEASURES };

struct comparison_encoding {
    const char *name; /* of the position encoding; borrowed */
    int run_count;    /* finished ones */
    /* Of each of them, by seed. The first array of values owns the memory of all. */
    double *values[MEASURES]; /* NaN where a run has no such measure */
    int64_t *steps_to_90;     /* first evaluation with 90% right answers; NOT_REACHED is a value */
    int *runs;                /* index into the records */
    struct statistics statistics[MEASURES];
    /* Against the first encoding, over the seeds both have finished: each pair's difference, and all
     * together. */
    double *differences[MEASURES];
    int64_t *pair_seeds;
    struct paired_difference difference[MEASURES];
    struct reached reached; /* 90% right answers */
};

struct comparison {
    const struct record *records;          /* borrowed */
    struct comparison_encoding *encodings; /* in order of `positions`; the first is the baseline */
    int encoding_count;
    bool has_problems; /* else the only measure is the loss */
    int64_t problems;  /* of an evaluation */
    int64_t steps;     /* of a run; the most, where they differ */
    int unfinished;    /* records that do not count yet */
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

/* One sentence about encoding `index` against the first, such as "roper better than rope by 12.1 points of
 * right answers, 95% interval [3.9, 20.4], 5 pairs". The caller frees *sentence. */
ROTARY_CHECKED rotary_status comparison_verdict(const struct comparison *comparison, int index,
                                                char **sentence, rotary_error *error);
/* Whether an interval is shown of so few pairs that statistics_caution should stand beside it. */
bool comparison_few_pairs(const struct comparison *comparison);
/* The table and the verdicts as plain text, aligned, each line ended. The caller frees *text. */
ROTARY_CHECKED rotary_status comparison_text(const struct comparison *comparison, char **text,
                                             rotary_error *error);
/* The same and every run's values. What is not defined or infinite is null. */
ROTARY_CHECKED rotary_status comparison_json(const struct comparison *comparison, json_t **object,
                                             rotary_error *error);

#endif
