/* SPDX-License-Identifier: Apache-2.0
 *
 * What a comparison makes of its runs: which evaluation counts, which runs are pairs, how contrasts are
 * corrected, and what decides.
 */
#include "study/made_runs.h"
#include "study/power.h"
#include "study/sequential.h"
#include "support/check.h"

#include <math.h>

enum { PAIRS = MADE_EXAMPLE_PAIRS };
static const int64_t seeds[PAIRS] = {1, 2, 3, 5};

static void check_pairs(const struct comparison *comparison)
{
    CHECK_INT(comparison->contrast_count, 2);
    static const double losses[2][PAIRS] = {{0.82 - 1.31, 0.61 - 1.22, 0.77 - 1.43, 0.79 - 1.36},
                                            {2.0 - 1.31, 2.2 - 1.22, 2.5 - 1.43, 2.37 - 1.36}};
    static const double correct[2][PAIRS] = {{85 - 110, 101 - 121, 104 - 117, 119 - 125},
                                             {40 - 110, 31 - 121, 36 - 117, 55 - 125}};
    static const char *const names[] = {"roper", "none"};
    for (int i = 0; i < 2; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        check_about("pairs of %s", names[i]);
        CHECK_INT(contrast->pair_count, PAIRS);
        for (int j = 0; j < PAIRS; j++) {
            const struct record *arm = &comparison->records[contrast->pairs[j].arm],
                                *baseline = &comparison->records[contrast->pairs[j].baseline];
            CHECK_INT(contrast->pairs[j].seed, seeds[j]);
            CHECK_TEXT(arm->arm, names[i]);
            CHECK_TEXT(baseline->arm, "rope");
            CHECK_INT(arm->seed, seeds[j]);
            CHECK_INT(baseline->seed, seeds[j]);
            CHECK_NEAR(contrast->differences[MEASURE_VALIDATION_LOSS][j], losses[i][j], 1e-12);
            CHECK_NEAR(contrast->differences[MEASURE_EXACT_MATCH][j], correct[i][j] / 1.28, 1e-12);
        }
    }
    /* 90% of 128 are 115.2. Of RoPER only seed 5 has more, of RoPE all but seed 1. */
    CHECK_INT(comparison->contrasts[0].censored, 3);
    CHECK_INT(comparison->contrasts[1].censored, PAIRS);
    CHECK_INT(comparison->arms[2].run_count, 5);
    CHECK_INT(comparison->arms[1].run_count, PAIRS);
    CHECK_INT(comparison->unfinished, 1);
    CHECK_INT(comparison->diverged, 1);
}

/* A run that never had 90% counts as its last step, in values and in differences. */
static void check_times(const struct comparison *comparison)
{
    static const double times[2][PAIRS] = {{600, 500, 500, 500}, {600, 600, 600, 500}};
    check_about("steps to 90%%");
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < PAIRS; j++)
            CHECK_NEAR(comparison->arms[i].values[MEASURE_STEPS_TO_90][j], times[i][j], 0);
    CHECK_NEAR(comparison->contrasts[0].difference[MEASURE_STEPS_TO_90].mean, 50, 1e-12);
    CHECK_INT(comparison->arms[0].reached.reached, 3);
    CHECK_INT(comparison->arms[1].reached.reached, 1);
}

/* The area under the validation loss, by trapezoids; not of the best evaluation or the last. */
static void check_area(const struct comparison *comparison)
{
    check_about("the area under the loss");
    for (int i = 0; i < comparison->arms[0].run_count; i++) {
        const struct record *record = &comparison->records[comparison->arms[0].runs[i]];
        double sum = 0;
        for (int j = 0; j < MADE_EVALUATIONS; j++) {
            bool end = j == 0 || j == MADE_EVALUATIONS - 1;
            sum += record->evaluations[j].loss * (end ? 0.5 : 1) / (MADE_EVALUATIONS - 1);
        }
        CHECK_NEAR(comparison->arms[0].values[MEASURE_VALIDATION_LOSS_AREA][i], sum, 1e-12);
    }
}

/* Two contrasts: the one with the smaller p value at 97.5%, the other at 95%. Quantiles of Student's t with
 * three degrees of freedom are from tables. */
static void check_levels(void)
{
    check_about("levels of two contrasts");
    struct collection collection;
    made_collection(&collection, made_example, MADE_EXAMPLE, "validation_loss",
                    (struct comparison_request){0});
    const struct comparison *comparison = collection.comparison;
    CHECK_INT(comparison->measures[0], MEASURE_VALIDATION_LOSS);
    const double t975 = 4.1765, t95 = 3.1824;
    double p[2], wanted[2];
    for (int i = 0; i < 2; i++)
        p[i] = comparison->contrasts[i].difference[MEASURE_VALIDATION_LOSS].t_test_p;
    wanted[0] = p[0] < p[1] ? t975 : t95;
    wanted[1] = p[0] < p[1] ? t95 : t975;
    for (int i = 0; i < 2; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        const struct paired_difference *difference = &contrast->difference[MEASURE_VALIDATION_LOSS];
        CHECK_NEAR(difference->high - difference->mean, wanted[i] * difference->error,
                   1e-3 * difference->error);
        CHECK_NEAR(difference->level, wanted[i] == t975 ? 0.975 : 0.95, 1e-12);
        CHECK_NEAR(difference->sign_flip_p, 0.125, 1e-12);
        CHECK_NEAR(contrast->adjusted_p, 0.25, 1e-12);
        difference = &contrast->difference[MEASURE_STEPS_TO_90]; /* not primary */
        CHECK_NEAR(difference->level, 0.95, 1e-12);
    }
    CHECK_INT(comparison_decide(comparison, &comparison->contrasts[0]), VERDICT_BETTER);
    CHECK_INT(comparison_decide(comparison, &comparison->contrasts[1]), VERDICT_WORSE);
    collection_free(&collection);

    check_about("all pairs");
    made_collection(&collection, made_example, MADE_EXAMPLE, "validation_loss",
                    (struct comparison_request){.all_pairs = true});
    comparison = collection.comparison;
    CHECK_INT(comparison->contrast_count, 3);
    CHECK_INT(comparison->contrasts[2].arm, 2);
    CHECK_INT(comparison->contrasts[2].baseline, 1);
    double largest = 0;
    for (int i = 0; i < 3; i++)
        largest = fmax(largest, comparison->contrasts[i].difference[MEASURE_VALIDATION_LOSS].level);
    CHECK_NEAR(largest, 1 - 0.05 / 3, 1e-12);
    CHECK_NEAR(comparison->contrasts[2].adjusted_p, 3 * 0.125, 1e-12);
    CHECK_NEAR(comparison->contrasts[2].differences[MEASURE_VALIDATION_LOSS][0], 2.0 - 0.82, 1e-12);
    collection_free(&collection);
}

/* The primary measure decides alone: RoPER is worse in exact match. */
static void check_primary(void)
{
    struct collection collection;
    check_about("the primary measure decides");
    made_collection(&collection, made_example, MADE_EXAMPLE, "auto", (struct comparison_request){0});
    const struct comparison *comparison = collection.comparison;
    check_pairs(comparison);
    check_area(comparison);
    check_times(comparison);
    CHECK_INT(comparison->measures[0], MEASURE_EXACT_MATCH);
    CHECK_INT(comparison->measure_count, 3);
    CHECK(comparison->contrasts[0].difference[MEASURE_EXACT_MATCH].mean < 0);
    CHECK_INT(comparison_decide(comparison, &comparison->contrasts[1]), VERDICT_WORSE);
    collection_free(&collection);
}

/* Scores of 127 against 128 of 128, three times: binomial noise stands in for the spread that they lack. */
static void check_noise(void)
{
    static const struct made_run equal[] = {
        {"rope", 1, 1, 127, 128, 0, 0, 0}, {"roper", 1, 0.9, 128, 128, 0, 0, 0},
        {"rope", 2, 1, 127, 128, 0, 0, 0}, {"roper", 2, 0.9, 128, 128, 0, 0, 0},
        {"rope", 3, 1, 127, 128, 0, 0, 0}, {"roper", 3, 0.9, 128, 128, 0, 0, 0}};
    struct collection collection;
    check_about("equal differences");
    made_collection(&collection, equal, 6, "exact_match", (struct comparison_request){0});
    const struct contrast *contrast = &collection.comparison->contrasts[0];
    const struct paired_difference *difference = &contrast->difference[MEASURE_EXACT_MATCH];
    CHECK(difference->low < 0 && difference->high > 1);
    CHECK_INT(comparison_decide(collection.comparison, contrast), VERDICT_NO_DIFFERENCE);
    collection_free(&collection);
    made_collection(&collection, equal, 6, "validation_loss", (struct comparison_request){0});
    CHECK_INT(comparison_decide(collection.comparison, &collection.comparison->contrasts[0]),
              VERDICT_NO_SPREAD);
    collection_free(&collection);
}

static void check_request(void)
{
    struct collection collection;
    check_about("unlike runs are no pairs");
    made_collection(&collection, made_example, MADE_EXAMPLE, NULL,
                    (struct comparison_request){.unlike = "dropout is 0 in some runs and 0.1 in others"});
    CHECK_INT(collection.comparison->contrast_count, 2);
    CHECK_INT(collection.comparison->contrasts[0].pair_count, 0);
    CHECK_INT(comparison_decide(collection.comparison, &collection.comparison->contrasts[0]),
              VERDICT_TOO_FEW);
    CHECK_INT(collection.comparison->arms[0].run_count, 4);
    collection_free(&collection);

    check_about("seeds that were added after a look");
    struct looks looks = {.seeds = (const int[]){3, 4, 5}, .count = 3};
    made_collection(&collection, made_example, MADE_EXAMPLE, NULL,
                    (struct comparison_request){.looks = &looks});
    CHECK_INT(comparison_seen_before(collection.comparison), 3);
    looks.seeds = (const int[]){6, 6, 6}; /* one of six diverged */
    CHECK_INT(comparison_seen_before(collection.comparison), 0);
    CHECK_INT(comparison_seen_steps(collection.comparison), 0);
    const int64_t steps = collection.comparison->steps;
    looks.steps = (const int64_t[]){steps, steps - 1, steps};
    CHECK_INT(comparison_seen_steps(collection.comparison), steps - 1);
    collection_free(&collection);
}

/* What the spread allows, by the power itself. */
static void check_power(void)
{
    struct collection collection;
    check_about("power");
    made_collection(&collection, made_example, MADE_EXAMPLE, "steps_to_90", (struct comparison_request){0});
    for (int i = 0; i < 2; i++) {
        const struct contrast *contrast = &collection.comparison->contrasts[i];
        const struct paired_difference *difference = &contrast->difference[MEASURE_STEPS_TO_90];
        double mistake = 1 - difference->level, effect = difference->mean / difference->deviation;
        CHECK_NEAR(power_of(contrast->detectable / difference->deviation, PAIRS, mistake), 0.8, 1e-6);
        CHECK(power_of(effect, contrast->needed_pairs, mistake) >= 0.8);
        CHECK(contrast->needed_pairs == ENOUGH_PAIRS ||
              power_of(effect, contrast->needed_pairs - 1, mistake) < 0.8);
    }
    collection_free(&collection);
}

/* Seven pairs of which RoPER's all have the lower loss, looked at after each. */
static void check_sequential(void)
{
    struct made_run each[21];
    static const char *const names[] = {"rope", "roper", "none"};
    for (int i = 0; i < 21; i++)
        each[i] = (struct made_run){
            names[i % 3], i / 3, 1 - (i % 3 == 1 ? 0.3 + 0.01 * i : 0.001 * i), 0, 0, 0, 0, 0};
    for (int arms = 2; arms <= 3; arms++) {
        struct made_run taken[21];
        int count = 0;
        for (int i = 0; i < 21; i++)
            if (i % 3 < arms)
                taken[count++] = each[i];
        struct collection collection;
        check_about("a sequential test of %d arms", arms);
        made_collection(&collection, taken, count, NULL, (struct comparison_request){.max_pairs = 20});
        const struct contrast *contrast = &collection.comparison->contrasts[0];
        struct sequential_interval interval;
        rotary_error error;
        struct sequential_call call = {contrast->differences[MEASURE_VALIDATION_LOSS], 7, 20,
                                       0.05 / (arms - 1)};
        CHECK_INT(sequential_interval(&interval, &call, &error), ROTARY_OK);
        const struct paired_difference *difference = &contrast->difference[MEASURE_VALIDATION_LOSS];
        CHECK_NEAR(difference->level, 1 - call.alpha, 1e-12);
        if (arms == 2) {
            CHECK_NEAR(difference->low, interval.low, 0);
            CHECK_NEAR(difference->high, interval.high, 0);
        }
        CHECK_INT(comparison_decide(collection.comparison, contrast),
                  arms == 2 ? VERDICT_BETTER : VERDICT_TOO_FEW); /* no test of 2.5% can pass by then */
        collection_free(&collection);

        check_about("more pairs than looks were planned");
        made_collection(&collection, taken, count, NULL, (struct comparison_request){.max_pairs = 6});
        CHECK_INT(collection.comparison->max_pairs, 0);
        CHECK_INT(comparison_decide(collection.comparison, &collection.comparison->contrasts[0]),
                  VERDICT_BETTER);
        collection_free(&collection);
    }
}

/* A pair that speaks against the verdict comes after the test has passed. */
static void check_later_pairs(void)
{
    enum { PASSED = 7, TAKEN = 9 };
    struct made_run runs[2 * TAKEN];
    for (int i = 0; i < TAKEN; i++) {
        runs[2 * i] = (struct made_run){"rope", i, 1, 0, 0, 0, 0, 0};
        runs[2 * i + 1] = (struct made_run){"roper", i, i < PASSED ? 0.7 - 0.01 * i : 1.5, 0, 0, 0, 0, 0};
    }
    struct collection collection;
    check_about("pairs after a sequential test has passed");
    made_collection(&collection, runs, 2 * TAKEN, NULL, (struct comparison_request){.max_pairs = 20});
    const struct contrast *contrast = &collection.comparison->contrasts[0];
    struct sequential_call call = {contrast->differences[MEASURE_VALIDATION_LOSS], TAKEN, 20, 0.05};
    struct sequential_interval last;
    int look;
    rotary_error error;
    CHECK_INT(sequential_test(&look, &call, &error), ROTARY_OK);
    CHECK_INT(look, PASSED);
    CHECK_INT(sequential_interval(&last, &call, &error), ROTARY_OK);
    CHECK(last.high > 0);
    CHECK_INT(comparison_decide(collection.comparison, contrast), VERDICT_BETTER);
    double high = contrast->difference[MEASURE_VALIDATION_LOSS].high;
    CHECK(high < 0);
    collection_free(&collection);

    check_about("pairs that were added later have smaller seeds");
    for (int i = 0; i < 2 * PASSED; i++)
        runs[i].seed += TAKEN;
    made_collection(&collection, runs, 2 * TAKEN, NULL, (struct comparison_request){.max_pairs = 20});
    contrast = &collection.comparison->contrasts[0];
    CHECK_INT(contrast->pairs[0].seed, PASSED);
    CHECK_NEAR(contrast->difference[MEASURE_VALIDATION_LOSS].high, high, 0);
    collection_free(&collection);
}

int main(void)
{
    check_later_pairs();
    check_primary();
    check_levels();
    check_noise();
    check_request();
    check_power();
    check_sequential();
    return check_report();
}
