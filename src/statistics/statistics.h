/* SPDX-License-Identifier: Apache-2.0
 *
 * Summary statistics of a few runs, and the confidence interval of a paired difference.
 */
#ifndef ROTARY_STATISTICS_STATISTICS_H
#define ROTARY_STATISTICS_STATISTICS_H

#include "score/measure.h"

#include <rotary/status.h>

/* Sums up the scores of `count` runs. Undefined values are NaN: all without runs or if a score is NaN; the
 * deviation and the mean without the worst of a single run. */
struct statistics {
    int count;
    double mean, median;
    double deviation; /* standard deviation, n - 1 in the denominator */
    double min, max;
    double without_worst; /* mean of all runs but the worst */
    double low, high;     /* the 95% interval of the mean over runs, Student's; of two runs or more */
};
void statistics_of(struct statistics *statistics, const double *values, int count, enum direction direction);

/* Fewer pairs never give a verdict: the 32 sign patterns of six are the first of which one is 5% or less. */
enum { ENOUGH_PAIRS = 6 };

/* Differences between runs of the same seed, data and initial weights: encoding minus baseline. Undefined
 * values are NaN: all without pairs or if a difference is NaN; from `deviation` on with one pair; the t test
 * and the interval if `error` is 0. */
struct paired_difference {
    int count;
    double mean, median;
    double deviation;        /* standard deviation of the differences; 0 if they are equal but for rounding */
    double error;            /* standard error of the mean */
    double t_test_p;         /* two-sided, by Student's t with count - 1 degrees of freedom (student.h) */
    double level, low, high; /* the interval of the mean at that level, by the same t */
    double sign_flip_p;      /* two-sided (sign_flip.h), from one pair on */
    double sign_flip_min_p;  /* the smallest that so many pairs can give */
};
/* The standard error is deviation / √count, the level 95%. */
struct paired_difference statistics_paired(const double *differences, int count);

/* Where it is known that scores are measured with an error, equal differences do not show that there is none.
 * Raises the standard error of the mean to at least `noise` (binomial.h), and sets the t test and the 95%
 * interval anew. */
void statistics_add_noise(struct paired_difference *difference, double noise);

/* Cuts the interval where no difference can be: scores with bounds differ by `most`, at most. An interval that is
 * not known stays unknown. */
void statistics_keep_within(struct paired_difference *difference, double most);

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
