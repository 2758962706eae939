/* SPDX-License-Identifier: Apache-2.0 */
#include "statistics/binomial.h"

#include <math.h>

/* Gives the variance of a proportion as if half of z² more problems were answered correctly, and half of z²
 * not. */
static double variance(int64_t correct, int64_t problems)
{
    const double z = 1.959963984540054; /* the normal distribution is within ±z 95% of the time */
    double of = (double)problems + z * z, proportion = ((double)correct + z * z / 2) / of;
    return proportion * (1 - proportion) / of;
}

double exact_match_noise(const struct exact_match_pair *pairs, int count)
{
    int64_t correct = 0, baseline_correct = 0, problems = 0;
    for (int i = 0; i < count; i++) {
        correct += pairs[i].correct;
        baseline_correct += pairs[i].baseline_correct;
        problems += pairs[i].problems;
    }
    if (problems < 1)
        return (double)NAN;
    return 100 * sqrt(variance(correct, problems) + variance(baseline_correct, problems));
}
