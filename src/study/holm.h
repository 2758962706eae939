/* SPDX-License-Identifier: Apache-2.0
 *
 * Holm's correction for several comparisons ("A simple sequentially rejective multiple test procedure",
 * Scandinavian Journal of Statistics 1979). The probability that any of them is called different by mistake
 * is at most alpha, however they depend on one another.
 */
#ifndef ROTARY_STUDY_HOLM_H
#define ROTARY_STUDY_HOLM_H

#include <stdbool.h>

struct holm {
    double adjusted_p; /* rejected if at most alpha; NaN for a p value of NaN */
    double level;      /* of the interval that leaves out zero if and only if Holm rejects */
    bool rejected;
};

/* Fills results[i] for the p value p[i] of comparison i, of `count` in all. The smallest p value is compared
 * with alpha / count, the next with alpha / (count - 1), and so on up to the first that is larger: neither it
 * nor any after it is rejected. A comparison without a p value (NaN) still counts as one, and is not
 * rejected.
 *
 * The level is 1 minus what a comparison's p value was compared with; for those after the first that is not
 * rejected, the level of that one. An interval at this level by the test that gave p shows Holm's decision.
 * It is no simultaneous confidence interval: that all of them contain their true differences has less than 1
 * - alpha probability. Intervals at level 1 - alpha / count (Bonferroni) do, and are wider. */
void holm_correct(struct holm *results, const double *p, int count, double alpha);

#endif
