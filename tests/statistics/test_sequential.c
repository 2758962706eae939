/* SPDX-License-Identifier: Apache-2.0
 *
 * The sequential test: over all sign patterns of some differences it must pass for no more of them than it
 * may.
 */
#include "support/check.h"

#include "base/random.h"
#include "statistics/sequential.h"
#include "statistics/statistics.h"

#include <math.h>

enum { LOOKS = 9, PATTERNS = 1 << LOOKS };
static const double alpha = 0.05;

static int look_of(const double *differences, int count, int max_count)
{
    struct sequential_call call = {differences, count, max_count, alpha};
    rotary_error error = {0};
    int look = -1;
    CHECK_INT(sequential_test(&look, &call, &error), ROTARY_OK);
    return look;
}

static struct sequential_interval interval_of(const double *differences, int count, int max_count)
{
    struct sequential_call call = {differences, count, max_count, alpha};
    rotary_error error = {0};
    struct sequential_interval interval = {0};
    CHECK_INT(sequential_interval(&interval, &call, &error), ROTARY_OK);
    return interval;
}

/* Of all patterns of signs of these magnitudes at most spent(n) pass at one of the first n looks, and with
 * magnitudes that differ no fewer than one group of patterns that are alike so far less than that. */
static void check_patterns(const double *magnitudes, bool differ)
{
    int passed[LOOKS + 1] = {0};
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        double values[LOOKS];
        for (int i = 0; i < LOOKS; i++)
            values[i] = pattern >> i & 1 ? -magnitudes[i] : magnitudes[i];
        int look = look_of(values, LOOKS, LOOKS);
        passed[look] += 1;
        if (look) {
            CHECK_INT(look_of(values, look, LOOKS), look);
            CHECK_INT(look_of(values, look - 1 ? look - 1 : 1, LOOKS), 0);
        }
    }
    double part = 0;
    for (int look = 1; look <= LOOKS; look++) {
        part += passed[look] / (double)PATTERNS;
        double spent = alpha * log(1 + (exp(1) - 1) * look / LOOKS);
        CHECK(part <= spent);
        CHECK(!differ || part > spent - ldexp(1, 1 - look));
    }
    CHECK(!differ || part > 0.8 * alpha);
}

static void check_every_pattern(void)
{
    struct rotary_random_key key = {.stream = ROTARY_STREAM_TEST};
    double magnitudes[LOOKS];
    for (uint32_t repeat = 0; repeat < 10; repeat++) {
        check_about("every sign pattern, repeat %u", repeat);
        key.step = repeat;
        for (int i = 0; i < LOOKS; i++)
            magnitudes[i] = fabs((double)rotary_random_normal(key, (uint64_t)i));
        check_patterns(magnitudes, true);
    }
    check_about("scores that jump");
    check_patterns((double[LOOKS]){90, 0.78125, 92.1875, 0, 0, 89.84375, 1.5625, 0.78125, 92.1875}, false);
    check_patterns((double[LOOKS]){0, 0, 0, 1, 0, 1, 0, 0, 2}, false);
}

static void check_looks(void)
{
    check_about("first look");
    CHECK_INT(sequential_first_look(20, 0.05), 7);
    CHECK_INT(sequential_first_look(10, 0.05), 6);
    CHECK_INT(sequential_first_look(20, 0.05 / 3), 8);
    CHECK_INT(sequential_first_look(5, 0.05), 0);
    double values[70];
    for (int max_count = 6; max_count <= 70; max_count += 8) {
        int first = sequential_first_look(max_count, 0.05);
        for (int i = 0; i < max_count; i++)
            values[i] = 10 + i % 3;
        check_about("%d looks", max_count);
        CHECK_INT(look_of(values, max_count, max_count), first);
        CHECK_INT(look_of(values, first, max_count), first);
        CHECK_INT(look_of(values, first - 1, max_count), 0);
        CHECK(isnan(interval_of(values, first - 1, max_count).low));
        CHECK(interval_of(values, first, max_count).low > 0);
    }

    check_about("equal differences");
    for (int i = 0; i < 20; i++)
        values[i] = 0.78125;
    CHECK_INT(look_of(values, 19, 20), 0);
    CHECK(isnan(interval_of(values, 19, 20).low) && isnan(interval_of(values, 19, 20).high));
    values[8] = 1.5625;
    CHECK_INT(look_of(values, 20, 20), 9);
}

/* Sequences of normal differences with mean 1: the intervals of all looks contain 1, but for alpha of the
 * sequences. Each agrees with the test. */
static void check_intervals(int max_count, int experiments)
{
    int missed = 0, excluded = 0;
    for (int i = 0; i < experiments; i++) {
        check_about("intervals of %d looks, experiment %d", max_count, i);
        struct rotary_random_key key = {.seed = 1, .stream = ROTARY_STREAM_TEST, .step = (uint32_t)i};
        double values[32];
        bool miss = false;
        for (int j = 0; j < max_count; j++) {
            values[j] = 1 + 1.5 * (double)rotary_random_normal(key, (uint64_t)j);
            if (j + 1 < sequential_first_look(max_count, alpha))
                continue;
            struct sequential_interval interval = interval_of(values, j + 1, max_count);
            CHECK(interval.low < interval.high);
            miss |= interval.low > 1 || interval.high < 1;
            bool excludes = interval.low > 0 || interval.high < 0;
            int look = look_of(values, j + 1, max_count);
            excluded += excludes;
            CHECK(look ? look < j + 1 || excludes : !excludes);
        }
        missed += miss;
    }
    CHECK(excluded > experiments / 10);
    CHECK_NEAR((double)missed / experiments, alpha, 3 * sqrt(alpha * (1 - alpha) / experiments));
}

static void check_ends(void)
{
    check_about("ends of an interval");
    const double values[] = {1.5, -0.25, 2.5, 0.75, 1.25, 3, -0.5, 2, 1.75, 0.5, 2.25, 1};
    enum { COUNT = sizeof values / sizeof values[0] };
    struct sequential_interval interval = interval_of(values, COUNT, COUNT);
    for (int side = 0; side < 4; side++) {
        double shifted[COUNT], end = side & 1 ? interval.high : interval.low;
        bool outside = side & 2;
        for (int i = 0; i < COUNT; i++)
            shifted[i] = values[i] - end - (outside == (side & 1) ? 1e-6 : -1e-6);
        struct sequential_interval moved = interval_of(shifted, COUNT, COUNT);
        CHECK_INT(moved.low > 0 || moved.high < 0, outside);
        CHECK_NEAR(moved.high - moved.low, interval.high - interval.low, 1e-6);
    }
    double opposite[COUNT];
    for (int i = 0; i < COUNT; i++)
        opposite[i] = -8 * values[i];
    struct sequential_interval mirrored = interval_of(opposite, COUNT, COUNT);
    CHECK_NEAR(mirrored.low, -8 * interval.high, 1e-6);
    CHECK_NEAR(mirrored.high, -8 * interval.low, 1e-6);
}

static void check_errors(void)
{
    check_about("errors");
    rotary_error error = {0};
    int look;
    struct sequential_call call = {(double[]){1, (double)NAN}, 2, 1, alpha};
    CHECK_INT(sequential_test(&look, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "a sequential test of 1 looks got 2 differences: wanted 1 to 1");
    call.max_count = 3;
    CHECK_INT(sequential_test(&look, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "difference 2 of a sequential test is nan: wanted a finite number");
    call.count = 1;
    call.alpha = 1;
    CHECK_INT(sequential_test(&look, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "a sequential test got alpha = 1: wanted more than 0 and less than 1");
}

int main(void)
{
    check_every_pattern();
    check_looks();
    check_intervals(9, 250);
    check_ends();
    check_errors();
    return check_report();
}
