/* SPDX-License-Identifier: Apache-2.0
 *
 * Summary statistics of a few runs, and the confidence interval of a paired difference.
 */
#ifndef ROTARY_STUDY_STATISTICS_H
#define ROTARY_STUDY_STATISTICS_H

#include <rotary/status.h>

enum direction { HIGHER_IS_BETTER, LOWER_IS_BETTER };

/* Of the scores of `count` runs. Undefined values are NaN: all without runs or if
 * a score is NaN; the deviation and the mean without the worst of a single run. */
struct statistics {
    int count;
    double mean, median;
    double deviation; /* standard deviation, n - 1 in the denominator */
    double min, max;
    double without_worst; /* mean of all runs but the worst */
};
void statistics_of(struct statistics *statistics, const double *values, int count, enum direction direction);

/* Differences between runs of the same seed, data and initial weights: encoding minus baseline. [low, high]
 * is the 95% confidence interval of their mean by Student's t ("The probable error of a mean", Biometrika
 * 1908); NaN for fewer than two. */
struct paired_difference {
    int count;
    double mean, low, high;
};
struct paired_difference statistics_paired(const double *differences, int count);

/* What the interval shows. Fewer than ENOUGH_PAIRS pairs show nothing: two differences may be equal by
 * chance, and their interval has no width then. */
enum { ENOUGH_PAIRS = 3 };
enum verdict { VERDICT_TOO_FEW, VERDICT_NO_DIFFERENCE, VERDICT_BETTER, VERDICT_WORSE };
enum verdict statistics_verdict(const struct paired_difference *difference, enum direction direction);

/* The steps after which runs first reached a goal. A run that never did, NOT_REACHED, counts as slower than
 * every run that did. */
enum { NOT_REACHED = -1 };
struct reached {
    int count, reached; /* runs; runs that reached the goal */
    double median;      /* infinite if half of the runs or more never did */
};
ROTARY_CHECKED rotary_status statistics_reached(struct reached *reached, const int64_t *steps, int count,
                                                rotary_error *error);

#endif
