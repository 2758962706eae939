/* SPDX-License-Identifier: Apache-2.0
 *
 * A test that may look at paired differences after every seed. Student's interval may not: looked at after
 * each seed from 3 to 20 it shows a difference that is not there some 23 times in 100 (scripts/coverage).
 *
 * If the runs of a pair have the same distribution, whichever it is, every sign of a difference is as
 * probable as the other (sign_flip.h). So all sign patterns are followed from the first difference on. At
 * look n those whose sum is farthest from zero are dropped, so that together with those dropped before they
 * are at most
 *
 *     spent(n) = alpha ln(1 + (e - 1) n / max_count)
 *
 * of all (Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 1983: the function
 * close to Pocock's boundary). The test passes where the pattern that was found is dropped. As every pattern
 * is as probable, it passes by mistake at any of the looks with a probability of at most alpha: for scores of
 * any distribution, normal or not.
 *
 * The number of looks must be fixed beforehand. For k comparisons with one baseline use alpha / k.
 */
#ifndef ROTARY_STATISTICS_SEQUENTIAL_H
#define ROTARY_STATISTICS_SEQUENTIAL_H

#include <rotary/status.h>

struct sequential_call {
    const double *differences; /* in order of their seeds; finite */
    int count, max_count; /* differences so far, and the fixed number of looks: 1 <= count <= max_count */
    double alpha;         /* the probability of a mistake over all looks, in (0, 1) */
};

/* The patterns that are followed have all signs of so many differences. Beyond, their signs are drawn, always
 * the same ones, but for the pattern that was found; being one of them at random, it is dropped no more
 * often. */
enum { SEQUENTIAL_EXACT = 15, SEQUENTIAL_PATTERNS = 1 << (SEQUENTIAL_EXACT - 1) };

/* `look` becomes the number of differences after which the test first passed, 0 if it has not. The sign of
 * their mean is that of the difference. It does not pass while all differences are equal, as
 * statistics_verdict gives no verdict on those. Memory is taken for the call. */
ROTARY_CHECKED rotary_status sequential_test(int *look, const struct sequential_call *call,
                                             rotary_error *error);

/* The interval of the mean difference at the last look: the values for which the test does not pass at this
 * look if they are subtracted from all differences (repeated confidence intervals: Jennison and Turnbull,
 * "Interim analyses", Journal of the Royal Statistical Society B 1989). It leaves out zero if and only if the
 * test passes at this look. For differences that are symmetric about their mean all intervals of a sequence
 * contain it with a probability of at least 1 - alpha. So the interval of a look that passed, with that
 * `count`, remains valid if seeds are added all the same. NaN before sequential_first_look and for equal
 * differences. */
struct sequential_interval {
    double low, high;
};
ROTARY_CHECKED rotary_status sequential_interval(struct sequential_interval *interval,
                                                 const struct sequential_call *call, rotary_error *error);

/* The first look at which the test can pass, if all differences have one sign: 7 for 20 looks and alpha 0.05.
 * 0 if none can. */
int sequential_first_look(int max_count, double alpha);

#endif
