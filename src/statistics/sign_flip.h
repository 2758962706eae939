/* SPDX-License-Identifier: Apache-2.0
 *
 * The sign-flip test of paired differences (Fisher, "The Design of Experiments", 1935, section 21). If the
 * two members of a pair have the same distribution, whichever it is, every sign of a difference is as
 * probable as the other. So the test asks how many of the 2^n sign patterns have a mean as far from zero as
 * the one found. It assumes nothing about how scores are distributed.
 */
#ifndef ROTARY_STATISTICS_SIGN_FLIP_H
#define ROTARY_STATISTICS_SIGN_FLIP_H

/* All sign patterns are counted of up to SIGN_FLIP_EXACT differences. Of more, SIGN_FLIP_SAMPLES patterns are
 * drawn, always the same ones. */
enum { SIGN_FLIP_EXACT = 16, SIGN_FLIP_SAMPLES = 99999 };

/* The two-sided p value. Means that are equal but for rounding count as equally far. Drawn patterns count
 * together with the one found: (1 + as far) / (1 + drawn). NaN without differences or if one is not finite.
 */
double sign_flip_p(const double *differences, int count);

/* The smallest p value that `count` differences can give: 2 / 2^count as long as all patterns are counted. */
double sign_flip_min_p(int count);

#endif
