/* SPDX-License-Identifier: Apache-2.0
 *
 * How precisely a finite number of problems measures exact match. A score of `problems` problems is a
 * binomial proportion; its noise is there even if the scores of all seeds are equal.
 */
#ifndef ROTARY_STATISTICS_BINOMIAL_H
#define ROTARY_STATISTICS_BINOMIAL_H

#include <stdint.h>

/* Two runs of one seed: how many of `problems` problems each answered correctly. */
struct exact_match_pair {
    int64_t correct, baseline_correct, problems;
};

/* The standard error, in percent, that the mean difference of `count` pairs has from the number of problems
 * alone; for statistics_add_noise. NaN without problems.
 *
 * The answers of all runs of one side count as one proportion, which is no less variable than proportions
 * that differ between seeds. Its variance is that of Agresti and Coull ("Approximate is better than exact",
 * The American Statistician 1998), which is not zero where all or no answers are correct. The two sides count
 * as independent: on the same problems they differ less, never more, if what is hard for one is hard for
 * both. */
double exact_match_noise(const struct exact_match_pair *pairs, int count);

#endif
