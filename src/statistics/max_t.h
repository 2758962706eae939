/* SPDX-License-Identifier: Apache-2.0
 *
 * The rule of the verdicts: sign flips by seed, jointly for all contrasts of a comparison, step-down with the
 * maximum of the studentised means (Westfall and Young, "Resampling-based multiple testing", 1993, algorithm
 * 2.8; for sign flips Romano and Wolf, "Exact and approximate stepdown methods for multiple hypothesis
 * testing", Journal of the American Statistical Association 2005).
 *
 * If the runs of a seed have one distribution, whichever it is, the differences of that seed may as well have
 * the opposite signs, those of all contrasts together. So the contrasts keep their dependence, which a common
 * baseline gives them, and a correction for the worst dependence is not needed. A contrast's t is its mean
 * over its standard error: 0 of differences that are all zero, infinite of others that are equal. Its p is
 * the share of the sign patterns in which the largest t of this contrast and of all with a smaller t is at
 * least as large as the one found, and no smaller than the p of a contrast with a larger t. That any contrast
 * without a difference has a p of at most alpha has a probability of at most alpha.
 */
#ifndef ROTARY_STATISTICS_MAX_T_H
#define ROTARY_STATISTICS_MAX_T_H

#include <rotary/status.h>

struct max_t_contrast {
    const double *differences; /* of each seed; NaN: it has no pair of this seed */
    double p;                  /* adjusted for all contrasts */
    /* The interval of the mean difference that inverts the single-step test, in which every contrast is
     * beside the largest t of all. A value is in it if subtracting it leaves a p above alpha, the others
     * being as found or with their means subtracted. So a value of zero outside of it implies a p of at most
     * alpha; the reverse need not hold, as step-down is the sharper test. It is infinite to a side on which
     * no value can be left out. */
    double low, high;
};

struct max_t_call {
    struct max_t_contrast *contrasts; /* each with a pair or more; finite */
    int contrast_count, seed_count;   /* at least 1 */
    double alpha;
    int max_patterns;     /* 0: all of SIGN_FLIP_EXACT seeds, SIGN_FLIP_SAMPLES and the one found of more
                             (sign_flip.h); else at most so many */
    bool others_as_found; /* in the intervals, not also less their means: they begin where p is alpha */
};

/* Sets p, low and high of all contrasts. A pattern and its opposite are counted once: they have the same t.
 * Statistics that are equal but for rounding count as equal. Memory is taken for the call. */
ROTARY_CHECKED rotary_status max_t_test(const struct max_t_call *call, rotary_error *error);

#endif
