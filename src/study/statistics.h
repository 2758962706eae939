/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers behind a verdict: what a handful of runs says, and how sure one may be of it.
 */
#ifndef ROTARY_STUDY_STATISTICS_H
#define ROTARY_STUDY_STATISTICS_H

#include <rotary/status.h>

enum direction { HIGHER_IS_BETTER, LOWER_IS_BETTER };

/* What `count` runs scored. A member that is not defined (all without runs; the deviation and the mean
 * without the worst of a single run) is NaN. */
struct statistics {
    int count;
    double mean, median;
    double deviation; /* standard deviation, n - 1 in the denominator */
    double min, max;
    double without_worst; /* mean of all runs but the worst one */
};
void statistics_of(struct statistics *statistics, const double *values, int count, enum direction direction);

/* Differences of runs that shared seed, data and initial weights: encoding minus baseline. [low, high] is the
 * 95% interval of their mean by Student's t ("The probable error of a mean", Biometrika 1908); NaN of fewer
 * than two. */
struct paired_difference {
    int count;
    double mean, low, high;
};
struct paired_difference statistics_paired(const double *differences, int count);

/* What an interval allows one to say. Below ENOUGH_PAIRS pairs nothing is claimed: that two scores agree by
 * chance, and leave an interval of no width, is too likely. */
enum { ENOUGH_PAIRS = 3 };
enum verdict { VERDICT_TOO_FEW, VERDICT_NO_DIFFERENCE, VERDICT_BETTER, VERDICT_WORSE };
enum verdict statistics_verdict(const struct paired_difference *difference, enum direction direction);

/* When a run first did something, in steps. NOT_REACHED is kept as it is: a run that never got there is not
 * left out, and counts as slower than any that did. */
enum { NOT_REACHED = -1 };
struct reached {
    int count, reached; /* runs; runs that got there */
    double median;      /* infinite when half of the runs or more never got there */
};
ROTARY_CHECKED rotary_status statistics_reached(struct reached *reached, const int64_t *steps, int count,
                                                rotary_error *error);

#endif
