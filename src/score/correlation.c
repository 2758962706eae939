/* SPDX-License-Identifier: Apache-2.0 */
#include "score/correlation.h"

#include "base/fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Far from the largest number, so that differences are finite. NaN is none. */
static bool is_usable(double value)
{
    return fabs(value) <= 1e300;
}

static rotary_status check_pairs(const struct number_pairs *pairs, rotary_error *error)
{
    if (pairs->count < 2)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a correlation of %lld pairs, wanted at least 2",
                           (long long)pairs->count);
    for (int64_t i = 0; i < pairs->count; i++) {
        if (is_usable(pairs->first[i]) && is_usable(pairs->second[i]))
            continue;
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "pair %lld of a correlation is %g and %g, wanted numbers of at most 1e300",
                           (long long)i + 1, pairs->first[i], pairs->second[i]);
    }
    return ROTARY_OK;
}

/* A list as distances from its mean, divided by a scale. */
struct centered {
    const double *values;
    double mean, scale, norm; /* norm: of the scaled distances, 0 if all numbers are equal */
};

static double distance(const struct centered *list, int64_t i)
{
    return (list->values[i] - list->mean) / list->scale;
}

/* The scale keeps squares of large and of small numbers within range. Whether numbers are equal is asked of
 * them, not of their distances: the mean of equal numbers need not be exact. */
static struct centered center(const double *values, int64_t count)
{
    struct centered list = {.values = values, .scale = 1};
    bool equal = true;
    for (int64_t i = 0; i < count; i++) {
        list.mean += values[i] / (double)count;
        equal = equal && values[i] == values[0];
    }
    if (equal)
        return list;
    double farthest = 0, squares = 0;
    for (int64_t i = 0; i < count; i++)
        farthest = fmax(farthest, fabs(values[i] - list.mean));
    list.scale = farthest;
    for (int64_t i = 0; i < count; i++)
        squares += distance(&list, i) * distance(&list, i);
    list.norm = sqrt(squares);
    return list;
}

static double pearson(const double *first, const double *second, int64_t count)
{
    const struct centered a = center(first, count), b = center(second, count);
    double sum = 0;
    if (a.norm == 0 || b.norm == 0)
        return (double)NAN;
    for (int64_t i = 0; i < count; i++)
        sum += distance(&a, i) / a.norm * (distance(&b, i) / b.norm);
    return fmax(-1, fmin(1, sum));
}

rotary_status correlation_pearson(const struct number_pairs *pairs, double *correlation, rotary_error *error)
{
    rotary_status status = check_pairs(pairs, error);
    if (status == ROTARY_OK)
        *correlation = pearson(pairs->first, pairs->second, pairs->count);
    return status;
}

/* ---- ranks ---- */

struct placed {
    double value;
    int64_t place;
};

static int compare_values(const void *a, const void *b)
{
    const double first = ((const struct placed *)a)->value, second = ((const struct placed *)b)->value;
    return (first > second) - (first < second);
}

/* ranks[i]: the rank of values[i], from 1; equal numbers have the mean of theirs. `order` is scratch. */
static void rank(const double *values, int64_t count, struct placed *order, double *ranks)
{
    for (int64_t i = 0; i < count; i++)
        order[i] = (struct placed){values[i], i};
    qsort(order, (size_t)count, sizeof *order, compare_values);
    for (int64_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && order[end].value == order[begin].value;)
            end++;
        for (int64_t i = begin; i < end; i++)
            ranks[order[i].place] = 0.5 * (double)(begin + 1 + end);
    }
}

rotary_status correlation_spearman(const struct number_pairs *pairs, double *correlation, rotary_error *error)
{
    const size_t count = (size_t)pairs->count;
    rotary_status status = check_pairs(pairs, error);
    if (status != ROTARY_OK)
        return status;
    struct placed *order = malloc(count * sizeof *order);
    double *ranks = malloc(2 * count * sizeof *ranks);
    if (order && ranks) {
        rank(pairs->first, pairs->count, order, ranks);
        rank(pairs->second, pairs->count, order, ranks + count);
        *correlation = pearson(ranks, ranks + count, pairs->count);
    } else {
        status = rotary_fail_memory(error, "for the ranks of %zu pairs", count);
    }
    free(ranks);
    free(order);
    return status;
}
