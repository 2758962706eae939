/* SPDX-License-Identifier: Apache-2.0 */
#include "study/statistics.h"

#include "base/fail.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char statistics_caution[] = "An interval of few pairs is narrower than its name: of 3 pairs it holds "
                                  "the true difference about 75 times in 100, of 5 pairs 84, of 10 pairs 90.";

static double mean_of(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return count ? sum / count : (double)NAN;
}

static double deviation_of(const double *values, int count, double mean)
{
    if (count < 2)
        return (double)NAN;
    double square = 0;
    for (int i = 0; i < count; i++)
        square += (values[i] - mean) * (values[i] - mean);
    return sqrt(square / (count - 1));
}

void statistics_of(struct statistics *statistics, const double *values, int count, enum direction direction)
{
    double undefined = (double)NAN;
    *statistics = (struct statistics){.count = count,
                                      .mean = mean_of(values, count),
                                      .median = undefined,
                                      .deviation = undefined,
                                      .least = undefined,
                                      .most = undefined,
                                      .without_worst = undefined};
    if (isnan(statistics->mean))
        return;
    statistics->median = statistics_median(values, count);
    statistics->deviation = deviation_of(values, count, statistics->mean);
    double least = values[0], most = values[0];
    int least_at = 0, most_at = 0;
    for (int i = 1; i < count; i++) {
        if (values[i] < least) {
            least = values[i];
            least_at = i;
        }
        if (values[i] > most) {
            most = values[i];
            most_at = i;
        }
    }
    statistics->least = least;
    statistics->most = most;
    if (count < 2)
        return;
    int worst = direction == HIGHER_IS_BETTER ? least_at : most_at;
    double sum = 0; /* left to right, not total minus worst: no cancellation */
    for (int i = 0; i < count; i++)
        sum += i == worst ? 0 : values[i];
    statistics->without_worst = sum / (count - 1);
}

/* How many of the values come before `value` in ascending order, ties broken by place. */
static int rank_of(const double *values, int count, int at)
{
    int rank = 0;
    for (int i = 0; i < count; i++)
        rank += values[i] < values[at] || (values[i] == values[at] && i < at);
    return rank;
}

/* Runs are few: counting ranks needs no copy to sort. */
double statistics_median(const double *values, int count)
{
    double lower = (double)NAN, upper = (double)NAN;
    for (int i = 0; i < count; i++) {
        int rank = rank_of(values, count, i);
        if (rank == (count - 1) / 2)
            lower = values[i];
        if (rank == count / 2)
            upper = values[i];
    }
    return lower == upper ? lower : (lower + upper) / 2;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Between the two nearest of the sorted values, in proportion. */
static double quantile_of(const double *sorted, int count, double share)
{
    double place = share * (count - 1);
    int below = (int)place;
    if (below >= count - 1)
        return sorted[count - 1];
    return sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]);
}

rotary_status statistics_paired(struct paired_difference *paired, const double *differences, int count,
                                rotary_error *error)
{
    *paired = (struct paired_difference){
        .count = count, .mean = mean_of(differences, count), .low = (double)NAN, .high = (double)NAN};
    if (isnan(paired->mean))
        return ROTARY_OK;
    double *means = malloc(sizeof *means * BOOTSTRAP_RESAMPLES);
    if (!means)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "out of memory for the bootstrap of %d pairs", count);
    struct rotary_random random = {.key = {.seed = 0, .stream = ROTARY_STREAM_BOOTSTRAP}};
    for (int resample = 0; resample < BOOTSTRAP_RESAMPLES; resample++) {
        double sum = 0;
        for (int i = 0; i < count; i++)
            sum += differences[rotary_random_below(&random, (uint32_t)count)];
        means[resample] = sum / count;
    }
    qsort(means, BOOTSTRAP_RESAMPLES, sizeof *means, ascending);
    paired->low = quantile_of(means, BOOTSTRAP_RESAMPLES, 0.025);
    paired->high = quantile_of(means, BOOTSTRAP_RESAMPLES, 0.975);
    free(means);
    return ROTARY_OK;
}

enum verdict statistics_verdict(const struct paired_difference *difference, enum direction direction)
{
    if (difference->count < ENOUGH_PAIRS)
        return VERDICT_TOO_FEW;
    if (difference->low > 0)
        return direction == HIGHER_IS_BETTER ? VERDICT_BETTER : VERDICT_WORSE;
    if (difference->high < 0)
        return direction == HIGHER_IS_BETTER ? VERDICT_WORSE : VERDICT_BETTER;
    return VERDICT_NO_DIFFERENCE;
}

rotary_status statistics_reached(struct reached *reached, const int64_t *steps, int count,
                                 rotary_error *error)
{
    *reached = (struct reached){.count = count, .median = (double)NAN};
    if (count == 0)
        return ROTARY_OK;
    double *times = malloc(sizeof *times * (size_t)count);
    if (!times)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "out of memory for the median of %d runs", count);
    for (int i = 0; i < count; i++) {
        bool there = steps[i] != NOT_REACHED;
        reached->reached += there;
        times[i] = there ? (double)steps[i] : (double)INFINITY;
    }
    reached->median = statistics_median(times, count);
    free(times);
    return ROTARY_OK;
}
