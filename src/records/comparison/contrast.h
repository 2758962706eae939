/* SPDX-License-Identifier: Apache-2.0
 *
 * Two arms that are compared, seed by seed.
 */
#ifndef ROTARY_RECORDS_COMPARISON_CONTRAST_H
#define ROTARY_RECORDS_COMPARISON_CONTRAST_H

#include "statistics/statistics.h"

/* Two runs of one seed, by their indices into the records. */
struct contrast_pair {
    int64_t seed;
    int arm, baseline;
    bool diverged; /* a run of them, or both: its score is record_worst (records.h) */
};

/* Two arms that are compared, over the seeds that both have finished: an arm minus its baseline. */
struct contrast {
    int arm, baseline; /* indices into the comparison's arms */
    int pair_count;
    struct contrast_pair *pairs;   /* by seed */
    double *differences[MEASURES]; /* of each pair. differences[0] owns the memory of all arrays here. */
    /* 95% intervals, within the bounds of the measure. That of the primary measure holds for all contrasts of
     * the family at once (max_t.h), or at any look (sequential.h); the others are Student's, in which exact
     * match has its binomial noise (binomial.h). */
    struct paired_difference difference[MEASURES];
    bool judged;       /* belongs to the family: has enough pairs, all with a score */
    double adjusted_p; /* of the primary measure, for all contrasts of the family; NaN: not judged */
    /* What the primary measure's spread allows, four times in five (power.h): the least difference that so
     * many pairs show, NaN without a spread, and how many pairs would show a difference as large as the mean
     * found. */
    double detectable;
    int needed_pairs;
    /* A sequential comparison has the pairs at the look that decided, 0 if none has, and their mean. */
    int look;
    double look_mean;
    int censored; /* pairs of which a run, or both, never had 90% exact match */
};

/* The pairs of which no run diverged. */
int contrast_undiverged(const struct contrast *contrast);

#endif
