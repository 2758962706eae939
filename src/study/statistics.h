/* SPDX-License-Identifier: Apache-2.0
 *
 * Summary statistics of a few runs, and the confidence interval of a paired difference.
 */
#ifndef ROTARY_STUDY_STATISTICS_H
#define ROTARY_STUDY_STATISTICS_H

#include "score/measure.h"

#include <rotary/status.h>

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

/* Differences between runs of the same seed, data and initial weights: encoding minus baseline. Undefined
 * values are NaN: all without pairs or if a difference is NaN; from `deviation` on with one pair; the t test
 * and the interval if `error` is 0. */
struct paired_difference {
    int count;
    double mean;
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

/* Sets the interval at another level, for example that of Holm's correction (holm.h). */
void statistics_set_level(struct paired_difference *difference, double level);

/* What the interval shows. Fewer than ENOUGH_PAIRS pairs show nothing. Nor does any number of equal
 * differences, which have no interval: nothing says how far others would lie from them. */
enum { ENOUGH_PAIRS = 3 };
enum verdict { VERDICT_TOO_FEW, VERDICT_NO_SPREAD, VERDICT_NO_DIFFERENCE, VERDICT_BETTER, VERDICT_WORSE };
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

/* The time to a goal as a score of each run, which can be paired: the restricted time min(T, horizon), whose
 * mean is the restricted mean survival time (Royston and Parmar, BMC Medical Research Methodology 2013). A
 * run that did not reach the goal within `horizon` steps has the horizon. So a pair of which neither run got
 * there differs by 0, and a pair of which one did differs by less than it would have later. */
double statistics_restricted_time(int64_t step, int64_t horizon);

/* Of how many pairs one run alone, or neither, reached the goal within the horizon. Without a pair of which
 * one did, all differences are 0 and there is no verdict. */
struct censored {
    int one, both;
};
struct censored statistics_censored(const int64_t *steps, const int64_t *baseline_steps, int count,
                                    int64_t horizon);

#endif
