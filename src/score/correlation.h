/* SPDX-License-Identifier: Apache-2.0
 *
 * How well predicted numbers agree with wanted ones: the correlations of Pearson and of Spearman, as SciPy
 * computes them (pearsonr, spearmanr).
 */
#ifndef ROTARY_SCORE_CORRELATION_H
#define ROTARY_SCORE_CORRELATION_H

#include <rotary/status.h>

/* Two lists of numbers, borrowed. */
struct number_pairs {
    int64_t count; /* at least 2 */
    const double *first, *second;
};

/* Pearson's correlation of the pairs, -1 ... 1; NaN if all numbers of a list are equal: it has no value then.
 * Fewer than 2 pairs, NaN, and numbers beyond 1e300 are ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status correlation_pearson(const struct number_pairs *pairs, double *correlation,
                                                 rotary_error *error);
/* Computes Spearman's: Pearson's of the ranks, where equal numbers share the mean of their ranks. */
ROTARY_CHECKED rotary_status correlation_spearman(const struct number_pairs *pairs, double *correlation,
                                                  rotary_error *error);

#endif
