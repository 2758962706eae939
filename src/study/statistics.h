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
    double least, most;
    double without_worst; /* mean of all runs but the worst one */
};
void statistics_of(struct statistics *statistics, const double *values, int count, enum direction direction);

/* The middle value, or the mean of the middle two; NaN of none. Infinities are values like others. */
double statistics_median(const double *values, int count);

/* Differences of runs that shared seed, data and initial weights: encoding minus baseline. [low, high] is the
 * 95% percentile bootstrap interval of their mean (Efron 1979): the mean is taken anew over
 * BOOTSTRAP_RESAMPLES draws with replacement of as many differences. Draws come from ROTARY_STREAM_BOOTSTRAP
 * of a fixed seed, so the same differences have the same interval. One difference, or equal ones, give an
 * interval of no width; none give NaN. */
enum { BOOTSTRAP_RESAMPLES = 10000 };
struct paired_difference {
    int count;
    double mean, low, high;
};
ROTARY_CHECKED rotary_status statistics_paired(struct paired_difference *paired, const double *differences,
                                               int count, rotary_error *error);

/* What an interval allows one to say. Below ENOUGH_PAIRS pairs nothing is claimed: the interval of so few
 * means little. */
enum { ENOUGH_PAIRS = 3 };
enum verdict { VERDICT_TOO_FEW, VERDICT_NO_DIFFERENCE, VERDICT_BETTER, VERDICT_WORSE };
enum verdict statistics_verdict(const struct paired_difference *difference, enum direction direction);

/* What a reader of an interval of few pairs should know; tests/study/test_statistics.c measures it. */
enum { MANY_PAIRS = 10 };
extern const char statistics_caution[];

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
