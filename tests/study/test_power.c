/* SPDX-License-Identifier: Apache-2.0
 *
 * The power of the t test, against scipy's noncentral t distribution and statsmodels.
 */
#include "support/check.h"

#include "study/power.h"
#include "study/statistics.h"

#include <math.h>

#include "goldens.h"

enum { POWERS = sizeof power_goldens / sizeof power_goldens[0] };
enum { PAIRS = sizeof pairs_goldens / sizeof pairs_goldens[0] };

static void check_goldens(void)
{
    for (int i = 0; i < POWERS; i++) {
        const struct power_golden *golden = &power_goldens[i];
        check_about("effect %g, %d pairs, alpha %g", golden->effect, golden->pairs, golden->alpha);
        CHECK_NEAR(power_of(golden->effect, golden->pairs, golden->alpha), golden->power, 1e-9);
    }
    for (int i = 0; i < PAIRS; i++) {
        const struct pairs_golden *golden = &pairs_goldens[i];
        check_about("effect %g, power %g, alpha %g", golden->effect, golden->power, golden->alpha);
        int wanted = (int)ceil(golden->pairs),
            pairs = power_pairs(golden->effect, golden->power, golden->alpha);
        CHECK_INT(pairs, wanted < ENOUGH_PAIRS ? ENOUGH_PAIRS : wanted);
        CHECK_INT(power_pairs(-golden->effect, golden->power, golden->alpha), pairs);
    }
}

static void check_effect(void)
{
    check_about("the smallest effect");
    for (int pairs = 2; pairs <= 300; pairs = pairs * 3 / 2 + 1) {
        double effect = power_effect(pairs, 0.8, 0.05);
        CHECK_NEAR(power_of(effect, pairs, 0.05), 0.8, 1e-9);
        if (pairs >= ENOUGH_PAIRS)
            CHECK_INT(power_pairs(effect, 0.8 - 1e-9, 0.05), pairs);
    }

    check_about("no effect");
    CHECK_NEAR(power_of(0, 5, 0.05), 0.05, 1e-9);
    CHECK_INT(power_pairs(0, 0.8, 0.05), POWER_MAX_PAIRS);
    CHECK_INT(power_pairs((double)NAN, 0.8, 0.05), POWER_MAX_PAIRS);
}

int main(void)
{
    check_goldens();
    check_effect();
    return check_report();
}
