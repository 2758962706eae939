/* SPDX-License-Identifier: Apache-2.0
 *
 * What a comparison makes of its runs: which evaluation counts, which runs are pairs, which contrasts are
 * judged together, and what decides.
 */
#include "records/sample_runs.h"
#include "statistics/max_t.h"
#include "statistics/power.h"
#include "statistics/sequential.h"
#include "support/check.h"

#include <math.h>

enum { PAIRS = MADE_EXAMPLE_PAIRS };
static const int64_t seeds[PAIRS] = {1, 2, 3, 5, 7, 8};

static void check_pairs(const struct comparison *comparison)
{
    CHECK_INT(comparison->contrast_count, 2);
    static const double losses[2][PAIRS] = {
        {0.82 - 1.31, 0.61 - 1.22, 0.77 - 1.43, 0.79 - 1.36, 0.8 - 1.4, 0.74 - 1.28},
        {2.0 - 1.31, 2.2 - 1.22, 2.5 - 1.43, 2.37 - 1.36, 2.3 - 1.4, 2.15 - 1.28}};
    static const double correct[2][PAIRS] = {{85 - 110, 101 - 121, 104 - 117, 119 - 125, 95 - 119, 90 - 123},
                                             {40 - 110, 31 - 121, 36 - 117, 55 - 125, 20 - 119, 60 - 123}};
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
    CHECK_INT(comparison->contrasts[0].censored, 5);
    CHECK_INT(comparison->contrasts[1].censored, PAIRS);
    CHECK_INT(comparison->arms[2].run_count, 7);
    CHECK_INT(comparison->arms[1].run_count, PAIRS);
    CHECK_INT(comparison->unfinished, 1);
    CHECK_INT(comparison->diverged, 1);
}

/* A run that never had 90% counts as its last step, in values and in differences. */
static void check_times(const struct comparison *comparison)
{
    static const double times[2][PAIRS] = {{600, 500, 500, 500, 500, 500}, {600, 600, 600, 500, 600, 600}};
    check_about("steps to 90%%");
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < PAIRS; j++)
            CHECK_NEAR(comparison->arms[i].values[MEASURE_STEPS_TO_90][j], times[i][j], 0);
    CHECK_NEAR(comparison->contrasts[0].difference[MEASURE_STEPS_TO_90].mean, 400.0 / 6, 1e-12);
    CHECK_INT(comparison->arms[0].reached.reached, 5);
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

/* The rule on the differences of both contrasts, which have the same seeds. */
static void check_rule(void)
{
    check_about("two contrasts");
    struct collection collection;
    sample_collection(&collection, sample_example, MADE_EXAMPLE, "validation_loss",
                      (struct comparison_request){0});
    const struct comparison *comparison = collection.comparison;
    CHECK_INT(comparison->measures[0], MEASURE_VALIDATION_LOSS);
    CHECK_INT(comparison->family, 2);
    CHECK_INT(comparison->seeds, PAIRS);
    struct max_t_contrast wanted[2];
    for (int i = 0; i < 2; i++)
        wanted[i].differences = comparison->contrasts[i].differences[MEASURE_VALIDATION_LOSS];
    const struct max_t_call call = {
        .contrasts = wanted, .contrast_count = 2, .seed_count = PAIRS, .alpha = 0.05};
    rotary_error error;
    CHECK_INT(max_t_test(&call, &error), ROTARY_OK);
    for (int i = 0; i < 2; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        const struct paired_difference *difference = &contrast->difference[MEASURE_VALIDATION_LOSS];
        CHECK(contrast->judged);
        CHECK_NEAR(contrast->adjusted_p, 0.03125, 1e-15);
        CHECK_NEAR(difference->low, wanted[i].low, 1e-15);
        CHECK_NEAR(difference->high, wanted[i].high, 1e-15);
        CHECK_NEAR(difference->level, 0.95, 1e-15);
        CHECK_NEAR(difference->sign_flip_p, 0.03125, 1e-15);
    }
    CHECK_INT(comparison_decide(comparison, &comparison->contrasts[0]), VERDICT_BETTER);
    CHECK_INT(comparison_decide(comparison, &comparison->contrasts[1]), VERDICT_WORSE);
    collection_free(&collection);

    check_about("all pairs");
    sample_collection(&collection, sample_example, MADE_EXAMPLE, "validation_loss",
                      (struct comparison_request){.all_pairs = true});
    comparison = collection.comparison;
    CHECK_INT(comparison->contrast_count, 3);
    CHECK_INT(comparison->family, 3);
    CHECK_INT(comparison->contrasts[2].arm, 2);
    CHECK_INT(comparison->contrasts[2].baseline, 1);
    CHECK_INT(comparison->contrasts[2].pair_count, PAIRS);
    CHECK_NEAR(comparison->contrasts[2].differences[MEASURE_VALIDATION_LOSS][0], 2.0 - 0.82, 1e-12);
    CHECK_INT(comparison_decide(comparison, &comparison->contrasts[2]), VERDICT_WORSE);
    collection_free(&collection);
}

/* RoPER is always 0.3 better, and learned a little worse or better, seed after seed. */
enum { MANY = 20 };
static int make_arms(struct sample_run runs[3 * MANY], int seeds_of_roper, int seeds_of_learned)
{
    int count = 0;
    for (int seed = 1; seed <= MANY; seed++) {
        const double loss = 1 + 0.013 * seed;
        if (seed <= seeds_of_roper || seed <= seeds_of_learned)
            runs[count++] = (struct sample_run){"rope", seed, loss, 0, 0, 0, 0, 0};
        if (seed <= seeds_of_roper)
            runs[count++] = (struct sample_run){"roper", seed, loss - 0.3 - 0.001 * seed, 0, 0, 0, 0, 0};
        if (seed <= seeds_of_learned)
            runs[count++] =
                (struct sample_run){"learned", seed, loss + (seed % 2 ? 0.02 : -0.02), 0, 0, 0, 0, 0};
    }
    return count;
}

/* Contrasts with too few pairs have no verdict, however clear, and take no part in those of others. */
static void check_family(void)
{
    struct sample_run runs[3 * MANY];
    for (int pairs = 1; pairs <= 7; pairs++) {
        struct collection collection;
        check_about("%d pairs of one sign", pairs);
        sample_collection(&collection, runs, make_arms(runs, pairs, 7), NULL, (struct comparison_request){0});
        const struct comparison *comparison = collection.comparison;
        const struct contrast *roper = &comparison->contrasts[0], *learned = &comparison->contrasts[1];
        const struct paired_difference *difference = &roper->difference[MEASURE_VALIDATION_LOSS];
        CHECK_TEXT(comparison->arms[roper->arm].name, "roper");
        CHECK_INT(roper->judged, pairs >= 6);
        CHECK_INT(comparison->family, pairs >= 6 ? 2 : 1);
        CHECK_INT(comparison_decide(comparison, roper), pairs >= 6 ? VERDICT_BETTER : VERDICT_TOO_FEW);
        CHECK_INT(isnan(roper->adjusted_p), pairs < 6);
        CHECK_INT(isnan(difference->low), pairs < 2);
        CHECK_INT(comparison_decide(comparison, learned), VERDICT_NO_DIFFERENCE);
        if (pairs < 6) /* alone: its own */
            CHECK_NEAR(learned->adjusted_p, learned->difference[MEASURE_VALIDATION_LOSS].sign_flip_p, 0);
        collection_free(&collection);
    }
    struct collection collection;
    check_about("%d pairs", MANY);
    sample_collection(&collection, runs, make_arms(runs, MANY, MANY), NULL, (struct comparison_request){0});
    CHECK_INT(collection.comparison->seeds, MANY);
    CHECK_NEAR(collection.comparison->contrasts[0].adjusted_p, 1e-5, 1e-15);
    CHECK_INT(comparison_decide(collection.comparison, &collection.comparison->contrasts[1]),
              VERDICT_NO_DIFFERENCE);
    collection_free(&collection);
}

/* A seed is flipped in all contrasts that have it, and in no other. */
static void check_missing_seeds(void)
{
    enum { SEEDS = 9, MISSING = 3 };
    static const double roper[SEEDS] = {0, 0, 0, 0.31, -0.1, 0.22, 0.4, 0.05, 0.27},
                        learned[SEEDS] = {0.2, -0.3, 0.1, 0.4, 0.35, -0.05, 0.1, 0.25, 0.3};
    struct sample_run runs[3 * SEEDS];
    double rows[2][SEEDS];
    int count = 0;
    for (int i = 0; i < SEEDS; i++) {
        runs[count++] = (struct sample_run){"rope", i, 1, 0, 0, 0, 0, 0};
        if (i >= MISSING)
            runs[count++] = (struct sample_run){"roper", i, 1 + roper[i], 0, 0, 0, 0, 0};
        runs[count++] = (struct sample_run){"learned", i, 1 + learned[i], 0, 0, 0, 0, 0};
        rows[1][i] = 1 + learned[i] - 1;
        rows[0][i] = i >= MISSING ? 1 + roper[i] - 1 : (double)NAN;
    }
    struct max_t_contrast wanted[2] = {{.differences = rows[0]}, {.differences = rows[1]}};
    const struct max_t_call call = {
        .contrasts = wanted, .contrast_count = 2, .seed_count = SEEDS, .alpha = 0.05};
    rotary_error error;
    struct collection collection;
    check_about("an arm without the first seeds");
    CHECK_INT(max_t_test(&call, &error), ROTARY_OK);
    sample_collection(&collection, runs, count, NULL,
                      (struct comparison_request){.arms = (const char *const[]){"rope", "roper", "learned"},
                                                  .arm_count = 3});
    CHECK_INT(collection.comparison->seeds, SEEDS);
    for (int i = 0; i < 2; i++) {
        const struct contrast *contrast = &collection.comparison->contrasts[i];
        CHECK_NEAR(contrast->adjusted_p, wanted[i].p, 1e-15);
        CHECK_NEAR(contrast->difference[MEASURE_VALIDATION_LOSS].low, wanted[i].low, 1e-12);
        CHECK_NEAR(contrast->difference[MEASURE_VALIDATION_LOSS].high, wanted[i].high, 1e-12);
    }
    collection_free(&collection);
}

/* Runs that diverged count with the worst score: 4 of 8 take the verdict away. */
static void check_diverged(void)
{
    for (int diverged = 0; diverged <= 4; diverged += 2)
        for (int problems = 0; problems <= 128; problems += 128) {
            struct sample_run runs[16];
            for (int i = 0; i < 16; i++)
                runs[i] = (struct sample_run){i % 2 ? "roper" : "rope",
                                              i / 2,
                                              i % 2 ? 0.7 - 0.001 * i : 1,
                                              problems * (i % 2 ? 9 : 7) / 10,
                                              problems,
                                              0,
                                              i % 2 && i / 2 < diverged ? 130 : 0,
                                              0};
            struct collection collection;
            check_about("%d of 8 runs diverged, %d problems", diverged, problems);
            sample_collection(&collection, runs, 16, NULL, (struct comparison_request){0});
            const struct comparison *comparison = collection.comparison;
            const struct contrast *contrast = &comparison->contrasts[0];
            const enum measure measure = comparison->measures[0];
            CHECK_INT(contrast->pair_count, 8);
            for (int i = 0; i < 8; i++) {
                const struct record *roper = &comparison->records[contrast->pairs[i].arm];
                CHECK_INT(contrast->pairs[i].seed, i);
                CHECK_INT(contrast->pairs[i].diverged, i < diverged);
                if (i >= diverged)
                    continue;
                CHECK_NEAR(contrast->differences[measure][i],
                           problems ? -100.0 * (7 * 128 / 10) / 128 : roper->points[0].loss - 1, 1e-12);
                CHECK_NEAR(contrast->differences[MEASURE_VALIDATION_LOSS][i], roper->points[0].loss - 1,
                           1e-12);
            }
            CHECK_INT(comparison_decide(comparison, contrast),
                      diverged ? VERDICT_NO_DIFFERENCE : VERDICT_BETTER);
            CHECK_INT(comparison->arms[1].run_count, 8 - diverged);
            collection_free(&collection);
        }
    static const struct sample_run both[] = {
        {"rope", 1, 1, 0, 0, 0, 90, 0},   {"roper", 1, 2, 0, 0, 0, 300, 0}, {"rope", 2, 1, 0, 0, 0, 0, 0},
        {"roper", 2, 0.9, 0, 0, 0, 0, 0}, {"rope", 3, 1, 0, 0, 0, 5, 0},    {"roper", 3, 0.8, 0, 0, 0, 0, 0}};
    struct collection collection;
    check_about("both runs of a pair diverged, and one before its first line");
    sample_collection(&collection, both, 6, NULL, (struct comparison_request){0});
    const struct contrast *contrast = &collection.comparison->contrasts[0];
    CHECK_INT(contrast->pair_count, 3);
    CHECK_NEAR(contrast->differences[MEASURE_VALIDATION_LOSS][0], 0, 0);
    CHECK_NEAR(contrast->differences[MEASURE_VALIDATION_LOSS][1], -0.1, 1e-12);
    CHECK_NEAR(contrast->differences[MEASURE_VALIDATION_LOSS][2],
               0.8 - collection.comparison->records[0].points[0].loss, 1e-12);
    collection_free(&collection);
}

/* The primary measure decides alone: RoPER is worse in exact match. */
static void check_primary(void)
{
    struct collection collection;
    check_about("the primary measure decides");
    sample_collection(&collection, sample_example, MADE_EXAMPLE, "auto", (struct comparison_request){0});
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

/* Exact match near its bounds: equal differences, and intervals that stay in them. */
static void check_bounds(void)
{
    struct sample_run runs[12];
    for (int far = 0; far < 2; far++)
        for (int pairs = 3; pairs <= 6; pairs += 3) {
            for (int i = 0; i < 12; i++)
                runs[i] = (struct sample_run){i % 2 ? "roper" : "rope",
                                              i / 2,
                                              1,
                                              i % 2 ? (far && i % 4 == 1 ? 0 : 128) : far ? 0 : 127,
                                              128,
                                              0,
                                              0,
                                              0};
            struct collection collection;
            check_about("bounds: %s, %d pairs", far ? "0 or 128 against 0" : "128 against 127", pairs);
            sample_collection(&collection, runs, 2 * pairs, "exact_match", (struct comparison_request){0});
            const struct contrast *contrast = &collection.comparison->contrasts[0];
            const struct paired_difference *difference = &contrast->difference[MEASURE_EXACT_MATCH];
            const enum verdict verdict = comparison_decide(collection.comparison, contrast);
            if (pairs == 3) /* Student's, with the noise of the problems: wider than the bounds, or not */
                CHECK(far ? difference->high == 100 && difference->low == -100
                          : difference->low < 0 && difference->high > 1);
            else if (far)
                CHECK(difference->high == 100 && difference->low <= 0 && difference->low >= -100);
            else
                CHECK_NEAR(difference->low, difference->high, 1e-12);
            CHECK_INT(verdict, pairs == 3 ? VERDICT_TOO_FEW : far ? VERDICT_NO_DIFFERENCE : VERDICT_BETTER);
            if (pairs == 6)
                CHECK_NEAR(contrast->adjusted_p, far ? 0.25 : 0.03125, 1e-12);
            collection_free(&collection);
        }
}

static void check_request(void)
{
    struct collection collection;
    check_about("unlike runs are no pairs");
    sample_collection(&collection, sample_example, MADE_EXAMPLE, NULL,
                      (struct comparison_request){.unlike = "dropout is 0 in some runs and 0.1 in others"});
    CHECK_INT(collection.comparison->contrast_count, 2);
    CHECK_INT(collection.comparison->contrasts[0].pair_count, 0);
    CHECK_INT(comparison_decide(collection.comparison, &collection.comparison->contrasts[0]),
              VERDICT_TOO_FEW);
    CHECK_INT(collection.comparison->arms[0].run_count, 6);
    collection_free(&collection);

    check_about("seeds that were added after a look");
    struct looks looks = {.seeds = (const int[]){3, 4, 5}, .count = 3};
    sample_collection(&collection, sample_example, MADE_EXAMPLE, NULL,
                      (struct comparison_request){.looks = &looks});
    CHECK_INT(comparison_seen_before(collection.comparison), 3);
    looks.seeds = (const int[]){8, 8, 8}; /* one of eight diverged */
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
    struct power power;
    rotary_error error;
    check_about("power");
    sample_collection(&collection, sample_example, MADE_EXAMPLE, "steps_to_90",
                      (struct comparison_request){0});
    const struct power_design design = {.arms = 3, .alpha = 0.05};
    CHECK_INT(power_create(&power, &design, &error), ROTARY_OK);
    for (int i = 0; i < 2; i++) {
        const struct contrast *contrast = &collection.comparison->contrasts[i];
        const struct paired_difference *difference = &contrast->difference[MEASURE_STEPS_TO_90];
        double effect = difference->mean / difference->deviation;
        CHECK_NEAR(contrast->detectable / difference->deviation, power_effect(&power, PAIRS), 1e-9);
        CHECK_INT(contrast->needed_pairs, power_pairs(&power, effect));
    }
    collection_free(&collection);
}

/* Seven pairs of which RoPER's all have the lower loss, looked at after each. */
static void check_sequential(void)
{
    struct sample_run each[21];
    static const char *const names[] = {"rope", "roper", "none"};
    for (int i = 0; i < 21; i++)
        each[i] = (struct sample_run){
            names[i % 3], i / 3, 1 - (i % 3 == 1 ? 0.3 + 0.01 * i : 0.001 * i), 0, 0, 0, 0, 0};
    for (int arms = 2; arms <= 3; arms++) {
        struct sample_run taken[21];
        int count = 0;
        for (int i = 0; i < 21; i++)
            if (i % 3 < arms)
                taken[count++] = each[i];
        struct collection collection;
        check_about("a sequential test of %d arms", arms);
        sample_collection(&collection, taken, count, NULL, (struct comparison_request){.max_pairs = 20});
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
        sample_collection(&collection, taken, count, NULL, (struct comparison_request){.max_pairs = 6});
        CHECK_INT(collection.comparison->max_pairs, 0);
        CHECK_INT(comparison_decide(collection.comparison, &collection.comparison->contrasts[0]),
                  VERDICT_BETTER); /* by the rule without looks */
        CHECK(collection.comparison->contrasts[0].judged && collection.comparison->contrasts[0].look == 0);
        collection_free(&collection);
    }
}

/* A pair that speaks against the verdict comes after the test has passed. */
static void check_later_pairs(void)
{
    enum { PASSED = 7, TAKEN = 9 };
    struct sample_run runs[2 * TAKEN];
    for (int i = 0; i < TAKEN; i++) {
        runs[2 * i] = (struct sample_run){"rope", i, 1, 0, 0, 0, 0, 0};
        runs[2 * i + 1] = (struct sample_run){"roper", i, i < PASSED ? 0.7 - 0.01 * i : 1.5, 0, 0, 0, 0, 0};
    }
    struct collection collection;
    check_about("pairs after a sequential test has passed");
    sample_collection(&collection, runs, 2 * TAKEN, NULL, (struct comparison_request){.max_pairs = 20});
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
    CHECK_INT(contrast->look, PASSED);
    CHECK_NEAR(contrast->look_mean, -0.33, 1e-12); /* of those pairs, within the interval of that look */
    CHECK(contrast->look_mean < high &&
          contrast->look_mean > contrast->difference[MEASURE_VALIDATION_LOSS].low);
    CHECK(contrast->difference[MEASURE_VALIDATION_LOSS].mean > -0.15);
    collection_free(&collection);

    check_about("pairs that were added later have smaller seeds");
    for (int i = 0; i < 2 * PASSED; i++)
        runs[i].seed += TAKEN;
    sample_collection(&collection, runs, 2 * TAKEN, NULL, (struct comparison_request){.max_pairs = 20});
    contrast = &collection.comparison->contrasts[0];
    CHECK_INT(contrast->pairs[0].seed, PASSED);
    CHECK_NEAR(contrast->difference[MEASURE_VALIDATION_LOSS].high, high, 0);
    collection_free(&collection);
}

int main(void)
{
    check_later_pairs();
    check_primary();
    check_rule();
    check_family();
    check_missing_seeds();
    check_diverged();
    check_bounds();
    check_request();
    check_power();
    check_sequential();
    return check_report();
}
