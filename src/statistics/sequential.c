/* SPDX-License-Identifier: Apache-2.0 */
#include "statistics/sequential.h"

#include "base/fail.h"
#include "base/random.h"
#include "statistics/selection.h"

#include <math.h>
#include <stdlib.h>

/* The patterns that are followed. Their signs are relative to the differences found: pattern 0 is that found.
 */
struct patterns {
    int count;
    double *sums;    /* of each pattern up to this look; NaN once it is dropped */
    double *far;     /* scratch: how far from zero those sums are that are left */
    uint32_t *signs; /* of the next differences, from the lowest bit on */
};

/* What the looks showed. */
struct outcome {
    int first; /* look at which the test first passed; 0: none */
    bool last; /* whether it passes at the last */
};

static double spent(int look, int max_count, double alpha)
{
    return alpha * log1p((M_E - 1) * look / max_count);
}

int sequential_first_look(int max_count, double alpha)
{
    for (int look = 1; look <= max_count; look++)
        if (ldexp(1, 1 - look) <= spent(look, max_count, alpha))
            return look;
    return 0;
}

/* Sets the signs of the next differences, if those set before are used up. */
static void set_signs(struct patterns *patterns, int at)
{
    if (at > 0 && (at - SEQUENTIAL_EXACT) % 32 != 0)
        return;
    struct rotary_random random = {.key = {.stream = ROTARY_STREAM_SIGN_FLIP, .step = (uint32_t)at}};
    for (int i = 0; i < patterns->count; i++)
        /* The first difference keeps its sign: a pattern and its opposite are equally far from zero. */
        patterns->signs[i] = at ? rotary_random_next(&random) : (uint32_t)i << 1;
    patterns->signs[0] = 0;
}

/* Adds a difference to the sums of all patterns. */
static void advance(struct patterns *patterns, double difference)
{
    for (int i = 0; i < patterns->count; i++) {
        patterns->sums[i] += patterns->signs[i] & 1 ? -difference : difference;
        patterns->signs[i] >>= 1;
    }
}

/* Drops the sums farthest from zero, at most `allowed` of them, equal ones together or not at all. Returns
 * how many, and the bound that they exceed. */
static int drop(struct patterns *patterns, int allowed, double rounding, double *bound)
{
    int left = 0, dropped = 0;
    for (int i = 0; i < patterns->count; i++)
        if (!isnan(patterns->sums[i]))
            patterns->far[left++] = fabs(patterns->sums[i]);
    *bound = selection_largest(patterns->far, left, allowed) + rounding;
    for (int i = 0; i < patterns->count; i++)
        if (fabs(patterns->sums[i]) > *bound) {
            patterns->sums[i] = (double)NAN;
            dropped++;
        }
    return dropped;
}

/* Whether all differences are equal but for rounding. */
static bool are_equal(const double *differences, int count)
{
    double min = differences[0], max = differences[0];
    for (int i = 1; i < count; i++) {
        min = fmin(min, differences[i]);
        max = fmax(max, differences[i]);
    }
    return max - min <= 1e-9 * fmax(fabs(min), fabs(max));
}

/* Looks at the differences less `shift`, one more at a time. */
static struct outcome follow(struct patterns *patterns, const struct sequential_call *call, double shift)
{
    struct outcome outcome = {0};
    double found = 0, magnitudes = 0, bound;
    int dropped = 0;
    for (int i = 0; i < patterns->count; i++)
        patterns->sums[i] = 0;
    for (int i = 0; i < call->count; i++) {
        double difference = call->differences[i] - shift;
        set_signs(patterns, i);
        advance(patterns, difference);
        found += difference;
        magnitudes += fabs(difference);
        int allowed = (int)(spent(i + 1, call->max_count, call->alpha) * patterns->count);
        dropped += drop(patterns, allowed - dropped, 1e-10 * magnitudes, &bound);
        outcome.last = fabs(found) > bound && !are_equal(call->differences, i + 1);
        if (outcome.last && !outcome.first)
            outcome.first = i + 1;
    }
    return outcome;
}

static rotary_status check_call(const struct sequential_call *call, rotary_error *error)
{
    if (call->count < 1 || call->count > call->max_count)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a sequential test of %d looks got %d differences: wanted 1 to %d",
                           call->max_count, call->count, call->max_count);
    if (!(call->alpha > 0 && call->alpha < 1))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a sequential test got alpha = %g: wanted more than 0 and less than 1",
                           call->alpha);
    for (int i = 0; i < call->count; i++)
        if (!isfinite(call->differences[i]))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "difference %d of a sequential test is %g: wanted a finite number", i + 1,
                               call->differences[i]);
    return ROTARY_OK;
}

/* One block holds all arrays; sums own it. */
static rotary_status create_patterns(struct patterns *patterns, const struct sequential_call *call,
                                     rotary_error *error)
{
    rotary_status status = check_call(call, error);
    if (status != ROTARY_OK)
        return status;
    int count = call->max_count > SEQUENTIAL_EXACT ? SEQUENTIAL_PATTERNS : 1 << (call->max_count - 1);
    double *block = malloc((size_t)count * (2 * sizeof(double) + sizeof(uint32_t)));
    if (!block)
        return rotary_fail_memory(error, "for a sequential test");
    *patterns = (struct patterns){
        .count = count, .sums = block, .far = block + count, .signs = (uint32_t *)(block + 2 * count)};
    return ROTARY_OK;
}

rotary_status sequential_test(int *look, const struct sequential_call *call, rotary_error *error)
{
    struct patterns patterns = {0};
    rotary_status status = create_patterns(&patterns, call, error);
    if (status != ROTARY_OK)
        return status;
    *look = follow(&patterns, call, 0).first;
    free(patterns.sums);
    return ROTARY_OK;
}

/* An end of the interval: between a value inside and one outside of it, half the distance at a time. */
static double end_between(struct patterns *patterns, const struct sequential_call *call, double inside,
                          double outside)
{
    for (int i = 0; i < 32; i++) {
        double middle = inside + (outside - inside) / 2;
        *(follow(patterns, call, middle).last ? &outside : &inside) = middle;
    }
    return inside;
}

/* The end that lies towards `beyond`, outside of all differences. Zero is tried first, so that the interval
 * agrees with the test. NaN if the test does not pass there. */
static double find_end(struct patterns *patterns, const struct sequential_call *call, double mean,
                       double beyond)
{
    if (!follow(patterns, call, beyond).last)
        return (double)NAN;
    if ((mean < 0) != (beyond < 0) && mean != 0 && beyond != 0) {
        bool outside = follow(patterns, call, 0).last;
        return outside ? end_between(patterns, call, mean, 0) : end_between(patterns, call, 0, beyond);
    }
    return end_between(patterns, call, mean, beyond);
}

rotary_status sequential_interval(struct sequential_interval *interval, const struct sequential_call *call,
                                  rotary_error *error)
{
    struct patterns patterns = {0};
    rotary_status status = create_patterns(&patterns, call, error);
    if (status != ROTARY_OK)
        return status;
    double min = call->differences[0], max = min, sum = 0;
    for (int i = 0; i < call->count; i++) {
        min = fmin(min, call->differences[i]);
        max = fmax(max, call->differences[i]);
        sum += call->differences[i];
    }
    double mean = sum / call->count, range = max - min;
    double low = find_end(&patterns, call, mean, min - range),
           high = find_end(&patterns, call, mean, max + range);
    bool found = !isnan(low) && !isnan(high);
    interval->low = found ? low : (double)NAN;
    interval->high = found ? high : (double)NAN;
    free(patterns.sums);
    return ROTARY_OK;
}
