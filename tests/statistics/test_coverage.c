/* SPDX-License-Identifier: Apache-2.0
 *
 * How often intervals contain the true difference, and how often a verdict finds one that is not there:
 * made-up experiments, counted. scripts/coverage runs this with many experiments, and prints the tables of
 * docs/explanation/numerics.md. The test runs it with few, and compares with the percentages that are written here.
 *
 *     test_coverage [EXPERIMENTS]
 */
#include "support/check.h"

#include "base/random.h"
#include "statistics/binomial.h"
#include "statistics/max_t.h"
#include "statistics/power.h"
#include "statistics/sequential.h"
#include "statistics/statistics.h"
#include "statistics/student.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK = 400, MAX_PAIRS = 20, MAX_ARMS = 14, MAX_CONTRASTS = MAX_ARMS - 1 };
static const double alpha = 0.05;

/* Intervals are Student's below six pairs, and those of the verdict from six on. */
static const int interval_pairs[] = {3, 5, 6, 10};
/* Families of the rule. */
static const struct {
    int contrasts, pairs;
} families[] = {{1, 6}, {4, 6}, {13, 6}, {1, 8}, {4, 8}, {13, 8}};
enum {
    INTERVALS = sizeof interval_pairs / sizeof interval_pairs[0],
    FAMILIES = sizeof families / sizeof families[0],
    FIRST_LOOK = 6,
    LAST_LOOK = 12
};

/* A distribution of scores, and the parameter of it that an encoding may change. */
struct scenario {
    const char *name;
    double (*score)(struct rotary_random *random, double parameter); /* NULL: exact match of problems */
    int problems;
    double per_unit; /* what the mean score gains with the parameter */
    double baseline, better;
    /* In percent: intervals that contain the true difference of better and baseline. */
    double contain[INTERVALS];
    /* Comparisons with any verdict where all arms have the baseline's parameter: of each family, and of one
     * contrast that is looked at after every seed from FIRST_LOOK to LAST_LOOK. */
    double mistaken[FAMILIES + 1];
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

/* Student's t with 2 degrees of freedom: now and then a run is far from all others. */
static double heavy_score(struct rotary_random *random, double mean)
{
    double square = 0;
    for (int i = 0; i < 2; i++) {
        double other = normal(random);
        square += other * other / 2;
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
    {"normal", normal_score, 0, 1, 0, 1, {95.1, 94.9, 96.9, 95.1}, {3.1, 3.1, 3.1, 4.4, 4.6, 4.9, 11.6}},
    {"t of 2 degrees of freedom", heavy_score, 0, 1, 0, 1, {96.5, 96.5, 96.9, 95}, {3.1, 3.2, 2.9, 4.9, 4.7, 4.7, 12.2}},
    {"50% and 80% learn", jump_score, 0, 92, 0.5, 0.8, {81.1, 94.7, 95.1, 95.5}, {3.1, 3.1, 3.2, 4.5, 4.7, 4.7, 11.6}},
    {"80% and 95% learn", jump_score, 0, 92, 0.8, 0.95, {53.3, 72.5, 71.8, 87.4}, {3, 2.3, 2.1, 4.6, 4, 3.6, 12.2}},
    {"90% and 99% learn", jump_score, 0, 92, 0.9, 0.99, {29.3, 43.6, 46.2, 64.5}, {3.1, 2.4, 2.3, 4.6, 3.3, 2.9, 12}},
    {"80% and 95% of 128 problems", NULL, 128, 100, 0.8, 0.95, {100, 99.7, 96.7, 95.3}, {2.2, 3, 3.1, 4, 4.3, 4.6, 10.1}},
    {"98% and 99.5% of 128", NULL, 128, 100, 0.98, 0.995, {100, 99.8, 96, 94.7}, {1, 2, 2.7, 2.6, 3.8, 4.1, 7.3}},
    {"95% and 99% of 16", NULL, 16, 100, 0.95, 0.99, {100, 100, 96.8, 96}, {0.2, 0.7, 1.6, 1.1, 2.8, 3.4, 4.1}},
};
/* clang-format on */
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* The scores of the arms of an experiment, arm 0 being the baseline, and the problems answered correctly. */
struct experiment {
    const struct scenario *scenario;
    double scores[MAX_ARMS][MAX_PAIRS];
    int64_t correct[MAX_ARMS][MAX_PAIRS];
};

/* Numbers of other arms and pairs draw the same scores where both have them. */
static void draw(struct experiment *experiment, const struct scenario *scenario, int number, int arms,
                 double parameter)
{
    uint64_t seed = rotary_hash(scenario->name, strlen(scenario->name)) + (uint64_t)scenario->problems;
    experiment->scenario = scenario;
    for (int arm = 0; arm < arms; arm++) {
        struct rotary_random random = {.key = {seed + (uint64_t)arm, ROTARY_STREAM_TEST, (uint32_t)number}};
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
}

static void subtract(double differences[MAX_PAIRS], const struct experiment *experiment, int arm)
{
    for (int i = 0; i < MAX_PAIRS; i++)
        differences[i] = experiment->scores[arm][i] - experiment->scores[0][i];
}

/* Student's, with the noise of the problems. */
static struct paired_difference compare(const struct experiment *experiment, int arm, int pairs)
{
    double differences[MAX_PAIRS];
    subtract(differences, experiment, arm);
    struct paired_difference difference = statistics_paired(differences, pairs);
    const struct scenario *scenario = experiment->scenario;
    if (scenario->problems == 0)
        return difference;
    struct exact_match_pair problems[MAX_PAIRS];
    for (int i = 0; i < pairs; i++)
        problems[i] = (struct exact_match_pair){experiment->correct[arm][i], experiment->correct[0][i],
                                                scenario->problems};
    statistics_add_noise(&difference, exact_match_noise(problems, pairs));
    return difference;
}

/* The rule on the first `contrasts` arms. */
static void judge(struct max_t_contrast *found, const struct experiment *experiment, int contrasts, int pairs)
{
    double differences[MAX_CONTRASTS][MAX_PAIRS];
    rotary_error error = {0};
    for (int i = 0; i < contrasts; i++) {
        subtract(differences[i], experiment, i + 1);
        found[i] = (struct max_t_contrast){.differences = differences[i]};
    }
    const struct max_t_call call = {
        .contrasts = found, .contrast_count = contrasts, .seed_count = pairs, .alpha = alpha};
    CHECK_INT(max_t_test(&call, &error), ROTARY_OK);
}

static bool finds_any(const struct experiment *experiment, int contrasts, int pairs)
{
    struct max_t_contrast found[MAX_CONTRASTS];
    bool any = false;
    judge(found, experiment, contrasts, pairs);
    for (int i = 0; i < contrasts; i++)
        any |= found[i].p <= alpha;
    return any;
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
    int contain[INTERVALS] = {0}, intervals[INTERVALS] = {0};
    /* What rounding makes of an end that is the truth itself. */
    double truth = scenario->per_unit * (scenario->better - scenario->baseline), rounding = 1e-9;
    for (int i = 0; i < experiments; i++) {
        struct experiment experiment;
        draw(&experiment, scenario, i, 2, scenario->better);
        for (int size = 0; size < INTERVALS; size++) {
            struct max_t_contrast found;
            struct paired_difference difference = compare(&experiment, 1, interval_pairs[size]);
            if (interval_pairs[size] >= FIRST_LOOK) {
                judge(&found, &experiment, 1, interval_pairs[size]);
                difference.low = found.low;
                difference.high = found.high;
            }
            intervals[size] += !isnan(difference.low);
            contain[size] += difference.low <= truth + rounding && truth - rounding <= difference.high;
        }
    }
    printf("%-28s", scenario->name);
    for (int size = 0; size < INTERVALS; size++) {
        check_about("intervals: %s, %d pairs", scenario->name, interval_pairs[size]);
        report((double)contain[size] / intervals[size], intervals[size], scenario->contain[size]);
    }
    printf("\n");
}

static void measure_mistakes(const struct scenario *scenario, int experiments)
{
    int found[FAMILIES + 1] = {0};
    for (int i = 0; i < experiments; i++) {
        struct experiment experiment;
        draw(&experiment, scenario, i, MAX_ARMS, scenario->baseline);
        for (int family = 0; family < FAMILIES; family++)
            found[family] += finds_any(&experiment, families[family].contrasts, families[family].pairs);
        bool any = false;
        for (int pairs = FIRST_LOOK; pairs <= LAST_LOOK && !any; pairs++)
            any = finds_any(&experiment, 1, pairs);
        found[FAMILIES] += any;
    }
    printf("%-28s", scenario->name);
    for (int i = 0; i <= FAMILIES; i++) {
        check_about("mistakes: %s, column %d", scenario->name, i + 1);
        double part = (double)found[i] / experiments;
        if (i < FAMILIES)
            CHECK(part <= alpha + bound_of(100 * alpha, experiments));
        report(part, experiments, scenario->mistaken[i]);
    }
    printf("\n");
}

/* Of the intervals of 13 contrasts, of which `better` have a difference, all contain theirs. */
static void measure_joint_coverage(double effect, int better, const double percent[2], int experiments)
{
    static const int pairs[2] = {6, 8};
    int all[2] = {0};
    for (int i = 0; i < experiments; i++) {
        struct experiment experiment;
        draw(&experiment, &scenarios[0], i, MAX_ARMS, 0);
        for (int arm = 1; arm <= better; arm++)
            for (int seed = 0; seed < MAX_PAIRS; seed++)
                experiment.scores[arm][seed] += effect;
        for (int size = 0; size < 2; size++) {
            struct max_t_contrast found[MAX_CONTRASTS];
            bool contained = true;
            judge(found, &experiment, MAX_CONTRASTS, pairs[size]);
            for (int j = 0; j < MAX_CONTRASTS; j++) {
                const double truth = j < better ? effect : 0;
                contained = contained && found[j].low <= truth && truth <= found[j].high;
            }
            all[size] += contained;
        }
    }
    printf("%2d of 13 differ by %-11g", better, effect);
    for (int size = 0; size < 2; size++) {
        check_about("joint intervals, %d pairs, %d of 13 differ", pairs[size], better);
        report((double)all[size] / experiments, experiments, percent[size]);
    }
    printf("\n");
}

/* Whether Holm's correction of t tests rejects contrast 0: what came before the rule. */
static bool holm_rejects(const struct experiment *experiment, int contrasts, int pairs)
{
    double p[MAX_CONTRASTS];
    int left = contrasts;
    for (int i = 0; i < contrasts; i++)
        p[i] = compare(experiment, i + 1, pairs).t_test_p;
    for (;; left--) {
        int first = 0;
        for (int i = 1; i < contrasts; i++)
            first = p[i] < p[first] ? i : first;
        if (!(p[first] <= alpha / left))
            return false;
        if (first == 0)
            return true;
        p[first] = 2;
    }
}

/* One arm differs from all others by so many standard deviations of a score. */
static void measure_rule_power(double effect, int family, const double percent[2], int experiments)
{
    const int contrasts = families[family].contrasts, pairs = families[family].pairs;
    int by_rule = 0, by_holm = 0;
    for (int i = 0; i < experiments; i++) {
        struct experiment experiment;
        struct max_t_contrast found[MAX_CONTRASTS];
        draw(&experiment, &scenarios[0], i, MAX_ARMS, 0);
        for (int seed = 0; seed < MAX_PAIRS; seed++)
            experiment.scores[1][seed] += effect;
        judge(found, &experiment, contrasts, pairs);
        by_rule += found[0].p <= alpha;
        by_holm += holm_rejects(&experiment, contrasts, pairs);
    }
    char name[64];
    snprintf(name, sizeof name, "%g st. dev., %d of %d pairs", effect, contrasts, pairs);
    check_about("power: %s", name);
    printf("%-28s", name);
    report((double)by_rule / experiments, experiments, percent[0]);
    report((double)by_holm / experiments, experiments, percent[1]);
    double expected;
    rotary_error error = {0};
    const struct power_design design = {.arms = contrasts + 1, .alpha = alpha};
    const struct power_call call = {&design, pairs, effect / M_SQRT2, 1000};
    CHECK_INT(power_of(&expected, &call, &error), ROTARY_OK);
    printf("  %6.1f\n", 100 * expected);
    CHECK_NEAR(expected, percent[0] / 100, bound_of(percent[0], 1000));
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
enum { SEQUENTIAL_ARMS = 4 };

static void measure_sequential(const struct scenario *scenario, int experiments, int looks)
{
    int one = 0, any = 0;
    for (int i = 0; i < experiments; i++) {
        struct experiment experiment;
        draw(&experiment, scenario, i, SEQUENTIAL_ARMS, scenario->baseline);
        bool found = false;
        for (int arm = 1; arm < SEQUENTIAL_ARMS && !found; arm++)
            found = look_of(&experiment, arm, looks, alpha / (SEQUENTIAL_ARMS - 1)) > 0;
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
    int found = 0, seeds = 0, by_rule = 0;
    for (int i = 0; i < experiments; i++) {
        struct experiment experiment; /* the difference of two scores has the deviation √2 */
        draw(&experiment, &scenarios[0], i, 2, effect * M_SQRT2);
        int look = look_of(&experiment, 1, MAX_PAIRS, alpha);
        found += look > 0;
        seeds += look ? look : MAX_PAIRS;
        by_rule += finds_any(&experiment, 1, FIRST_LOOK);
    }
    check_about("power at effect %g", effect);
    printf("%-28g  %6.1f", effect, 100.0 * by_rule / experiments);
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
               "       3       5       6      10 pairs");
    for (int i = 0; i < SCENARIOS; i++)
        measure_coverage(&scenarios[i], experiments);
    print_head("comparisons with a verdict without a difference, in percent: contrasts, pairs",
               "    1, 6    4, 6   13, 6    1, 8    4, 8   13, 8  6 to 12");
    for (int i = 0; i < SCENARIOS; i++)
        measure_mistakes(&scenarios[i], experiments);
    print_head("comparisons whose 13 intervals all contain the true difference, in percent",
               "       6       8 pairs");
    measure_joint_coverage(0, 0, (const double[]){98.2, 96.1}, experiments);
    measure_joint_coverage(3, 5, (const double[]){98, 95.8}, experiments);
    measure_joint_coverage(3, 13, (const double[]){97.4, 95.4}, experiments);
    print_head("those of sequential tests, in percent", "10 looks   three 20 looks   three");
    for (int i = 0; i < SCENARIOS; i++) {
        printf("%-28s", scenarios[i].name);
        measure_sequential(&scenarios[i], experiments, 10);
        measure_sequential(&scenarios[i], experiments / 10, MAX_PAIRS);
        printf("\n");
    }
    print_head("differences of a score found, in percent: contrasts of pairs", "    rule  Holm, t   power");
    measure_rule_power(3, 0, (const double[]){90.2, 98}, experiments);
    measure_rule_power(3, 2, (const double[]){41.2, 59.2}, experiments);
    measure_rule_power(3, 5, (const double[]){89, 89.5}, experiments);
    print_head("differences found, in percent", " 6 pairs      20 sequential seeds");
    measure_power(0.62, 56.8, experiments / 10);
    measure_power(1, 94.9, experiments / 10);
    measure_power(2, 100, experiments / 10);
    return check_report();
}
