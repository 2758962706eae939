/* SPDX-License-Identifier: Apache-2.0
 *
 * Timing by alternating runs: the items compared run one after another in every round, so that other load on
 * the machine affects all of them, and ratios are paired by round. The best of many times is what the machine
 * can do, the median what to expect.
 */
#ifndef ROTARY_BENCHMARK_TIMING_H
#define ROTARY_BENCHMARK_TIMING_H

#include <rotary/status.h>

enum { TIMING_MAX_ITEMS = 24 };

/* Minimum, first quartile, median and third quartile of times in seconds, or of ratios of times. */
struct timing {
    double best, lower, median, upper;
};

/* One of the items compared. */
struct timing_item {
    rotary_status (*run)(void *argument, rotary_error *error);
    void *argument;
    const struct timing_item *baseline; /* another item of the same array, or NULL */
    struct timing timing;               /* filled in */
    struct timing ratio;                /* filled in: its time divided by the baseline's, paired by round */
};

/* Plans as many rounds as fit into `seconds`, but at least `min` and at most `max`. */
struct timing_plan {
    double seconds;
    int64_t min, max;
};

/* Runs every item `rounds` >= 1 times: from first to last in one round and back in the next, so that no item
 * always follows the same other one. Returns the status of an item that fails. */
ROTARY_CHECKED rotary_status timing_rounds(struct timing_item *items, int count, int64_t rounds,
                                           rotary_error *error);

/* Times them after two warm-up rounds; the plan and the time of the second determine *rounds. More than
 * TIMING_MAX_ITEMS items are ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status timing_run(struct timing_item *items, int count, const struct timing_plan *plan,
                                        int64_t *rounds, rotary_error *error);

/* Sorts `count` >= 1 times. Quantiles are interpolated linearly: the median of an even number is the mean of
 * the middle two. */
struct timing timing_of(double *seconds, int64_t count);

#endif
