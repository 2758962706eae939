/* SPDX-License-Identifier: Apache-2.0
 *
 * The statistics, against numpy and scipy, and against the truth of made-up experiments.
 */
#include "support/check.h"

#include "base/random.h"
#include "statistics/binomial.h"
#include "statistics/statistics.h"
#include "statistics/student.h"

#include <math.h>

#include "goldens.h"

enum { GOLDENS = sizeof goldens / sizeof goldens[0] };

static void check_goldens(void)
{
    for (int i = 0; i < GOLDENS; i++) {
        const struct golden *golden = &goldens[i];
        check_about("golden %d", i);
        double size = fmax(fabs(golden->min), fabs(golden->max)), bound = 1e-14 * size;
        struct statistics up, down;
        statistics_of(&up, golden->values, golden->count, HIGHER_IS_BETTER);
        statistics_of(&down, golden->values, golden->count, LOWER_IS_BETTER);
        CHECK_INT(up.count, golden->count);
        CHECK_NEAR(up.mean, golden->mean, bound);
        CHECK_NEAR(up.median, golden->median, bound);
        CHECK_NEAR(up.deviation, golden->deviation, bound);
        CHECK_NEAR(up.min, golden->min, 0);
        CHECK_NEAR(up.max, golden->max, 0);
        CHECK_NEAR(up.low, golden->low, 1e-12 * fabs(golden->low));
        CHECK_NEAR(down.high, golden->high, 1e-12 * fabs(golden->high));
        CHECK_NEAR(up.without_worst, golden->without_min, bound);
        CHECK_NEAR(down.without_worst, golden->without_max, bound);

        struct paired_difference difference = statistics_paired(golden->values, golden->count);
        CHECK_NEAR(difference.mean, golden->mean, bound);
        CHECK_NEAR(difference.low, golden->low, 1e-12 * fabs(golden->low));
        CHECK_NEAR(difference.high, golden->high, 1e-12 * fabs(golden->high));
        CHECK_NEAR(difference.level, 0.95, 0);
        CHECK_NEAR(difference.deviation, golden->deviation, bound);
        CHECK_NEAR(difference.error, golden->deviation / sqrt(golden->count), bound);
        CHECK_NEAR(difference.t_test_p, golden->t_test_p, 1e-13);
        CHECK_NEAR(difference.sign_flip_p, golden->sign_flip_p, 0);
        CHECK_NEAR(difference.sign_flip_min_p, pow(2, 1 - golden->count), 0);
        CHECK_NEAR(difference.median, golden->median, bound);
    }
}

static void check_hand_made(void)
{
    check_about("by hand");
    struct statistics statistics;
    statistics_of(&statistics, (double[]){2, 4, 4, 4, 5, 5, 7, 9}, 8, HIGHER_IS_BETTER);
    CHECK_NEAR(statistics.mean, 5, 0);
    CHECK_NEAR(statistics.median, 4.5, 0);
    CHECK_NEAR(statistics.deviation, sqrt(32.0 / 7), 1e-15);
    CHECK_NEAR(statistics.without_worst, 38.0 / 7, 1e-15);

    statistics_of(&statistics, (double[]){3, 1, 2}, 3, LOWER_IS_BETTER);
    CHECK_NEAR(statistics.median, 2, 0);
    CHECK_NEAR(statistics.without_worst, 1.5, 0);

    check_about("one run");
    statistics_of(&statistics, (double[]){7}, 1, HIGHER_IS_BETTER);
    CHECK_NEAR(statistics.mean, 7, 0);
    CHECK_NEAR(statistics.median, 7, 0);
    CHECK(isnan(statistics.deviation) && isnan(statistics.without_worst));

    check_about("no run");
    statistics_of(&statistics, NULL, 0, HIGHER_IS_BETTER);
    CHECK_INT(statistics.count, 0);
    CHECK(isnan(statistics.mean) && isnan(statistics.median) && isnan(statistics.min));

    check_about("a loss that ran away");
    statistics_of(&statistics, (double[]){1, (double)NAN, 2}, 3, LOWER_IS_BETTER);
    CHECK(isnan(statistics.mean) && isnan(statistics.median) && isnan(statistics.max));
}

static void check_pairs(void)
{
    check_about("pairs");
    double differences[] = {10, 12, 11};
    struct paired_difference difference = statistics_paired(differences, 3);
    CHECK_NEAR(difference.mean, 11, 1e-14);
    CHECK_NEAR(difference.high, 11 + 4.3027 / sqrt(3), 1e-4); /* Student's own table has 4.303 */

    check_about("two pairs");
    difference = statistics_paired(differences, 2);
    CHECK_INT(difference.count, 2);
    CHECK_NEAR(difference.low, 11 - tan(0.95 * acos(0)), 1e-12); /* one degree of freedom: Cauchy's */

    check_about("one pair, none");
    difference = statistics_paired(differences, 1);
    CHECK_NEAR(difference.mean, 10, 0);
    CHECK(isnan(difference.low) && isnan(difference.high));
    difference = statistics_paired(differences, 0);
    CHECK(isnan(difference.mean) && isnan(difference.low));

    check_about("equal differences");
    const double equal[][3] = {{0, 0, 0}, {0.78125, 0.78125, 0.78125}, {10.1 - 10, 20.3 - 20.2, 40.6 - 40.5}};
    for (int i = 0; i < 3; i++) {
        difference = statistics_paired(equal[i], 3);
        CHECK_NEAR(difference.error, 0, 0);
        CHECK(isnan(difference.low) && isnan(difference.high) && isnan(difference.t_test_p));
        CHECK_NEAR(difference.sign_flip_p, i ? 0.25 : 1, 0);
    }

    check_about("an interval that holds zero");
    difference = statistics_paired((double[]){5, -4, 3, -3}, 4);
    CHECK(difference.low < 0 && difference.high > 0);
}

/* How often the interval of `pairs` normal differences with mean 1 holds 1. */
static double coverage(int pairs, int experiments)
{
    struct rotary_random_key key = {.seed = (uint64_t)pairs, .stream = ROTARY_STREAM_TEST};
    double values[16];
    int held = 0;
    for (int i = 0; i < experiments; i++) {
        key.step = (uint32_t)i;
        for (int j = 0; j < pairs; j++)
            values[j] = 1 + 3 * (double)rotary_random_normal(key, (uint64_t)j);
        struct paired_difference difference = statistics_paired(values, pairs);
        held += difference.low <= 1 && difference.high >= 1;
    }
    return (double)held / experiments;
}

static void check_coverage(void)
{
    check_about("coverage");
    for (int pairs = 2; pairs <= 16; pairs++)
        CHECK_NEAR(coverage(pairs, 10000), 0.95, 0.0066); /* three standard errors of 10,000 experiments */
}

static void check_noise(void)
{
    check_about("127 against 128 of 128");
    struct exact_match_pair pairs[3] = {{128, 127, 128}, {128, 127, 128}, {128, 127, 128}};
    struct paired_difference difference = statistics_paired((double[]){0.78125, 0.78125, 0.78125}, 3);
    double noise = exact_match_noise(pairs, 3);
    CHECK_NEAR(noise, 0.6708486453673068,
               1e-12); /* statsmodels: 381 and 384 of 384 within 97.617 and 99.845% */
    statistics_add_noise(&difference, noise);
    CHECK_NEAR(difference.mean - difference.low, 4.302653 * noise, 1e-6);
    CHECK_NEAR(difference.t_test_p, student_p(0.78125 / noise, 2), 0);

    check_about("a hundred times the problems");
    for (int i = 0; i < 3; i++)
        pairs[i] = (struct exact_match_pair){12800, 12700, 12800};
    CHECK(exact_match_noise(pairs, 3) < noise / 10);
    difference = statistics_paired((double[]){0.78125, 0.78125, 0.78125}, 3);
    statistics_add_noise(&difference, exact_match_noise(pairs, 3));
    CHECK(difference.low > 0);

    check_about("noise below the spread changes nothing");
    difference = statistics_paired((double[]){10, 12, 11}, 3);
    struct paired_difference before = difference;
    statistics_add_noise(&difference, before.error / 2);
    CHECK(difference.low == before.low && difference.error == before.error);
    CHECK(isnan(exact_match_noise(pairs, 0)));

    check_about("an interval ends where no difference can be");
    difference = statistics_paired((double[]){90, 99, 20}, 3);
    CHECK(difference.high > 100 && difference.low < 100);
    before = difference;
    statistics_keep_within(&difference, 100);
    CHECK(difference.high == 100 && difference.low == before.low);
    difference = statistics_paired((double[]){-90, -99, -20}, 3);
    statistics_keep_within(&difference, 100);
    CHECK(difference.low == -100 && difference.high == -before.low);
    difference = statistics_paired((double[]){1}, 1);
    statistics_keep_within(&difference, 100);
    CHECK(isnan(difference.low) && isnan(difference.high));
}

static void check_reached(void)
{
    check_about("reached");
    struct reached reached;
    rotary_error error;
    CHECK_INT(statistics_reached(&reached, (int64_t[]){500, 300, 600}, 3, &error), ROTARY_OK);
    CHECK_INT(reached.reached, 3);
    CHECK_NEAR(reached.median, 500, 0);
    CHECK_INT(statistics_reached(&reached, (int64_t[]){NOT_REACHED, 300, 600}, 3, &error), ROTARY_OK);
    CHECK_INT(reached.reached, 2);
    CHECK_NEAR(reached.median, 600, 0);
    CHECK_INT(statistics_reached(&reached, (int64_t[]){NOT_REACHED, 300, NOT_REACHED}, 3, &error), ROTARY_OK);
    CHECK_INT(reached.reached, 1);
    CHECK(isinf(reached.median));
    CHECK_INT(statistics_reached(&reached, (int64_t[]){300, NOT_REACHED}, 2, &error), ROTARY_OK);
    CHECK(isinf(reached.median));
    CHECK_INT(statistics_reached(&reached, NULL, 0, &error), ROTARY_OK);
    CHECK(isnan(reached.median));
}

int main(void)
{
    check_goldens();
    check_hand_made();
    check_pairs();
    check_noise();
    check_coverage();
    check_reached();
    return check_report();
}
