/* SPDX-License-Identifier: Apache-2.0
 *
 * Student's t distribution ("The probable error of a mean", Biometrika 1908), for whole degrees of freedom of
 * at least 1. Both functions use one finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4), so that an
 * interval at level 1 - p of a mean ends at zero. Absolute errors are below 1e-12.
 */
#ifndef ROTARY_STATISTICS_STUDENT_H
#define ROTARY_STATISTICS_STUDENT_H

/* The probability of a value as far from zero as t, to either side. NaN for NaN. */
double student_p(double t, int freedom);

/* The t for which a value lies in [-t, t] with probability `level`, in [0, 1). */
double student_quantile(double level, int freedom);

#endif
