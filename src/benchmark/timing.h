/* SPDX-License-Identifier: Apache-2.0
 *
 * How long things take, side by side. What is compared takes turns, so that whatever else the machine does
 * meets all of it; the shortest of many times says what the machine can do, the median what to expect.
 */
#ifndef ROTARY_BENCHMARK_TIMING_H
#define ROTARY_BENCHMARK_TIMING_H

#include <rotary/status.h>

enum { TIMING_MOST_ITEMS = 8 };

/* Seconds: the shortest and the median of some times. */
struct timing {
    double best, median;
};

/* One of the things compared. */
struct timed {
    rotary_status (*run)(void *argument, rotary_error *error);
    void *argument;
    const struct timed *against; /* or NULL */
    struct timing timing;        /* filled in */
    double ratio;                /* filled in: the median, over rounds, of its time in that of `against` */
};

/* How long to go on: for `seconds`, but at least `least` and at most `most` rounds. */
struct timing_plan {
    double seconds;
    int64_t least, most;
};

/* Runs every item in turn, once without looking at the clock and then `rounds` times with it; the plan and
 * the second round decide how many those are. At most TIMING_MOST_ITEMS items. Passes on what an item returns
 * if it fails. */
ROTARY_CHECKED rotary_status timing_run(struct timed *items, int count, const struct timing_plan *plan,
                                        int64_t *rounds, rotary_error *error);

/* Sorts `count` >= 1 times. The median of an even number is the mean of the middle two. */
struct timing timing_of(double *seconds, int64_t count);

#endif
