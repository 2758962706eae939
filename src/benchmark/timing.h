/* SPDX-License-Identifier: Apache-2.0
 *
 * How long things take, side by side. What is compared takes turns, so that whatever else the machine does
 * meets all of it; the shortest of many times says what the machine can do, the median what to expect.
 */
#ifndef ROTARY_BENCHMARK_TIMING_H
#define ROTARY_BENCHMARK_TIMING_H

#include <rotary/status.h>

enum { TIMING_MAX_ITEMS = 8 };

/* Of some times, in seconds, or ratios of times: the least, and what a quarter, half and three quarters of
 * them are below. */
struct timing {
    double best, lower, median, upper;
};

/* One of the things compared. */
struct timing_item {
    rotary_status (*run)(void *argument, rotary_error *error);
    void *argument;
    const struct timing_item *baseline; /* or NULL */
    struct timing timing;               /* filled in */
    struct timing ratio;                /* filled in: of its time in that of `baseline`, round by round */
};

/* How long to go on: for `seconds`, but at least `least` and at most `most` rounds. */
struct timing_plan {
    double seconds;
    int64_t min, max;
};

/* Runs every item `rounds` >= 1 times, in turn from the first to the last and in the next round back, so that
 * no item always follows the same other. At most TIMING_MOST_ITEMS items. Passes on what an item returns if
 * it fails. */
ROTARY_CHECKED rotary_status timing_rounds(struct timing_item *items, int count, int64_t rounds,
                                           rotary_error *error);

/* The same after two more rounds, which do not count: the plan and the second of them decide how many do. */
ROTARY_CHECKED rotary_status timing_run(struct timing_item *items, int count, const struct timing_plan *plan,
                                        int64_t *rounds, rotary_error *error);

/* Sorts `count` >= 1 times. What lies between two of them is interpolated: the median of an even number is
 * the mean of the middle two. */
struct timing timing_of(double *seconds, int64_t count);

#endif
