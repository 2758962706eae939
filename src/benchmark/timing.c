/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/timing.h"

#include "base/clock.h"
#include "base/fail.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct timing timing_of(double *seconds, int64_t count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, by_value);
    return (struct timing){.best = seconds[0],
                           .median = 0.5 * (seconds[(count - 1) / 2] + seconds[count / 2])};
}

/* The median of items' ratios, round by round. */
static void compare(struct timed *items, int count, const double *seconds, int64_t rounds, double *ratios)
{
    for (int i = 0; i < count; i++) {
        if (!items[i].against)
            continue;
        const double *own = seconds + i * rounds, *other = seconds + (items[i].against - items) * rounds;
        for (int64_t round = 0; round < rounds; round++)
            ratios[round] = own[round] / other[round];
        items[i].ratio = timing_of(ratios, rounds).median;
    }
}

/* Runs every item once; item i's time goes to seconds[i * stride]. */
static rotary_status turn(struct timed *items, int count, double *seconds, int64_t stride,
                          rotary_error *error)
{
    for (int i = 0; i < count; i++) {
        double begin = rotary_clock();
        rotary_status status = items[i].run(items[i].argument, error);
        if (status != ROTARY_OK)
            return status;
        seconds[i * stride] = rotary_clock() - begin;
    }
    return ROTARY_OK;
}

static int64_t plan_rounds(const struct timing_plan *plan, double seconds_a_round)
{
    double rounds = plan->seconds / (seconds_a_round > 1e-9 ? seconds_a_round : 1e-9);
    if (!(rounds > (double)plan->least))
        return plan->least;
    return rounds < (double)plan->most ? (int64_t)rounds : plan->most;
}

rotary_status timing_run(struct timed *items, int count, const struct timing_plan *plan, int64_t *rounds,
                         rotary_error *error)
{
    double trial[TIMING_MOST_ITEMS];
    rotary_status status = turn(items, count, trial, 1, error);
    double begin = rotary_clock();
    if (status == ROTARY_OK)
        status = turn(items, count, trial, 1, error);
    if (status != ROTARY_OK)
        return status;
    *rounds = plan_rounds(plan, rotary_clock() - begin);
    double *seconds = calloc((size_t)((count + 1) * *rounds), sizeof *seconds); /* and ratios of one */
    if (!seconds)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the times of %lld rounds",
                           (long long)*rounds);
    for (int64_t round = 0; round < *rounds && status == ROTARY_OK; round++)
        status = turn(items, count, seconds + round, *rounds, error);
    if (status == ROTARY_OK)
        compare(items, count, seconds, *rounds, seconds + count * *rounds);
    for (int i = 0; i < count && status == ROTARY_OK; i++)
        items[i].timing = timing_of(seconds + i * *rounds, *rounds);
    free(seconds);
    return status;
}
