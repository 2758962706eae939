/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs that predicted labels: what they are judged by, and how far they are ahead of the baselines and of
 * each other, over seeds and over examples, against scikit-learn, SciPy and a bootstrap in NumPy; and what is
 * said of predictions that are not those of the records.
 */
#include "records/example_goldens.h"
#include "records/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = GOLDEN_ARMS * GOLDEN_SEEDS, TRAINING = 40, TEXT_BYTES = 65536 };
static const char *const arms[GOLDEN_ARMS] = {"rope", "roper"};

/* ---- folders ---- */

struct writing {
    char text[TEXT_BYTES];
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void add(struct writing *writing, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    writing->count +=
        (size_t)vsnprintf(writing->text + writing->count, TEXT_BYTES - writing->count, format, arguments);
    va_end(arguments);
}

/* One word of two says what a bag of words is to predict: in training, of which 25 of 40 are class 1, the
 * label. */
static void write_texts(bool regression)
{
    static struct writing training, validation, test;
    training.count = validation.count = test.count = 0;
    add(&training, "sentence\tlabel\n");
    add(&validation, "sentence\tlabel\n");
    add(&test, "sentence\tlabel\n");
    for (int i = 0; i < TRAINING; i++)
        add(&training, "it was %s\t%d\n", i < 25 ? "good" : "bad", i < 25);
    for (int i = 0; i < GOLDEN_EXAMPLES; i++) {
        const char *word = golden_cues[i] == '1' ? "good" : "bad";
        add(&validation, "this was %s\t%c\n", word, golden_validation[i]);
        if (regression)
            add(&test, "it was %s here\t%g\n", word, golden_values[i]);
        else
            add(&test, "it was %s here\t%c\n", word, golden_labels[i]);
    }
    synthetic_write(scratch_folder(), "train.tsv", training.text);
    synthetic_write(scratch_folder(), "dev.tsv", validation.text);
    synthetic_write(scratch_folder(), "test.tsv", test.text);
}

static const char *folder_of(int run)
{
    char name[32];
    snprintf(name, sizeof name, "%s-%d", arms[run / GOLDEN_SEEDS], 1 + run % GOLDEN_SEEDS);
    return synthetic_path(scratch_folder(), name);
}

static void write_predictions(int run, bool regression)
{
    static struct writing lines;
    const int arm = run / GOLDEN_SEEDS, seed = run % GOLDEN_SEEDS;
    lines.count = 0;
    add(&lines, "index\tlabel\tprediction\n");
    for (int i = 0; i < GOLDEN_EXAMPLES; i++)
        if (regression)
            add(&lines, "%d\t%.9g\t%.9g\n", i, golden_values[i], golden_numbers[arm][seed][i]);
        else
            add(&lines, "%d\t%c\t%c\n", i, golden_labels[i], golden_runs[arm][seed][i]);
    synthetic_write(folder_of(run), "predictions.tsv", lines.text);
}

static double accuracy_of(int arm, int seed)
{
    int correct = 0;
    for (int i = 0; i < GOLDEN_EXAMPLES; i++)
        correct += golden_runs[arm][seed][i] == golden_labels[i];
    return (double)correct / GOLDEN_EXAMPLES;
}

/* The scores of the validation set order the runs the other way. */
static void write_run(int run, bool regression, const char *measure)
{
    char text[1024];
    const int arm = run / GOLDEN_SEEDS, seed = run % GOLDEN_SEEDS;
    snprintf(text, sizeof text,
             "{\"format\":2,\"task\":\"classification\",\"position\":\"%s\",\"seed\":%d,\"steps\":9,"
             "\"hidden_size\":8,\"classification_data\":\"%s\",\"classification_test\":\"test.tsv\","
             "\"classification_score\":\"%s\",\"classification_regression\":%s,\"primary_measure\":\"%s\"}",
             arms[arm], 1 + seed, scratch_folder(), regression ? "auto" : "matthews",
             regression ? "true" : "false", measure);
    synthetic_write(folder_of(run), "config.json", text);
    if (regression)
        snprintf(text, sizeof text,
                 "{\"step\":9,\"evaluation\":{\"correct\":0,\"problems\":0,\"loss\":2.5,\"accuracy\":0,"
                 "\"seconds\":1,\"labels\":{\"examples\":240,\"score\":\"spearman\",\"pearson\":0.25,"
                 "\"spearman\":0.5},\"test\":{\"labels\":{\"examples\":240,\"score\":\"spearman\","
                 "\"pearson\":0.25,\"spearman\":%.9g},\"loss\":1}}}\n",
                 golden_spearman[arm][seed] / 100);
    else
        snprintf(text, sizeof text,
                 "{\"step\":9,\"evaluation\":{\"correct\":0,\"problems\":0,\"loss\":2.5,\"accuracy\":0.4,"
                 "\"seconds\":1,\"labels\":{\"examples\":240,\"score\":\"matthews\",\"accuracy\":0.5,"
                 "\"f1\":0.5,\"macro_f1\":0.5,\"matthews\":%g},\"test\":{\"labels\":{\"examples\":240,"
                 "\"score\":\"matthews\",\"accuracy\":%.9g,\"f1\":%.9g,\"macro_f1\":0.5,\"matthews\":%.9g},"
                 "\"loss\":1}}}\n",
                 arm == 0 ? 0.9 : 0.1, accuracy_of(arm, seed), golden_f1[arm][seed] / 100,
                 golden_matthews[arm][seed] / 100);
    synthetic_write(folder_of(run), "metrics.jsonl", text);
    write_predictions(run, regression);
}

static void write_all(bool regression, const char *measure)
{
    write_texts(regression);
    for (int i = 0; i < RUNS; i++)
        write_run(i, regression, measure);
}

static struct collection read_all(void)
{
    const char *folders[RUNS];
    struct collection collection = {0};
    rotary_error error = {0};
    for (int i = 0; i < RUNS; i++)
        folders[i] = folder_of(i);
    if (!CHECK_INT(collection_read(&collection, folders, RUNS, &error), ROTARY_OK) ||
        !CHECK_INT(collection_read_answers(&collection, &error), ROTARY_OK) ||
        !CHECK(collection.predictions != NULL)) {
        printf("    %s\n", error.message);
        exit(check_report());
    }
    if (collection.predictions->fault)
        printf("    %s\n", collection.predictions->fault);
    return collection;
}

/* ---- differences ---- */

/* Of 1,000 samples, against 20,000 others: an end of the interval is off by a twelfth of its half width,
 * times the four standard errors that are allowed. */
static void check_resampled(const struct resampled_difference *found, const double golden[3])
{
    const double bound = (golden[2] - golden[1]) / 2 / 12 * 4;
    CHECK_NEAR(found->mean, golden[0], 1e-6);
    CHECK_NEAR(found->low, golden[1], bound);
    CHECK_NEAR(found->high, golden[2], bound);
    CHECK(found->p > 0 && found->p <= 1);
    CHECK((found->p < 0.05) == (golden[1] > 0 || golden[2] < 0));
}

static void check_classes(void)
{
    write_all(false, "auto");
    struct collection collection = read_all();
    const struct comparison *comparison = collection.comparison;
    const struct example_scores *scores = collection.predictions;
    CHECK_INT(comparison->scoring, SCORING_CLASSES);
    CHECK_INT(comparison->measures[0], MEASURE_MATTHEWS);
    CHECK_INT(comparison->measures[1], MEASURE_ACCURACY);
    CHECK(comparison->test);
    CHECK_TEXT(scores->split, "test");
    CHECK_INT(scores->count, GOLDEN_EXAMPLES);
    for (int arm = 0; arm < GOLDEN_ARMS; arm++) {
        check_about("%s", arms[arm]);
        for (int seed = 0; seed < GOLDEN_SEEDS; seed++)
            CHECK_NEAR(comparison->arms[arm].values[MEASURE_MATTHEWS][seed], golden_matthews[arm][seed],
                       1e-6);
        const struct beside_baseline *beside = &scores->beside[arm * LABEL_BASELINES + BASELINE_WORDS];
        CHECK_INT(beside->seeds.count, GOLDEN_SEEDS);
        CHECK_NEAR(beside->seeds.mean, golden_seeds[arm][0], 1e-6);
        CHECK_NEAR(beside->seeds.low, golden_seeds[arm][1], 1e-6);
        CHECK_NEAR(beside->seeds.high, golden_seeds[arm][2], 1e-6);
        check_resampled(&beside->examples, golden_examples[arm]);
        CHECK_NEAR(scores->beside[arm * LABEL_BASELINES + BASELINE_MAJORITY].seeds.mean,
                   comparison->arms[arm].statistics[MEASURE_MATTHEWS].mean, 1e-6);
    }
    check_about("the whole");
    CHECK_NEAR(scores->baselines[BASELINE_WORDS], golden_matthews_words, 1e-9);
    CHECK_NEAR(scores->baselines[BASELINE_MAJORITY], 0, 0); /* of one class */
    check_resampled(&scores->contrasts[0].mean, golden_contrast);
    CHECK_INT(comparison_decide(comparison, &comparison->contrasts[0]), VERDICT_TOO_FEW);
    CHECK(comparison->contrasts[0].difference[MEASURE_MATTHEWS].mean > 0);
    collection_free(&collection);
}

/* Another score than that of the dataset may decide. */
static void check_declared(void)
{
    check_about("F1");
    write_all(false, "f1");
    struct collection collection = read_all();
    CHECK_INT(collection.comparison->measures[0], MEASURE_F1);
    CHECK_INT(collection.predictions->measure, MEASURE_F1);
    CHECK_NEAR(collection.comparison->arms[1].values[MEASURE_F1][2], golden_f1[1][2], 1e-6);
    CHECK_NEAR(collection.predictions->baselines[BASELINE_WORDS], golden_f1_words, 1e-9);
    collection_free(&collection);
    check_about("the loss");
    write_all(false, "validation_loss");
    collection = read_all();
    CHECK_INT(collection.comparison->measures[0], MEASURE_VALIDATION_LOSS);
    CHECK_INT(collection.predictions->measure, MEASURE_ACCURACY);
    collection_free(&collection);
}

static void check_numbers(void)
{
    check_about("numbers");
    write_all(true, "auto");
    struct collection collection = read_all();
    const struct comparison *comparison = collection.comparison;
    const struct example_scores *scores = collection.predictions;
    CHECK_INT(comparison->scoring, SCORING_NUMBERS);
    CHECK_INT(comparison->measures[0], MEASURE_SPEARMAN);
    CHECK_NEAR(comparison->arms[0].values[MEASURE_SPEARMAN][1], golden_spearman[0][1], 1e-6);
    check_resampled(&scores->contrasts[0].mean, golden_spearman_contrast);
    CHECK(isnan(scores->baselines[BASELINE_MAJORITY])); /* all predictions are one number */
    CHECK(isnan(scores->beside[BASELINE_MAJORITY].seeds.mean));
    CHECK(isnan(scores->beside[BASELINE_MAJORITY].examples.low));
    CHECK(isfinite(scores->beside[BASELINE_WORDS].examples.low));
    collection_free(&collection);
}

/* ---- what is noticed ---- */

/* The one fault that there is begins with `path` in a folder and has the words. */
static void check_fault(const char *words)
{
    const char *folders[RUNS];
    struct collection collection = {0};
    for (int i = 0; i < RUNS; i++)
        folders[i] = folder_of(i);
    CHECK_INT(collection_read(&collection, folders, RUNS, NULL), ROTARY_OK);
    CHECK_INT(collection_read_answers(&collection, NULL), ROTARY_OK);
    if (CHECK(collection.predictions && collection.predictions->fault))
        CHECK_WORDS(collection.predictions->fault, words);
    CHECK(collection.predictions && collection.predictions->count == 0);
    collection_free(&collection);
}

static void check_faults(void)
{
    check_about("faults");
    write_all(false, "auto");
    synthetic_write(folder_of(4), "predictions.tsv", "index\tlabel\tprediction\n0\t1\t1\n");
    check_fault("predictions.tsv has 1 predictions, wanted 240");
    write_predictions(3, false);
    char *text;
    static struct writing lines;
    lines.count = 0;
    add(&lines, "index\tlabel\tprediction\n");
    for (int i = 0; i < GOLDEN_EXAMPLES; i++)
        add(&lines, "%d\t%c\t%c\n", i, golden_labels[i], i == 7 ? 'x' : golden_runs[1][1][i]);
    synthetic_write(folder_of(4), "predictions.tsv", lines.text);
    check_fault("line 9, column 3 (prediction): \"x\" is no class of the training data");
    text = strrchr(lines.text, 'x');
    *text = golden_runs[1][1][7] == '1' ? '0' : '1';
    synthetic_write(folder_of(4), "predictions.tsv", lines.text);
    check_fault("when the run ended: it has changed since");
    *text = golden_runs[1][1][7];
    text[-2] = golden_labels[7] == '1' ? '0' : '1';
    synthetic_write(folder_of(4), "predictions.tsv", lines.text);
    check_fault("the label of example 7 is another: the texts have changed since");
    write_predictions(4, false);
    synthetic_write(scratch_folder(), "test.tsv", "sentence\tlabel\nit was good\t1\n");
    check_fault("the test set has 1 examples, and 240 were scored");
    CHECK_INT(remove(synthetic_path(scratch_folder(), "train.tsv")), 0);
    check_fault("train.tsv");
}

int main(void)
{
    check_classes();
    check_declared();
    check_numbers();
    check_faults();
    return check_report();
}
