/* SPDX-License-Identifier: Apache-2.0
 *
 * How well a share of correct answers is known.
 */
#ifndef ROTARY_SCORE_PROPORTION_H
#define ROTARY_SCORE_PROPORTION_H

#include <stdint.h>

struct proportion_interval {
    double low, high; /* shares, 0 ... 1 */
};

/* The 95% interval of Wilson (J. Am. Stat. Assoc. 22, 1927) for the chance of a correct answer, from
 * `correct` of `count` problems drawn at random; NaN without problems. It is no wider than 0 ... 1, and not
 * empty at either end: 128 of 128 are compatible with a chance of 97.1%. It says what other problems would
 * change for the same model, not what another seed of training would. */
struct proportion_interval proportion_wilson(int64_t correct, int64_t count);

#endif
