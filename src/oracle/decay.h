/* SPDX-License-Identifier: Apache-2.0
 *
 * The long-term decay of section 3.4.3 of the RoFormer paper (Su et al., arXiv 2104.09864). By Abel summation
 * the score of a query and a key at distance n is at most the largest difference between the products of
 * neighbouring pairs, times the sum of |S_j| over j = 1 ... pairs, where
 *
 *     S_j = sum of exp(i n w_k) over k = 0 ... j - 1
 *
 * and the curve is the mean of these |S_j|.
 */
#ifndef ROTARY_ORACLE_DECAY_H
#define ROTARY_ORACLE_DECAY_H

#include <rotary/rope.h>

struct decay_curve {
    int64_t count;  /* distances 0 ... count - 1 */
    double *values; /* [count] */
};

/* The curve up to `distance`. The caller frees curve->values. */
ROTARY_CHECKED rotary_status decay_make_curve(const rotary_rope *rope, int64_t distance,
                                              struct decay_curve *curve, rotary_error *error);

#endif
