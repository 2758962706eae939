/* SPDX-License-Identifier: Apache-2.0
 *
 * The power of the rule: of one contrast of six pairs it is known, as all six must have one sign.
 */
#include "support/check.h"

#include "records/comparison/comparison.h"
#include "statistics/power.h"

#include <math.h>

enum { EXPERIMENTS = 2000 };

static double power(int arms, bool all_pairs, int pairs, double effect)
{
    const struct power_design design = {.arms = arms, .all_pairs = all_pairs, .alpha = 0.05};
    const struct power_call call = {&design, pairs, effect, EXPERIMENTS};
    double found = (double)NAN;
    rotary_error error;
    CHECK_INT(power_of(&found, &call, &error), ROTARY_OK);
    return found;
}

/* Six normal numbers with this mean have one sign. */
static double six_of_six(double effect)
{
    const double above = erfc(-effect / sqrt(2)) / 2;
    return pow(above, 6) + pow(1 - above, 6);
}

static void check_six(void)
{
    for (double effect = 0; effect < 3; effect += 0.4) {
        const double wanted = six_of_six(effect);
        check_about("six of six, effect %g", effect);
        CHECK_NEAR(power(2, false, 6, effect), wanted,
                   3.5 * sqrt(wanted * (1 - wanted) / EXPERIMENTS) + 1e-3);
        CHECK_NEAR(power(2, false, 6, -effect), wanted,
                   3.5 * sqrt(wanted * (1 - wanted) / EXPERIMENTS) + 1e-3);
    }
    check_about("five pairs");
    CHECK_NEAR(power(2, false, 5, 10), 0, 0);
}

static void check_order(void)
{
    check_about("more contrasts, more pairs");
    CHECK(power(5, false, 6, 1.5) < power(2, false, 6, 1.5));
    CHECK(power(5, true, 6, 1.5) < power(2, false, 6, 1.5));
    CHECK(power(5, false, 8, 1.5) > power(5, false, 6, 1.5));
    CHECK(power(14, false, 8, 0) < 0.03); /* of one contrast; of any it is 5% */
}

static void check_effects(void)
{
    struct power made;
    rotary_error error;
    const struct power_design designs[] = {{.arms = 2, .alpha = 0.05},
                                           {.arms = 5, .alpha = 0.05},
                                           {.arms = 3, .all_pairs = true, .alpha = 0.05}};
    for (int i = 0; i < 3; i++) {
        check_about("effects of design %d", i);
        CHECK_INT(power_create(&made, &designs[i], &error), ROTARY_OK);
        double before = (double)INFINITY;
        for (int pairs = ENOUGH_PAIRS; pairs <= 200; pairs = pairs * 5 / 4 + 1) {
            const double effect = power_effect(&made, pairs);
            CHECK(effect < before);
            CHECK_INT(power_pairs(&made, effect * (1 + 1e-12)), pairs);
            CHECK_INT(power_pairs(&made, -effect * (1 + 1e-12)), pairs);
            before = effect;
            /* 200 experiments make it, and of numbers between those tried it is interpolated. */
            if (pairs <= 12 && !designs[i].all_pairs)
                CHECK_NEAR(power(designs[i].arms, false, pairs, effect), 0.8, 0.1);
        }
        /* z of 97.5% and of 80%, of many pairs and one contrast. */
        if (i == 0)
            CHECK_NEAR(power_effect(&made, 1000) * sqrt(1000), 1.96 + 0.842, 0.3);
    }
    check_about("no effect");
    CHECK_INT(power_pairs(&made, 0), POWER_MAX_PAIRS);
    CHECK_INT(power_pairs(&made, (double)NAN), POWER_MAX_PAIRS);
    CHECK_INT(power_pairs(&made, 100), ENOUGH_PAIRS);
}

int main(void)
{
    check_six();
    check_order();
    check_effects();
    return check_report();
}
