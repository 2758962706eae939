/* SPDX-License-Identifier: Apache-2.0
 *
 * How many pairs a difference needs. The power is the probability that the t test of paired normal
 * differences (statistics_paired) finds a difference, to either side, at level alpha. An effect is the true
 * mean difference in standard deviations of the paired differences: t then has the noncentral t distribution
 * with noncentrality effect √pairs (Cohen, "Statistical power analysis for the behavioral sciences", 1988).
 */
#ifndef ROTARY_STUDY_POWER_H
#define ROTARY_STUDY_POWER_H

/* The power of at least two pairs; absolute errors are below 1e-9. The sign of the effect does not matter. */
double power_of(double effect, int pairs, double alpha);

/* The fewest pairs, from ENOUGH_PAIRS on, that give at least that power; POWER_MAX_PAIRS if no fewer do, as
 * for an effect of 0. */
enum { POWER_MAX_PAIRS = 100000 };
int power_pairs(double effect, double power, double alpha);

/* The smallest effect that so many pairs, at least two, find with that power, which is more than alpha. */
double power_effect(int pairs, double power, double alpha);

#endif
