/* SPDX-License-Identifier: Apache-2.0 */
#include "statistics/statistics.h"

#include "base/fail.h"
#include "statistics/sign_flip.h"
#include "statistics/student.h"

#include <math.h>
#include <stdlib.h>

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

/* The index of values[at] in ascending order; equal values keep their order. */
static int rank_of(const double *values, int count, int at)
{
    int rank = 0;
    for (int i = 0; i < count; i++)
        rank += values[i] < values[at] || (values[i] == values[at] && i < at);
    return rank;
}

/* The middle value, or the mean of the middle two; NaN of none. Values may be infinite. Runs are few:
 * counting ranks needs no sorted copy. */
static double median_of(const double *values, int count)
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

void statistics_of(struct statistics *statistics, const double *values, int count, enum direction direction)
{
    double undefined = (double)NAN;
    *statistics = (struct statistics){.count = count,
                                      .mean = mean_of(values, count),
                                      .median = undefined,
                                      .deviation = undefined,
                                      .min = undefined,
                                      .max = undefined,
                                      .without_worst = undefined,
                                      .low = undefined,
                                      .high = undefined};
    if (isnan(statistics->mean))
        return;
    statistics->median = median_of(values, count);
    statistics->deviation = deviation_of(values, count, statistics->mean);
    int min = 0, max = 0;
    for (int i = 1; i < count; i++) {
        min = values[i] < values[min] ? i : min;
        max = values[i] > values[max] ? i : max;
    }
    statistics->min = values[min];
    statistics->max = values[max];
    if (count < 2)
        return;
    int worst = direction == HIGHER_IS_BETTER ? min : max;
    double sum = 0; /* not the total minus the worst, which would cancel */
    for (int i = 0; i < count; i++)
        sum += i == worst ? 0 : values[i];
    statistics->without_worst = sum / (count - 1);
    const double margin = student_quantile(0.95, count - 1) * statistics->deviation / sqrt(count);
    statistics->low = statistics->mean - margin;
    statistics->high = statistics->mean + margin;
}

/* Differences that are equal but for rounding have no spread. */
static const double rounding = 1e-9;

/* Sets the standard error, and what follows from it. */
static void set_error(struct paired_difference *difference, double error)
{
    double margin = (double)NAN;
    difference->error = error;
    difference->level = 0.95;
    difference->t_test_p = (double)NAN;
    if (error > 0) {
        difference->t_test_p = student_p(difference->mean / error, difference->count - 1);
        margin = student_quantile(difference->level, difference->count - 1) * error;
    }
    difference->low = difference->mean - margin;
    difference->high = difference->mean + margin;
}

struct paired_difference statistics_paired(const double *differences, int count)
{
    double mean = mean_of(differences, count), deviation = deviation_of(differences, count, mean);
    if (deviation <= rounding * fabs(mean))
        deviation = 0;
    struct paired_difference difference = {.count = count,
                                           .mean = mean,
                                           .median =
                                               isnan(mean) ? (double)NAN : median_of(differences, count),
                                           .deviation = deviation,
                                           .sign_flip_p = sign_flip_p(differences, count),
                                           .sign_flip_min_p = sign_flip_min_p(count)};
    set_error(&difference, deviation / sqrt(count));
    return difference;
}

void statistics_add_noise(struct paired_difference *difference, double noise)
{
    if (difference->error < noise)
        set_error(difference, noise);
}

void statistics_keep_within(struct paired_difference *difference, double most)
{
    if (isnan(difference->low))
        return;
    difference->low = fmax(difference->low, -most);
    difference->high = fmin(difference->high, most);
}

rotary_status statistics_reached(struct reached *reached, const int64_t *steps, int count,
                                 rotary_error *error)
{
    *reached = (struct reached){.count = count, .median = (double)NAN};
    if (count == 0)
        return ROTARY_OK;
    double *times = malloc(sizeof *times * (size_t)count);
    if (!times)
        return rotary_fail_memory(error, "for the median of %d runs", count);
    for (int i = 0; i < count; i++) {
        bool got_there = steps[i] != NOT_REACHED;
        reached->reached += got_there;
        times[i] = got_there ? (double)steps[i] : (double)INFINITY;
    }
    reached->median = median_of(times, count);
    free(times);
    return ROTARY_OK;
}
