/* SPDX-License-Identifier: Apache-2.0
 *
 * How often intervals contain the true difference, and how often a verdict finds one that is not there:
 * made-up experiments, counted. scripts/coverage runs this with many experiments, and prints the tables of
 * docs/numerics.md. The test runs it with few, and compares with the percentages that are written here.
 *
 *     test_coverage [EXPERIMENTS]
 */
#include "support/check.h"

#include "base/random.h"
#include "study/binomial.h"
#include "study/holm.h"
#include "study/power.h"
#include "study/sequential.h"
#include "study/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK = 250, MAX_PAIRS = 20, MAX_ARMS = 4 };
static const double alpha = 0.05;
static const int sizes[] = {3, 5, 10, 20}; /* numbers of pairs */
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* A distribution of scores, and the parameter of it that an encoding may change. */
struct scenario {
    const char *name;
    double (*score)(struct rotary_random *random, double parameter); /* NULL: exact match of problems */
    int problems;
    bool without_noise; /* the noise of the problems is not added */
    double per_unit;    /* what the mean score gains with the parameter */
    double baseline, better;
    /* In percent: intervals that contain the true difference of better and baseline. */
    double contain[SIZES];
    /* Verdicts where all have the baseline's parameter: at each size, after any seed from 3 to 20, and on any
     * of three other encodings at five. */
    double mistaken[SIZES + 2];
};

static double uniform(struct rotary_random *random)
{
    return (rotary_random_next(random) + 0.5) * 0x1p-32;
}

static double normal(struct rotary_random *random)
{
    double radius = sqrt(-2 * log(uniform(random)));
    return radius * cos(2 * M_PI * uniform(random));
}

static double normal_score(struct rotary_random *random, double mean)
{
    return mean + normal(random);
}

/* Student's t with 3 degrees of freedom: now and then a run is far from all others. */
static double heavy_score(struct rotary_random *random, double mean)
{
    double square = 0;
    for (int i = 0; i < 3; i++) {
        double other = normal(random);
        square += other * other / 3;
    }
    return mean + normal(random) / sqrt(square);
}

/* A run learns its task with this probability, and then scores about 97; else about 5. */
static double jump_score(struct rotary_random *random, double probability)
{
    return (uniform(random) < probability ? 97 : 5) + normal(random);
}

/* clang-format off */
static const struct scenario scenarios[] = {
    {"normal", normal_score, 0, false, 1, 0, 1,
     {95, 95, 95, 95}, {5, 5, 5, 5, 22.5, 13.1}},
    {"t of 3 degrees of freedom", heavy_score, 0, false, 1, 0, 1,
     {96, 95.9, 95.7, 95.5}, {4, 4.1, 4.3, 4.5, 20.6, 11.1}},
    {"50% and 80% learn", jump_score, 0, false, 92, 0.5, 0.8,
     {81.2, 94.4, 94.9, 94.4}, {3.7, 2.3, 5.3, 4.5, 18.5, 6.2}},
    {"80% and 95% learn", jump_score, 0, false, 92, 0.8, 0.95,
     {53.9, 72.7, 87.7, 94.5}, {2.5, 1.3, 3.7, 4.6, 15.5, 3.4}},
    {"90% and 99% learn", jump_score, 0, false, 92, 0.9, 0.99,
     {29.1, 43.4, 67.5, 87}, {3, 1.9, 1.5, 4.2, 12.9, 5.3}},
    {"80% and 95% of 128 problems", NULL, 128, false, 100, 0.8, 0.95,
     {100, 99.6, 98.2, 97.2}, {0, 0.4, 1.7, 2.7, 7.7, 1.1}},
    {"98% and 99.5% of 128", NULL, 128, false, 100, 0.98, 0.995,
     {100, 99.8, 98.5, 97.3}, {0, 0.1, 1.5, 2.7, 7.1, 0.4}},
    {"the same, without noise", NULL, 128, true, 100, 0.98, 0.995,
     {97.2, 94.3, 94.8, 95.1}, {3.1, 5, 4.8, 5, 21.7, 12.9}},
    {"95% and 99% of 16", NULL, 16, false, 100, 0.95, 0.99,
     {100, 100, 99.1, 97.5}, {0, 0.1, 1.1, 2.6, 5.8, 0.2}},
    {"the same, without noise", NULL, 16, true, 100, 0.95, 0.99,
     {99.8, 96.4, 95.4, 94.9}, {0.9, 3.9, 4.2, 4.8, 19, 10.1}},
};
/* clang-format on */
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* The scores of the arms of an experiment, arm 0 being the baseline, and the problems answered correctly. */
struct experiment {
    const struct scenario *scenario;
    double scores[MAX_ARMS][MAX_PAIRS];
    int64_t correct[MAX_ARMS][MAX_PAIRS];
};

static void draw(struct experiment *experiment, const struct scenario *scenario, int number, int arms,
                 double parameter)
{
    uint64_t seed = rotary_hash(scenario->name, strlen(scenario->name)) + (uint64_t)scenario->problems;
    struct rotary_random random = {.key = {seed, ROTARY_STREAM_TEST, (uint32_t)number}};
    experiment->scenario = scenario;
    for (int arm = 0; arm < arms; arm++)
        for (int i = 0; i < MAX_PAIRS; i++) {
            double of_arm = arm ? parameter : scenario->baseline;
            if (scenario->score) {
                experiment->scores[arm][i] = scenario->score(&random, of_arm);
                continue;
            }
            int64_t correct = 0;
            for (int problem = 0; problem < scenario->problems; problem++)
                correct += uniform(&random) < of_arm;
            experiment->correct[arm][i] = correct;
            experiment->scores[arm][i] = 100.0 * (double)correct / scenario->problems;
        }
}

static void subtract(double differences[MAX_PAIRS], const struct experiment *experiment, int arm)
{
    for (int i = 0; i < MAX_PAIRS; i++)
        differences[i] = experiment->scores[arm][i] - experiment->scores[0][i];
}

static struct paired_difference compare(const struct experiment *experiment, int arm, int pairs)
{
    double differences[MAX_PAIRS];
    subtract(differences, experiment, arm);
    struct paired_difference difference = statistics_paired(differences, pairs);
    const struct scenario *scenario = experiment->scenario;
    if (scenario->problems == 0 || scenario->without_noise)
        return difference;
    struct exact_match_pair problems[MAX_PAIRS];
    for (int i = 0; i < pairs; i++)
        problems[i] = (struct exact_match_pair){experiment->correct[arm][i], experiment->correct[0][i],
                                                scenario->problems};
    statistics_add_noise(&difference, exact_match_noise(problems, pairs));
    return difference;
}

/* Three standard errors of the part that is `percent`, and the last digit of the numbers written here. */
static double bound_of(double percent, int experiments)
{
    double part = percent / 100;
    return 3 * sqrt(fmax(part * (1 - part), 1e-4) / experiments) + 5e-4;
}

static void report(double part, int experiments, double percent)
{
    printf("  %6.1f", 100 * part);
    CHECK_NEAR(part, percent / 100, bound_of(percent, experiments));
}

static void report_alpha(double part, int experiments)
{
    printf("  %6.1f", 100 * part);
    CHECK(part <= alpha + bound_of(100 * alpha, experiments));
}

/* Intervals that contain the true difference, of those there are. */
static void measure_coverage(const struct scenario *scenario, int experiments)
{
    int contain[SIZES] = {0}, intervals[SIZES] = {0};
    double truth = scenario->per_unit * (scenario->better - scenario->baseline);
    for (int i = 0; i < experiments; i++) {
        struct experiment experiment;
        draw(&experiment, scenario, i, 2, scenario->better);
        for (int size = 0; size < SIZES; size++) {
            struct paired_difference difference = compare(&experiment, 1, sizes[size]);
            intervals[size] += !isnan(difference.low);
            contain[size] += difference.low <= truth && truth <= difference.high;
        }
    }
    printf("%-28s", scenario->name);
    for (int size = 0; size < SIZES; size++) {
        check_about("intervals: %s, %d pairs", scenario->name, sizes[size]);
        report((double)contain[size] / intervals[size], intervals[size], scenario->contain[size]);
    }
    printf("\n");
}

static bool finds(const struct experiment *experiment, int arm, int pairs)
{
    struct paired_difference difference = compare(experiment, arm, pairs);
    enum verdict verdict = statistics_verdict(&difference, HIGHER_IS_BETTER);
    return verdict == VERDICT_BETTER || verdict == VERDICT_WORSE;
}

/* Whether Holm's correction leaves a verdict on any other encoding. */
static bool finds_corrected(const struct experiment *experiment, int pairs)
{
    double p[MAX_ARMS - 1];
    struct holm results[MAX_ARMS - 1];
    bool found = false;
    for (int arm = 1; arm < MAX_ARMS; arm++)
        p[arm - 1] = compare(experiment, arm, pairs).t_test_p;
    holm_correct(results, p, MAX_ARMS - 1, alpha);
    for (int i = 0; i < MAX_ARMS - 1; i++)
        found |= results[i].rejected;
    return found;
}

static void measure_mistakes(const struct scenario *scenario, int experiments)
{
    enum { LOOKS = SIZES, ENCODINGS, HOLM, COLUMNS };
    int found[COLUMNS] = {0};
    for (int i = 0; i < experiments; i++) {
        struct experiment experiment;
        draw(&experiment, scenario, i, MAX_ARMS, scenario->baseline);
        bool any = false;
        for (int size = 0; size < SIZES; size++)
            found[size] += finds(&experiment, 1, sizes[size]);
        for (int pairs = ENOUGH_PAIRS; pairs <= MAX_PAIRS && !any; pairs++)
            any = finds(&experiment, 1, pairs);
        found[LOOKS] += any;
        any = false;
        for (int arm = 1; arm < MAX_ARMS; arm++)
            any |= finds(&experiment, arm, 5);
        found[ENCODINGS] += any;
        found[HOLM] += finds_corrected(&experiment, 5);
    }
    printf("%-28s", scenario->name);
    for (int i = 0; i < HOLM; i++) {
        check_about("mistakes: %s, column %d", scenario->name, i + 1);
        report((double)found[i] / experiments, experiments, scenario->mistaken[i]);
    }
    report_alpha((double)found[HOLM] / experiments, experiments);
    printf("\n");
}

static int look_of(const struct experiment *experiment, int arm, int looks, double level)
{
    double differences[MAX_PAIRS];
    int look = 0;
    rotary_error error = {0};
    subtract(differences, experiment, arm);
    struct sequential_call call = {differences, looks, looks, level};
    CHECK_INT(sequential_test(&look, &call, &error), ROTARY_OK);
    return look;
}

/* Sequential tests of one other arm, and of three at a third of alpha each, over this many looks. */
static void measure_sequential(const struct scenario *scenario, int experiments, int looks)
{
    int one = 0, any = 0;
    for (int i = 0; i < experiments; i++) {
        struct experiment experiment;
        draw(&experiment, scenario, i, MAX_ARMS, scenario->baseline);
        bool found = false;
        for (int arm = 1; arm < MAX_ARMS && !found; arm++)
            found = look_of(&experiment, arm, looks, alpha / (MAX_ARMS - 1)) > 0;
        any += found;
        one += look_of(&experiment, 1, looks, alpha) > 0;
    }
    check_about("sequential test of %d looks: %s", looks, scenario->name);
    report_alpha((double)one / experiments, experiments);
    report_alpha((double)any / experiments, experiments);
}

/* `percent`: differences of this effect that a sequential test of 20 looks finds. */
static void measure_power(double effect, double percent, int experiments)
{
    int found = 0, seeds = 0;
    for (int i = 0; i < experiments; i++) {
        struct experiment experiment; /* the difference of two scores has the deviation √2 */
        draw(&experiment, &scenarios[0], i, 2, effect * M_SQRT2);
        int look = look_of(&experiment, 1, MAX_PAIRS, alpha);
        found += look > 0;
        seeds += look ? look : MAX_PAIRS;
    }
    check_about("power at effect %g", effect);
    printf("%-28g  %6.1f  %6.1f", effect, 100 * power_of(effect, 5, alpha),
           100 * power_of(effect, MAX_PAIRS, alpha));
    report((double)found / experiments, experiments, percent);
    printf("  %6.1f\n", (double)seeds / experiments);
}

static void print_head(const char *title, const char *columns)
{
    printf("\n%s\n%-28s%s\n", title, "", columns);
}

int main(int count, char **arguments)
{
    int experiments = count > 1 ? atoi(arguments[1]) : QUICK;
    if (experiments < 1) {
        fprintf(stderr, "test_coverage: got %s experiments: wanted 1 or more\n", arguments[1]);
        return 2;
    }
    print_head("95% intervals that contain the true difference, in percent",
               "       3       5      10      20 pairs");
    for (int i = 0; i < SCENARIOS; i++)
        measure_coverage(&scenarios[i], experiments);
    print_head("verdicts without a difference, in percent",
               "       3       5      10      20  3 to 20  three, Holm");
    for (int i = 0; i < SCENARIOS; i++)
        measure_mistakes(&scenarios[i], experiments);
    print_head("those of sequential tests, in percent", "10 looks   three 20 looks   three");
    for (int i = 0; i < SCENARIOS; i++) {
        if (scenarios[i].without_noise)
            continue;
        printf("%-28s", scenarios[i].name);
        measure_sequential(&scenarios[i], experiments, 10);
        measure_sequential(&scenarios[i], experiments / 10, MAX_PAIRS);
        printf("\n");
    }
    print_head("differences found, in percent", "5 pairs      20 sequential seeds");
    measure_power(0.62, 56.8, experiments / 10);
    measure_power(1, 94.9, experiments / 10);
    measure_power(2, 100, experiments / 10);
    return check_report();
}
