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

/* The value below which `fraction` of the sorted times are. */
static double quantile(const double *sorted, int64_t count, double fraction)
{
    double rank = fraction * (double)(count - 1);
    int64_t below = (int64_t)rank, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (rank - (double)below) * (sorted[above] - sorted[below]);
}

struct timing timing_of(double *seconds, int64_t count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, by_value);
    return (struct timing){.best = seconds[0],
                           .lower = quantile(seconds, count, 0.25),
                           .median = quantile(seconds, count, 0.5),
                           .upper = quantile(seconds, count, 0.75)};
}

/* The ratios of items to their baselines, paired by round. */
static void compute_ratios(struct timing_item *items, int count, const double *seconds, int64_t rounds,
                           double *ratios)
{
    for (int i = 0; i < count; i++) {
        if (!items[i].baseline)
            continue;
        const double *own = seconds + i * rounds, *other = seconds + (items[i].baseline - items) * rounds;
        for (int64_t round = 0; round < rounds; round++)
            ratios[round] = own[round] / other[round];
        items[i].ratio = timing_of(ratios, rounds);
    }
}

/* Runs every item once, in odd rounds from last to first; the times go to column `round` of seconds
 * [count, rounds]. */
static rotary_status run_round(struct timing_item *items, int count, int64_t round, int64_t rounds,
                               double *seconds, rotary_error *error)
{
    for (int i = 0; i < count; i++) {
        int item = round % 2 == 0 ? i : count - 1 - i;
        double begin = rotary_clock();
        rotary_status status = items[item].run(items[item].argument, error);
        if (status != ROTARY_OK)
            return status;
        seconds[item * rounds + round] = rotary_clock() - begin;
    }
    return ROTARY_OK;
}

static int64_t plan_rounds(const struct timing_plan *plan, double seconds_per_round)
{
    double rounds = plan->seconds / (seconds_per_round > 1e-9 ? seconds_per_round : 1e-9);
    if (!(rounds > (double)plan->min))
        return plan->min;
    return rounds < (double)plan->max ? (int64_t)rounds : plan->max;
}

rotary_status timing_rounds(struct timing_item *items, int count, int64_t rounds, rotary_error *error)
{
    double *seconds =
        calloc((size_t)((count + 1) * rounds), sizeof *seconds); /* times of all items, and ratios of one */
    if (!seconds)
        return rotary_fail_memory(error, "for the times of %lld rounds", (long long)rounds);
    rotary_status status = ROTARY_OK;
    for (int64_t round = 0; round < rounds && status == ROTARY_OK; round++)
        status = run_round(items, count, round, rounds, seconds, error);
    if (status == ROTARY_OK)
        compute_ratios(items, count, seconds, rounds, seconds + count * rounds);
    for (int i = 0; i < count && status == ROTARY_OK; i++)
        items[i].timing = timing_of(seconds + i * rounds, rounds);
    free(seconds);
    return status;
}

rotary_status timing_run(struct timing_item *items, int count, const struct timing_plan *plan,
                         int64_t *rounds, rotary_error *error)
{
    double trial[TIMING_MAX_ITEMS];
    if (count < 1 || count > TIMING_MAX_ITEMS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%d operations to time; wanted 1 ... %d", count,
                           TIMING_MAX_ITEMS);
    rotary_status status = run_round(items, count, 0, 1, trial, error);
    double begin = rotary_clock();
    if (status == ROTARY_OK)
        status = run_round(items, count, 0, 1, trial, error);
    if (status != ROTARY_OK)
        return status;
    *rounds = plan_rounds(plan, rotary_clock() - begin);
    return timing_rounds(items, count, *rounds, error);
}
