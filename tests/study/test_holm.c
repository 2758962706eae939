/* SPDX-License-Identifier: Apache-2.0
 *
 * Student's distribution against scipy, sign-flip tests against every sign pattern, Holm's correction against
 * statsmodels and against the intervals that it asks for.
 */
#include "support/check.h"

#include "base/random.h"
#include "study/holm.h"
#include "study/sign_flip.h"
#include "study/statistics.h"
#include "study/student.h"

#include <math.h>

#include "goldens.h"

enum { STUDENT = sizeof student_goldens / sizeof student_goldens[0] };
enum { LEVELS = sizeof student_levels / sizeof student_levels[0] };
enum { HOLM = sizeof holm_goldens / sizeof holm_goldens[0] };

static void check_student(void)
{
    for (int i = 0; i < STUDENT; i++) {
        const struct student_golden *golden = &student_goldens[i];
        check_about("t %g, %d degrees of freedom", golden->t, golden->freedom);
        CHECK_NEAR(student_p(golden->t, golden->freedom), golden->p, 1e-12);
        for (int j = 0; j < LEVELS; j++)
            CHECK_NEAR(student_quantile(student_levels[j], golden->freedom), golden->quantiles[j],
                       1e-9 * golden->quantiles[j]);
    }
    CHECK(isnan(student_p((double)NAN, 4)));
}

/* The test by its definition: every sign pattern, one after the other. */
static double plain_sign_flip_p(const double *differences, int count)
{
    double found = 0;
    int as_far = 0;
    for (int i = 0; i < count; i++)
        found += differences[i];
    for (int pattern = 0; pattern < 1 << count; pattern++) {
        double sum = 0;
        for (int i = 0; i < count; i++)
            sum += pattern >> i & 1 ? differences[i] : -differences[i];
        as_far += fabs(sum) >= fabs(found) - 1e-7;
    }
    return as_far / (double)(1 << count);
}

static void check_sign_flips(void)
{
    double values[60];
    for (int count = 1; count <= 14; count++)
        for (int repeat = 0; repeat < 20; repeat++) {
            check_about("%d sign flips, repeat %d", count, repeat);
            struct rotary_random_key key = {.stream = ROTARY_STREAM_TEST,
                                            .step = (uint32_t)(20 * count + repeat)};
            for (int i = 0; i < count; i++) {
                double value = (double)rotary_random_normal(key, (uint64_t)i) + 0.5;
                values[i] = repeat % 2 ? value : round(2 * value) * 0.1; /* with ties, and inexact */
            }
            CHECK_NEAR(sign_flip_p(values, count), plain_sign_flip_p(values, count), 0);
            CHECK(sign_flip_p(values, count) >= sign_flip_min_p(count));
        }

    check_about("five of one sign");
    CHECK_NEAR(sign_flip_p((double[]){1, 2, 3, 4, 5}, 5), 0.0625, 0);
    CHECK_NEAR(sign_flip_p((double[]){-1, -2, -3, -4, -5}, 5), 0.0625, 0);
    CHECK_NEAR(sign_flip_min_p(5), 0.0625, 0);
    CHECK_NEAR(sign_flip_p((double[]){0, 0}, 2), 1, 0);
    CHECK(isnan(sign_flip_p(NULL, 0)) && isnan(sign_flip_p((double[]){1, (double)NAN}, 2)));

    check_about("drawn patterns");
    /* Sums of 60 signs are binomial: a sum of at least 20 has at least 40 of 60, to either side p = 0.01349.
     */
    for (int i = 0; i < 60; i++)
        values[i] = i < 40 ? 1 : -1;
    double p = sign_flip_p(values, 60), bound = 3 * sqrt(0.01349 / SIGN_FLIP_SAMPLES);
    CHECK_NEAR(p, 0.0134893, bound);
    for (int i = 0; i < 60; i++)
        values[i] = 1;
    CHECK_NEAR(sign_flip_p(values, 60), sign_flip_min_p(60), 0);
    CHECK_NEAR(sign_flip_min_p(60), 1e-5, 1e-20);
}

static void check_holm(void)
{
    struct holm results[8];
    for (int i = 0; i < HOLM; i++) {
        check_about("Holm %d", i);
        const struct holm_golden *golden = &holm_goldens[i];
        holm_correct(results, golden->p, golden->count, 0.05);
        for (int j = 0; j < golden->count; j++) {
            CHECK_NEAR(results[j].adjusted_p, golden->adjusted[j], 1e-15);
            CHECK_INT(results[j].rejected, golden->rejected[j]);
            CHECK_INT(results[j].rejected, golden->p[j] <= 1 - results[j].level + 1e-15);
        }
    }

    check_about("levels");
    holm_correct(results, (double[]){0.5, 0.001, 0.02, 0.03}, 4, 0.05);
    CHECK_NEAR(results[1].level, 1 - 0.05 / 4, 1e-15);
    CHECK_NEAR(results[2].level, 1 - 0.05 / 3, 1e-15); /* the first that is not rejected */
    CHECK_NEAR(results[3].level, 1 - 0.05 / 3, 1e-15);
    CHECK_NEAR(results[0].level, 1 - 0.05 / 3, 1e-15);

    check_about("a comparison without p value");
    holm_correct(results, (double[]){(double)NAN, 0.03, (double)NAN, 0.01}, 4, 0.05);
    CHECK(isnan(results[0].adjusted_p) && !results[0].rejected && !results[2].rejected);
    CHECK_NEAR(results[3].adjusted_p, 0.04, 1e-15);
    CHECK(results[3].rejected && !results[1].rejected);
    CHECK_NEAR(results[0].level, 1 - 0.05 / 3, 1e-15);
}

/* The interval at Holm's level leaves out zero if and only if Holm rejects. */
static void check_levels(void)
{
    enum { ARMS = 4, PAIRS = 5 };
    int rejected = 0;
    for (int round = 0; round < 2000; round++) {
        check_about("intervals at Holm's levels, round %d", round);
        struct rotary_random_key key = {.stream = ROTARY_STREAM_TEST, .step = (uint32_t)round};
        struct paired_difference differences[ARMS];
        struct holm results[ARMS];
        double p[ARMS];
        for (int arm = 0; arm < ARMS; arm++) {
            double values[PAIRS];
            for (int i = 0; i < PAIRS; i++)
                values[i] = (double)rotary_random_normal(key, (uint64_t)(PAIRS * arm + i)) + arm;
            differences[arm] = statistics_paired(values, PAIRS);
            p[arm] = differences[arm].t_test_p;
        }
        holm_correct(results, p, ARMS, 0.05);
        for (int arm = 0; arm < ARMS; arm++) {
            statistics_set_level(&differences[arm], results[arm].level);
            bool excludes = statistics_verdict(&differences[arm], HIGHER_IS_BETTER) != VERDICT_NO_DIFFERENCE;
            CHECK_INT(excludes, results[arm].rejected);
            rejected += excludes;
        }
    }
    CHECK(rejected > 2000 && rejected < 6000);
}

int main(void)
{
    check_student();
    check_sign_flips();
    check_holm();
    check_levels();
    return check_report();
}
