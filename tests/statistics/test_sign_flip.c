/* SPDX-License-Identifier: Apache-2.0
 *
 * Student's distribution against scipy, and the sign-flip test of one contrast against every sign pattern.
 */
#include "support/check.h"

#include "base/random.h"
#include "statistics/sign_flip.h"
#include "statistics/student.h"

#include <math.h>
#include <stddef.h>

#include "goldens.h"

enum { STUDENT = sizeof student_goldens / sizeof student_goldens[0] };
enum { LEVELS = sizeof student_levels / sizeof student_levels[0] };

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

int main(void)
{
    check_student();
    check_sign_flips();
    return check_report();
}
