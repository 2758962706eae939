/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as text, JSON and CSV, read back: every number against what the runs were made of.
 */
#include "records/sample_runs.h"
#include "report/comparison_table.h"
#include "report/findings.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the numbers should be, from the list of runs ---- */

static double value_of(const struct sample_run *run, enum measure measure)
{
    if (measure == MEASURE_BLEU)
        return run->bleu;
    return measure == MEASURE_EXACT_MATCH ? 100.0 * (double)run->correct / (double)run->problems : run->loss;
}

static bool counts(const struct sample_run *run, const char *arm)
{
    return strcmp(run->arm, arm) == 0 && !run->done && !run->diverged;
}

struct expected {
    int count;
    double sorted[MADE_EXAMPLE], mean, median, deviation, without_worst;
};

static int by_value(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static struct expected expected_of(const struct sample_run *runs, const char *arm, enum measure measure)
{
    struct expected expected = {0};
    for (int i = 0; i < MADE_EXAMPLE; i++)
        if (counts(&runs[i], arm))
            expected.sorted[expected.count++] = value_of(&runs[i], measure);
    int count = expected.count;
    qsort(expected.sorted, (size_t)count, sizeof expected.sorted[0], by_value);
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++)
        sum += expected.sorted[i];
    expected.mean = sum / count;
    for (int i = 0; i < count; i++)
        squares += pow(expected.sorted[i] - expected.mean, 2);
    expected.deviation = sqrt(squares / (count - 1));
    expected.median = (expected.sorted[(count - 1) / 2] + expected.sorted[count / 2]) / 2;
    double worst = expected.sorted[measure == MEASURE_EXACT_MATCH || measure == MEASURE_BLEU ? 0 : count - 1];
    bool diverged = strcmp(arm, "none") == 0; /* the worst of that arm has no score */
    expected.without_worst = diverged ? expected.mean : (sum - worst) / (count - 1);
    return expected;
}

/* The difference of the arm from RoPE, by seed. */
static const int64_t seeds[MADE_EXAMPLE_PAIRS] = {1, 2, 3, 5, 7, 8};

static double difference_of(const struct sample_run *runs, const char *arm, int64_t seed,
                            enum measure measure)
{
    double difference = 0;
    for (int i = 0; i < MADE_EXAMPLE; i++)
        if (runs[i].seed == seed)
            difference += strcmp(runs[i].arm, arm) == 0      ? value_of(&runs[i], measure)
                          : strcmp(runs[i].arm, "rope") == 0 ? -value_of(&runs[i], measure)
                                                             : 0;
    return difference;
}

/* Mean and standard deviation of the differences. */
static void expected_difference(const struct sample_run *runs, const char *arm, enum measure measure,
                                double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < MADE_EXAMPLE_PAIRS; i++)
        sum += difference_of(runs, arm, seeds[i], measure);
    *mean = sum / MADE_EXAMPLE_PAIRS;
    for (int i = 0; i < MADE_EXAMPLE_PAIRS; i++)
        squares += pow(difference_of(runs, arm, seeds[i], measure) - *mean, 2);
    *deviation = sqrt(squares / (MADE_EXAMPLE_PAIRS - 1));
}

static const char *const arms[] = {"rope", "roper", "none"};
/* Student's t with five degrees of freedom, two-sided at 95%, which the secondary measures have. */
static const double t95 = 2.570581836;

/* ---- text ---- */

/* The line of a measure's table that begins with `name`. */
static const char *line_of(const char *text, enum measure measure, const char *name)
{
    char title[64], start[64];
    snprintf(title, sizeof title, "\n%.12s", measure_descriptions[measure].title);
    snprintf(start, sizeof start, "\n%s ", name);
    const char *table = strstr(text, title);
    const char *line = table ? strstr(table + 1, start) : NULL;
    if (!CHECK(line != NULL))
        return "";
    return line + strlen(start);
}

static void check_arm_line(const char *text, const struct sample_run *runs, const char *arm,
                           enum measure measure)
{
    struct expected expected = expected_of(runs, arm, measure);
    int count, decimals = measure_descriptions[measure].decimals;
    double mean, median, deviation, min, max, without_worst, bound = 0.5001 * pow(10, -decimals);
    check_about("text: %s, %s", measure_names[measure], arm);
    CHECK_INT(sscanf(line_of(text, measure, arm), "%d %lf %lf %lf %lf %lf %lf", &count, &mean, &median,
                     &deviation, &min, &max, &without_worst),
              7);
    CHECK_INT(count, expected.count);
    CHECK_NEAR(mean, expected.mean, bound);
    CHECK_NEAR(median, expected.median, bound);
    CHECK_NEAR(deviation, expected.deviation, bound);
    CHECK_NEAR(min, expected.sorted[0], bound);
    CHECK_NEAR(max, expected.sorted[count - 1], bound);
    CHECK_NEAR(without_worst, expected.without_worst, bound);
}

static void check_difference_line(const char *text, const struct sample_run *runs, const char *arm,
                                  enum measure measure, bool secondary)
{
    char name[32];
    int pairs, decimals = measure_descriptions[measure].decimals, wanted = 0;
    double wanted_mean, wanted_deviation, mean, deviation, level, low, high, p, least,
        bound = 0.5001 * pow(10, -decimals);
    snprintf(name, sizeof name, "%s - rope", arm);
    check_about("text: %s, %s", measure_names[measure], name);
    expected_difference(runs, arm, measure, &wanted_mean, &wanted_deviation);
    const char *line = line_of(text, measure, name);
    CHECK_INT(sscanf(line, "%d %lf %lf %lf%% [%lf, %lf] %lf %lf", &pairs, &mean, &deviation, &level, &low,
                     &high, &p, &least),
              8);
    CHECK_INT(pairs, MADE_EXAMPLE_PAIRS);
    CHECK_NEAR(mean, wanted_mean, bound);
    CHECK_NEAR(deviation, wanted_deviation, bound);
    if (secondary) {
        double margin = t95 * wanted_deviation / sqrt(6); /* exact match spreads more than its noise */
        CHECK_NEAR(level, 95, 0);
        CHECK_NEAR(low, wanted_mean - margin, 2 * bound);
        CHECK_NEAR(high, wanted_mean + margin, 2 * bound);
    } else {
        CHECK(low < mean && mean < high);
        double joint; /* all pairs of both contrasts agree: one pattern of 32 */
        CHECK_INT(sscanf(strchr(line, ']') + 1, "%*f %*f %lf", &joint), 1);
        CHECK_NEAR(joint, 0.0312, 0);
    }
    CHECK_NEAR(least, 0.0312, 0);
    CHECK(p >= least && p <= 1);
    line = strstr(line, "by seed:");
    for (int i = 0; i < MADE_EXAMPLE_PAIRS; i++) {
        long long seed;
        double difference;
        line = line ? strchr(line, i ? ',' : ':') : NULL;
        if (!CHECK(line != NULL))
            return;
        CHECK_INT(sscanf(++line, "%lld: %lf", &seed, &difference), 2);
        CHECK_INT(seed, seeds[i]);
        CHECK_NEAR(difference, difference_of(runs, arm, seeds[i], measure), bound);
        wanted++;
    }
    CHECK_INT(wanted, MADE_EXAMPLE_PAIRS);
}

static void check_printed(const struct comparison *comparison)
{
    char *text;
    rotary_error error;
    CHECK_INT(comparison_text(comparison, &text, &error), ROTARY_OK);
    for (int i = 0; i < comparison->measure_count; i++) {
        enum measure measure = comparison->measures[i];
        if (measure == MEASURE_STEPS_TO_90)
            continue;
        for (int j = 0; j < 3; j++) {
            check_arm_line(text, sample_example, arms[j], measure);
            if (j > 0)
                check_difference_line(text, sample_example, arms[j], measure, i > 0);
        }
    }
    for (int i = 0; i < 3; i++) {
        const struct reached *reached = &comparison->arms[i].reached;
        char wanted[64], line[256];
        check_about("text: steps to 90%% of %s", arms[i]);
        snprintf(wanted, sizeof wanted, isinf(reached->median) ? " > %.0f (%d of %d)" : " %.0f (%d of %d)",
                 isinf(reached->median) ? MADE_STEPS : reached->median, reached->reached, reached->count);
        snprintf(line, sizeof line, "%.*s", (int)strcspn(line_of(text, MEASURE_STEPS_TO_90, arms[i]), "\n"),
                 line_of(text, MEASURE_STEPS_TO_90, arms[i]));
        CHECK_WORDS(line, wanted);
    }
    check_about("the order of the text");
    const char *verdict = strstr(text, "roper better than rope in 6 of 6 pairs, by a median of "),
               *primary = strstr(text, "\nvalidation loss"), *secondary = strstr(text, "\nexact match");
    CHECK(verdict == text && primary > verdict && secondary > primary);
    CHECK(strstr(primary, "\nroper - rope ") < strstr(primary, "\nnone - rope "));
    CHECK_WORDS(text,
                "1 unfinished run not counted\n|none: 1 of 8 runs diverged and has no score: seed 6 at step "
                "310\n|none worse than rope in 6 of 6 pairs, by a median of |\nin its pair a run that "
                "diverged counts with the loss before training; two in one pair are no difference\n|"
                "; diverged: 1 of 8 runs of none, 0 of 6 of rope\n");
    free(text);
}

/* ---- JSON ---- */

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void check_arm_json(const json_t *arm, const struct sample_run *runs, enum measure measure)
{
    const char *name = json_string_value(json_object_get(arm, "name"));
    const json_t *object = json_object_get(json_object_get(arm, "measures"), measure_names[measure]);
    struct expected expected = expected_of(runs, name, measure);
    check_about("JSON: %s of %s", measure_names[measure], name);
    CHECK_NEAR(number(object, "runs"), expected.count, 0);
    CHECK_NEAR(number(object, "mean"), expected.mean, 1e-12);
    CHECK_NEAR(number(object, "median"), expected.median, 1e-12);
    CHECK_NEAR(number(object, "standard_deviation"), expected.deviation, 1e-12);
    CHECK_NEAR(number(object, "min"), expected.sorted[0], 1e-12);
    CHECK_NEAR(number(object, "max"), expected.sorted[expected.count - 1], 1e-12);
    CHECK_NEAR(number(object, "without_worst"), expected.without_worst, 1e-12);
    const json_t *list = json_object_get(arm, "runs");
    CHECK_INT((int64_t)json_array_size(list), expected.count);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *run = json_array_get(list, i);
        int matched = 0;
        for (int j = 0; j < MADE_EXAMPLE; j++)
            if (counts(&runs[j], name) && runs[j].seed == json_integer_value(json_object_get(run, "seed"))) {
                char folder[64];
                snprintf(folder, sizeof folder, "made/%s-%d", name, (int)runs[j].seed);
                CHECK_NEAR(number(run, measure_names[measure]), value_of(&runs[j], measure), 1e-12);
                if (runs[j].problems > 0)
                    CHECK_INT(json_integer_value(json_object_get(run, "correct")), runs[j].correct);
                CHECK_TEXT(json_string_value(json_object_get(run, "folder")), folder);
                matched++;
            }
        CHECK_INT(matched, 1);
    }
}

static void check_contrast_json(const json_t *object, const struct contrast *contrast, const char *arm,
                                const struct sample_run *runs, enum measure measure)
{
    const json_t *of = json_object_get(json_object_get(object, "measures"), measure_names[measure]),
                 *differences = json_object_get(of, "differences"), *list = json_object_get(object, "seeds");
    const struct paired_difference *difference = &contrast->difference[measure];
    double mean, deviation;
    check_about("JSON: %s of %s", measure_names[measure], arm);
    expected_difference(runs, arm, measure, &mean, &deviation);
    CHECK_TEXT(json_string_value(json_object_get(object, "arm")), arm);
    CHECK_TEXT(json_string_value(json_object_get(object, "baseline")), "rope");
    CHECK_INT(json_integer_value(json_object_get(object, "pairs")), MADE_EXAMPLE_PAIRS);
    CHECK_INT((int64_t)json_array_size(differences), MADE_EXAMPLE_PAIRS);
    for (size_t i = 0; i < MADE_EXAMPLE_PAIRS; i++) {
        CHECK_INT(json_integer_value(json_array_get(list, i)), seeds[i]);
        CHECK_NEAR(json_number_value(json_array_get(differences, i)),
                   difference_of(runs, arm, seeds[i], measure), 1e-12);
    }
    CHECK_NEAR(number(of, "mean"), mean, 1e-12);
    CHECK_NEAR(number(of, "median"), difference->median, 0);
    CHECK_NEAR(number(of, "standard_deviation"), deviation, 1e-12);
    CHECK_NEAR(number(of, "level"), difference->level, 0);
    CHECK_NEAR(number(of, "low"), difference->low, 0);
    CHECK_NEAR(number(of, "high"), difference->high, 0);
    CHECK(number(of, "low") < mean && mean < number(of, "high"));
    CHECK_NEAR(number(of, "t_test_p"), difference->t_test_p, 0);
    CHECK_NEAR(number(of, "sign_flip_p"), difference->sign_flip_p, 0);
    CHECK_NEAR(number(of, "sign_flip_min_p"), 0.03125, 0);
    CHECK_NEAR(number(object, "adjusted_p"), contrast->adjusted_p, 0);
    CHECK_NEAR(number(object, "detectable_difference"), contrast->detectable, 0);
    CHECK_NEAR(number(object, "needed_pairs"), contrast->needed_pairs, 0);
}

static void check_object(const struct comparison *comparison)
{
    json_t *object;
    rotary_error error;
    CHECK_INT(comparison_json(comparison, &object, &error), ROTARY_OK);
    check_about("JSON");
    CHECK_TEXT(json_string_value(json_object_get(object, "primary_measure")), "validation_loss");
    CHECK_TEXT(json_string_value(json_object_get(object, "varied")), "position");
    CHECK(json_is_null(json_object_get(object, "unlike")));
    CHECK_NEAR(number(object, "problems"), 128, 0);
    CHECK_NEAR(number(object, "steps"), MADE_STEPS, 0);
    CHECK_NEAR(number(object, "unfinished"), 1, 0);
    CHECK_NEAR(number(object, "seen_before"), 0, 0);
    CHECK_NEAR(number(object, "seen_steps"), 0, 0);
    CHECK_NEAR(number(object, "family"), 2, 0);
    CHECK_INT((int64_t)json_array_size(json_object_get(object, "arms")), 3);
    static const char *const words[] = {"better", "worse"};
    for (int i = 0; i < comparison->measure_count; i++) {
        enum measure measure = comparison->measures[i];
        CHECK_TEXT(json_string_value(json_array_get(json_object_get(object, "measures"), (size_t)i)),
                   measure_names[measure]);
        if (measure == MEASURE_STEPS_TO_90)
            continue;
        for (size_t j = 0; j < 3; j++)
            check_arm_json(json_array_get(json_object_get(object, "arms"), j), sample_example, measure);
        for (size_t j = 0; j < 2; j++) {
            const json_t *contrast = json_array_get(json_object_get(object, "contrasts"), j);
            check_contrast_json(contrast, &comparison->contrasts[j], arms[j + 1], sample_example, measure);
            CHECK_TEXT(json_string_value(json_object_get(contrast, "verdict")), words[j]);
        }
    }
    const json_t *none = json_array_get(json_object_get(object, "arms"), 2),
                 *diverged = json_array_get(json_object_get(none, "diverged"), 0),
                 *times = json_object_get(json_object_get(none, "measures"), "steps_to_90");
    check_about("JSON: a run that diverged");
    CHECK_INT(json_integer_value(json_object_get(diverged, "seed")), 6);
    CHECK_INT(json_integer_value(json_object_get(diverged, "step")), 310);
    CHECK(json_is_null(json_object_get(json_object_get(times, "reached"), "median")));
    CHECK_INT(json_integer_value(json_object_get(json_object_get(times, "reached"), "runs")), 8);
    CHECK_INT(json_integer_value(json_object_get(json_object_get(times, "reached"), "reached")), 0);
    const json_t *contrast = json_array_get(json_object_get(object, "contrasts"), 0);
    CHECK_NEAR(number(json_object_get(json_object_get(contrast, "measures"), "steps_to_90"), "censored"), 5,
               0);
    json_decref(object);
}

/* ---- CSV ---- */

static void check_rows(const struct collection *collection)
{
    char *text, *rest;
    rotary_error error;
    CHECK_INT(comparison_csv(collection, CSV_RUNS, &text, &error), ROTARY_OK);
    check_about("CSV");
    const char *line = strtok_r(text, "\n", &rest);
    CHECK_TEXT(line,
               "arm,seed,status,step,validation_loss,validation_loss_area,exact_match,steps_to_90,correct,"
               "problems,reached_90,folder");
    for (int i = 0; i < MADE_EXAMPLE; i++) {
        const struct sample_run *run = &sample_example[i];
        char wanted[128], folder[64];
        check_about("CSV: row %d", i);
        line = strtok_r(NULL, "\n", &rest);
        if (!CHECK(line != NULL))
            break;
        snprintf(folder, sizeof folder, ",made/%s-%d", run->arm, (int)run->seed);
        CHECK_TEXT(line + strlen(line) - strlen(folder), folder);
        if (run->done || run->diverged) {
            snprintf(wanted, sizeof wanted, "%s,%d,%s,%d,,,,,,,%s", run->arm, (int)run->seed,
                     run->diverged ? "diverged" : "unfinished", (int)(run->done + run->diverged), folder);
            CHECK_TEXT(line, wanted);
            continue;
        }
        snprintf(wanted, sizeof wanted, "%s,%d,finished,%d,", run->arm, (int)run->seed, MADE_STEPS);
        CHECK(strncmp(line, wanted, strlen(wanted)) == 0);
        double loss, area, correct_percent, steps;
        int correct, problems, reached;
        CHECK_INT(sscanf(line + strlen(wanted), "%lf,%lf,%lf,%lf,%d,%d,%d", &loss, &area, &correct_percent,
                         &steps, &correct, &problems, &reached),
                  7);
        const struct record *record = &collection->records[i];
        CHECK_NEAR(loss, run->loss, 1e-12);
        CHECK_NEAR(area, record_measure(record, MEASURE_VALIDATION_LOSS_AREA), 1e-12);
        CHECK_NEAR(correct_percent, value_of(run, MEASURE_EXACT_MATCH), 1e-12);
        CHECK_NEAR(steps, record_measure(record, MEASURE_STEPS_TO_90), 0);
        CHECK_INT(correct, run->correct);
        CHECK_INT(problems, 128);
        CHECK_INT(reached, record_steps_to(record, 0.9) != NOT_REACHED);
    }
    CHECK(strtok_r(NULL, "\n", &rest) == NULL);
    free(text);

    check_about("CSV: names that hold separators");
    const struct sample_run named[] = {{"norm=\"rms\",bias=0", 7, 1, 0, 0, 0, 0, 0}};
    struct collection other;
    sample_collection(&other, named, 1, NULL, (struct comparison_request){0});
    CHECK_INT(comparison_csv(&other, CSV_RUNS, &text, &error), ROTARY_OK);
    CHECK_WORDS(
        text,
        "arm,seed,status,step,validation_loss,validation_loss_area,folder\n|\"norm=\"\"rms\"\",bias=0\",7,"
        "finished,600,1,|,\"made/norm=\"\"rms\"\",bias=0-7\"\n");
    free(text);
    collection_free(&other);

    check_about("CSV: names that a spreadsheet takes for formulas");
    const char *const starts = "=+-@\t";
    for (const char *begin = starts; *begin; begin++) {
        char arm[32], wanted[64];
        snprintf(arm, sizeof arm, "%c1+1", *begin);
        snprintf(wanted, sizeof wanted, "\n\"'%s\",7,finished", arm);
        const struct sample_run formula[] = {{arm, 7, 1, 0, 0, 0, 0, 0}};
        sample_collection(&other, formula, 1, NULL, (struct comparison_request){0});
        CHECK_INT(comparison_csv(&other, CSV_RUNS, &text, &error), ROTARY_OK);
        CHECK_WORDS(text, wanted);
        free(text);
        CHECK_INT(comparison_csv(&other, CSV_ARMS, &text, &error), ROTARY_OK);
        snprintf(wanted, sizeof wanted, ",\"'%s\",1,0", arm);
        CHECK_WORDS(text, wanted);
        free(text);
        collection_free(&other);
    }
}

/* The next row: its texts are as wanted, and its numbers follow. */
static void check_row(char **rest, const char *wanted, const double *numbers, int count)
{
    const char *line = strtok_r(NULL, "\n", rest);
    check_about("CSV: %s", wanted);
    if (!CHECK(line != NULL) || !CHECK(strncmp(line, wanted, strlen(wanted)) == 0))
        return;
    line += strlen(wanted);
    for (int i = 0; i < count; i++) {
        char *end;
        bool empty = *line != ',' || line[1] == ',' || line[1] == 0;
        CHECK(empty == (bool)isnan(numbers[i]));
        double value = strtod(line + 1, &end);
        if (!empty)
            CHECK_NEAR(value, numbers[i], 1e-12 * fmax(1, fabs(value)));
        line = empty ? line + 1 : end;
    }
}

static void check_tables(const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    const double nan = (double)NAN;
    char *text, *rest, wanted[128];
    rotary_error error;
    CHECK_INT(comparison_csv(collection, CSV_ARMS, &text, &error), ROTARY_OK);
    CHECK_TEXT(strtok_r(text, "\n", &rest),
               "measure,arm,runs,diverged,mean,median,standard_deviation,min,max,without_worst,low,high");
    for (int i = 0; i < comparison->measure_count; i++)
        for (int j = 0; j < 3; j++) {
            enum measure measure = comparison->measures[i];
            struct expected of = expected_of(sample_example, arms[j], measure);
            const struct statistics *times = &comparison->arms[j].statistics[measure];
            bool time = measure == MEASURE_STEPS_TO_90;
            const double values[] = {of.count,
                                     j == 2,
                                     time ? times->mean : of.mean,
                                     time ? times->median : of.median,
                                     time ? times->deviation : of.deviation,
                                     time ? times->min : of.sorted[0],
                                     time ? times->max : of.sorted[of.count - 1],
                                     time ? times->without_worst : of.without_worst,
                                     times->low,
                                     times->high};
            snprintf(wanted, sizeof wanted, "%s,%s", measure_names[measure], arms[j]);
            check_row(&rest, wanted, values, 10);
        }
    CHECK(strtok_r(NULL, "\n", &rest) == NULL);
    free(text);

    CHECK_INT(comparison_csv(collection, CSV_CONTRASTS, &text, &error), ROTARY_OK);
    CHECK_TEXT(strtok_r(text, "\n", &rest),
               "measure,arm,baseline,pairs,mean,median,standard_deviation,level,low,high,"
               "t_test_p,sign_flip_p,sign_flip_min_p,adjusted_p,verdict");
    for (int i = 0; i < comparison->measure_count; i++)
        for (int j = 0; j < 2; j++) {
            enum measure measure = comparison->measures[i];
            const struct paired_difference *of = &comparison->contrasts[j].difference[measure];
            double mean = of->mean, deviation = of->deviation;
            if (measure != MEASURE_STEPS_TO_90)
                expected_difference(sample_example, arms[j + 1], measure, &mean, &deviation);
            const double values[] = {MADE_EXAMPLE_PAIRS,
                                     mean,
                                     of->median,
                                     deviation,
                                     of->level,
                                     of->low,
                                     of->high,
                                     of->t_test_p,
                                     of->sign_flip_p,
                                     0.03125,
                                     i ? nan : comparison->contrasts[j].adjusted_p};
            snprintf(wanted, sizeof wanted, "%s,%s,rope", measure_names[measure], arms[j + 1]);
            check_row(&rest, wanted, values, 11);
        }
    CHECK(strtok_r(NULL, "\n", &rest) == NULL);
    free(text);
    CHECK_INT(comparison_csv(collection, CSV_CONTRASTS, &text, &error), ROTARY_OK);
    CHECK_WORDS(text, ",better\nvalidation_loss,none,|,worse\nexact_match,roper,|,\n");
    free(text);

    CHECK_INT(comparison_csv(collection, CSV_PAIRS, &text, &error), ROTARY_OK);
    CHECK_TEXT(strtok_r(text, "\n", &rest), "measure,arm,baseline,seed,difference,arm_value,baseline_value");
    for (int i = 0; i < comparison->measure_count; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < MADE_EXAMPLE_PAIRS; k++) {
                enum measure measure = comparison->measures[i];
                const struct contrast_pair *pair = &comparison->contrasts[j].pairs[k];
                double arm = record_measure(&collection->records[pair->arm], measure),
                       baseline = record_measure(&collection->records[pair->baseline], measure);
                const double values[] = {arm - baseline, arm, baseline};
                snprintf(wanted, sizeof wanted, "%s,%s,rope,%d", measure_names[measure], arms[j + 1],
                         (int)seeds[k]);
                check_row(&rest, wanted, values, 3);
            }
    CHECK(strtok_r(NULL, "\n", &rest) == NULL);
    free(text);
}

/* Long names stand on lines of their own, and what is compared is named. */
static void check_long_names(void)
{
    const struct sample_run escaping = {"red\x1b[31m\x7f", 1, 1, 0, 0, 0, 0, 0};
    const struct sample_run named[] = {{"norm=layer_norm,value_fraction=0.5", 1, 1, 0, 0, 0, 0, 0},
                                       {"norm=rms_norm,value_fraction=1.0", 1, 2, 0, 0, 0, 0, 0}};
    struct collection collection;
    char *text;
    rotary_error error;
    check_about("long names");
    sample_collection(&collection, named, 2, NULL, (struct comparison_request){.varied = "norm"});
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    CHECK_WORDS(text, "\nnorm        runs |\nnorm=layer_norm,value_fraction=0.5\n               1    1.0000");
    CHECK(strstr(text, "encoding") == NULL);
    free(text);
    collection_free(&collection);

    check_about("one arm, and runs that are unlike");
    sample_collection(&collection, named, 1, NULL, (struct comparison_request){.unlike = "bias differs"});
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    CHECK(strncmp(text, "not alike: bias differs\n\nvalidation loss", 40) == 0);
    free(text);
    collection_free(&collection);

    check_about("a name that a terminal would obey");
    sample_collection(&collection, &escaping, 1, NULL, (struct comparison_request){0});
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    CHECK_WORDS(text, "\nred?[31m? ");
    free(text);
    collection_free(&collection);
}

/* Translations are compared by BLEU, and neither by exact match nor by steps to 90%. */
static void check_translations(void)
{
    struct sample_run runs[MADE_EXAMPLE];
    sample_example_translated(runs);
    struct collection collection;
    char *text;
    json_t *object;
    rotary_error error;
    sample_collection(&collection, runs, MADE_EXAMPLE, NULL, (struct comparison_request){0});
    const struct comparison *comparison = collection.comparison;
    CHECK_INT(comparison_text(comparison, &text, &error), ROTARY_OK);
    check_about("translations");
    CHECK_WORDS(text, "roper better than rope in 6 of 6 pairs, by a median of 4.1 BLEU: mean +|BLEU (the "
                      "primary measure; higher is better)|"
                      "validation loss, nats per token (lower is better)");
    CHECK(strstr(text, "exact match") == NULL && strstr(text, "90%") == NULL);
    free(text);
    CHECK_INT(comparison_csv(&collection, CSV_RUNS, &text, &error), ROTARY_OK);
    CHECK_WORDS(text, "arm,seed,status,step,validation_loss,validation_loss_area,bleu,folder\n|"
                      "rope,1,finished,600,1.31,|,40.83,made/rope-1\n");
    free(text);
    CHECK_INT(comparison_json(comparison, &object, &error), ROTARY_OK);
    CHECK_TEXT(json_string_value(json_object_get(object, "primary_measure")), "bleu");
    for (int i = 0; i < comparison->measure_count; i++)
        for (size_t j = 0; j < 2; j++) {
            check_arm_json(json_array_get(json_object_get(object, "arms"), j), runs, comparison->measures[i]);
            check_contrast_json(json_array_get(json_object_get(object, "contrasts"), j),
                                &comparison->contrasts[j], arms[j + 1], runs, comparison->measures[i]);
        }
    json_decref(object);
    collection_free(&collection);
}

/* Nothing is as certain as an interval that knows nothing of the looks. */
static void check_notes(void)
{
    struct collection collection;
    char *text;
    rotary_error error;
    const struct looks looks = {.seeds = (const int[]){3}, .steps = (const int64_t[]){7}, .count = 1};
    check_about("notes");
    sample_collection(&collection, sample_example, MADE_EXAMPLE, NULL,
                      (struct comparison_request){.looks = &looks, .unlike = "bias differs"});
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    CHECK(strncmp(text, "not alike: bias differs\nno verdict on roper and rope: ", 53) == 0);
    CHECK_WORDS(text, "\nthe results of 3 seeds had been seen when more were added: |"
                      "\nthe results after 7 steps had been seen when the runs went on: ");
    free(text);
    collection_free(&collection);

    sample_collection(&collection, sample_example, MADE_EXAMPLE, "steps_to_90",
                      (struct comparison_request){0});
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    struct contrast *contrast = &collection.comparison->contrasts[0];
    char wanted[160];
    snprintf(wanted, sizeof wanted,
             "6 pairs show a difference of %.0f steps to 90%% exact match four times in five",
             contrast->detectable);
    CHECK_WORDS(text, wanted);
    snprintf(wanted, sizeof wanted, " four times in five; one of %.0f takes about %d\n",
             fabs(contrast->difference[MEASURE_STEPS_TO_90].mean), contrast->needed_pairs);
    CHECK(contrast->needed_pairs != contrast->pair_count);
    CHECK_WORDS(text, wanted);
    snprintf(wanted, sizeof wanted, "; in %d of them a run never had 90%%", contrast->censored);
    CHECK_WORDS(text, wanted);
    free(text);
    collection_free(&collection);

    check_about("a sequential comparison");
    sample_collection(&collection, sample_example, MADE_EXAMPLE, "validation_loss",
                      (struct comparison_request){.max_pairs = 20, .looks = &looks});
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    CHECK_WORDS(text,
                "too few pairs to tell roper from rope: 6 of the 8 that a verdict takes, 2 are missing; "
                "median -0.5|\nseeds are added one at a time, at most 20: ");
    CHECK(strstr(text, "seeds had been seen") == NULL); /* it allows for these */
    free(text);
    collection_free(&collection);
}

/* After eight of at most twelve pairs: with a difference, and without one. */
static void check_sequential(void)
{
    static const char *const wanted[] = {
        "no difference shown between roper and rope after 8 of at most 12 seeds, in nats per token of "
        "validation loss: mean -0.0014, 95% interval [-0.|, +0.| by a sequential sign-flip test (Lan and "
        "DeMets)\nseeds are added one at a time, at most 12: ",
        "roper better than rope after 7 of at most 12 seeds, in nats per token of validation loss: mean "
        "-0.2998, 95% interval [-0.3|, -0.2|] by a sequential sign-flip test (Lan and DeMets); mean of all 8 "
        "pairs -0.3014\nseeds are added one at a time, at most 12: "};
    for (int shown = 0; shown < 2; shown++) {
        struct sample_run each[16];
        for (int i = 0; i < 16; i++) {
            double apart = i % 2 ? -0.3 * shown + (i % 4 == 1 ? 0.01 : -0.01) - 0.0002 * i + 0.0002 : 0;
            each[i] = (struct sample_run){
                i % 2 ? "roper" : "rope", i / 2, 1 + 0.01 * (i / 2) + apart, 0, 0, 0, 0, 0};
        }
        struct collection collection;
        char *text;
        rotary_error error;
        check_about("a sequential comparison, %d", shown);
        sample_collection(&collection, each, 16, NULL, (struct comparison_request){.max_pairs = 12});
        CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
        CHECK_WORDS(text, wanted[shown]);
        CHECK(strstr(text, "four times in five") == NULL);
        free(text);
        collection_free(&collection);
    }
}

int main(void)
{
    struct collection collection;
    sample_collection(&collection, sample_example, MADE_EXAMPLE, "validation_loss",
                      (struct comparison_request){0});
    check_printed(collection.comparison);
    check_object(collection.comparison);
    check_rows(&collection);
    check_tables(&collection);
    collection_free(&collection);
    check_translations();
    check_long_names();
    check_notes();
    check_sequential();
    return check_report();
}
