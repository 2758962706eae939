/* SPDX-License-Identifier: Apache-2.0
 *
 * The paired bootstrap over sentences of runs in folders, against one of the same samples that is computed
 * here from the texts that were written; which runs and sentences are shown; and what is said of runs whose
 * translations are not those of their records.
 */
#include "records/synthetic.h"
#include "records/translated_runs.h"
#include "support/check.h"
#include "support/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct translated_text translations[TRANSLATED_RUNS];

static struct collection read_all(void)
{
    struct collection collection = translated_read(scratch_folder());
    if (!CHECK(collection.sentences != NULL))
        exit(check_report());
    return collection;
}

static void write_all(void)
{
    translated_write(scratch_folder());
    for (int i = 0; i < TRANSLATED_RUNS; i++)
        translated_of(&translations[i], i);
}

static const char *folder_of(int run)
{
    return translated_folder(scratch_folder(), run);
}

/* ---- the bootstrap ---- */

static double *sampled_scores(void)
{
    static int64_t rows[TRANSLATED_RUNS][TRANSLATED_LINES * BLEU_STATISTICS];
    const int64_t *systems[TRANSLATED_RUNS];
    static struct bleu_config config;
    bleu_config_default(&config);
    config.lowercase = true;
    for (int i = 0; i < TRANSLATED_RUNS; i++) {
        translated_rows(&translations[i], rows[i]);
        systems[i] = rows[i];
    }
    const struct resampling resampling = {.metric = bleu_metric(&config),
                                          .segments = TRANSLATED_LINES,
                                          .systems = TRANSLATED_RUNS,
                                          .rows = systems,
                                          .samples = SENTENCE_SAMPLES,
                                          .seed = SENTENCE_SEED};
    double *scores = NULL;
    CHECK_INT(resample_scores(&resampling, &scores, NULL), ROTARY_OK);
    return scores;
}

static int ascending(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* The mean over pairs of runs[arms[i]] - runs[baselines[i]]. */
static void check_difference(const struct resampled_difference *found, const double *scores, const int *arms,
                             const int *baselines, int count)
{
    double values[SENTENCE_SAMPLES] = {0}, mean = 0;
    for (int i = 0; i < count; i++) {
        mean += translated_bleu(&translations[arms[i]]) - translated_bleu(&translations[baselines[i]]);
        for (int j = 0; j < SENTENCE_SAMPLES; j++)
            values[j] +=
                (scores[arms[i] * SENTENCE_SAMPLES + j] - scores[baselines[i] * SENTENCE_SAMPLES + j]);
    }
    mean /= count;
    int further = 0;
    for (int j = 0; j < SENTENCE_SAMPLES; j++) {
        values[j] /= count;
        further += fabs(values[j] - mean) >= fabs(mean);
    }
    qsort(values, SENTENCE_SAMPLES, sizeof *values, ascending);
    CHECK_NEAR(found->mean, mean, 1e-9);
    CHECK_NEAR(found->low, values[25], 1e-9);
    CHECK_NEAR(found->high, values[974], 1e-9);
    CHECK_NEAR(found->p, (further + 1.0) / (SENTENCE_SAMPLES + 1.0), 1e-12);
    CHECK(found->low < found->mean && found->mean < found->high);
}

static void check_bootstrap(void)
{
    struct collection collection = read_all();
    const struct sentence_scores *sentences = collection.sentences;
    CHECK(sentences->fault == NULL && collection.comparison->sentences == sentences);
    CHECK_INT(sentences->count, TRANSLATED_LINES);
    CHECK_TEXT(sentences->split, "test");
    CHECK(strstr(sentences->signature, "nrefs:1|bs:1000|seed:1|case:lc|eff:no|tok:13a") != NULL);
    double *scores = sampled_scores();
    /* By seed, whatever the order of the folders. */
    static const int ropes[] = {1, 4, 3}, baselines[] = {2, 5, 0}, roper = 6, its_baseline = 5;
    if (CHECK_INT(collection.comparison->contrast_count, 2) &&
        CHECK_INT(collection.comparison->contrasts[0].pair_count, 3) &&
        CHECK_INT(collection.comparison->contrasts[1].pair_count, 1)) {
        const struct resampled_contrast *rope = &sentences->contrasts[0];
        for (int i = 0; i < 3; i++) {
            check_about("seed %d", i + 1);
            check_difference(&rope->pairs[i], scores, &ropes[i], &baselines[i], 1);
        }
        check_about("%s", "the mean of three pairs");
        check_difference(&rope->mean, scores, ropes, baselines, 3);
        check_about("%s", "one pair");
        check_difference(&sentences->contrasts[1].mean, scores, &roper, &its_baseline, 1);
    }
    check_about("%s", "");
    free(scores);
    collection_free(&collection);
}

/* ---- what is shown ---- */

static void check_shown(void)
{
    struct collection collection = read_all();
    const struct sentence_scores *sentences = collection.sentences;
    const struct comparison *comparison = collection.comparison;
    for (int i = 0; i < TRANSLATED_ARMS; i++) {
        int lower = 0, higher = 0;
        const struct sentence_run *shown = &sentences->runs[sentences->shown[i]];
        for (int j = 0; j < comparison->arms[i].run_count; j++) {
            lower += comparison->arms[i].values[MEASURE_BLEU][j] < shown->bleu - 1e-9;
            higher += comparison->arms[i].values[MEASURE_BLEU][j] > shown->bleu + 1e-9;
        }
        check_about("arm %d", i);
        CHECK_INT(lower, (comparison->arms[i].run_count - 1) / 2);
        CHECK_INT(higher, comparison->arms[i].run_count / 2);
        CHECK_TEXT(comparison->records[sentences->shown[i]].arm, comparison->arms[i].name);
    }
    check_about("%s", "the sentences");
    if (!CHECK_INT(sentences->choice_count, SENTENCE_SHOWN))
        return;
    /* No other sentence differs more than those that were chosen for it. */
    double least = 100;
    int differing = 0;
    int64_t shortest = 1000, longest = 0;
    bool chosen[TRANSLATED_LINES] = {false};
    for (int i = 0; i < SENTENCE_SHOWN; i++) {
        const struct sentence_choice *choice = &sentences->choices[i];
        CHECK(i == 0 || choice->line > sentences->choices[i - 1].line);
        chosen[choice->line] = true;
        differing += choice->differs;
        const int64_t length = text_lines_at(&sentences->text.source, choice->line).count;
        shortest = length < shortest && !choice->differs ? length : shortest;
        longest = length > longest && !choice->differs ? length : longest;
    }
    CHECK_INT(differing, SENTENCE_SHOWN / 2);
    double spreads[TRANSLATED_LINES];
    for (int line = 0; line < TRANSLATED_LINES; line++) {
        double low = 100, high = 0;
        for (int i = 0; i < TRANSLATED_ARMS; i++) {
            const double bleu = sentence_bleu(sentences, sentences->shown[i], line);
            low = fmin(low, bleu);
            high = fmax(high, bleu);
        }
        spreads[line] = high - low;
    }
    for (int i = 0; i < SENTENCE_SHOWN; i++)
        if (sentences->choices[i].differs)
            least = fmin(least, spreads[sentences->choices[i].line]);
    for (int line = 0; line < TRANSLATED_LINES; line++)
        CHECK(chosen[line] || spreads[line] <= least);
    CHECK(shortest < 25 && longest > 40);
    check_about("%s", "");
    collection_free(&collection);
}

/* ---- faults ---- */

static void check_fault(const char *wanted)
{
    struct collection collection = read_all();
    check_about("the fault \"%s\"", wanted);
    if (CHECK(collection.sentences->fault != NULL))
        CHECK(strstr(collection.sentences->fault, wanted) != NULL);
    CHECK_INT(collection.sentences->count, 0);
    collection_free(&collection);
    check_about("%s", "");
}

static void check_faults(void)
{
    struct translated_text other;
    translated_text(&other, 99, 20);
    synthetic_write(folder_of(3), "translations.txt", other.text);
    check_fault("rope-3/translations.txt is ");
    check_fault("it, or the test set, has changed since");
    *strrchr(other.text, '\n') = '\0';
    *strrchr(other.text, '\n') = '\0';
    synthetic_write(folder_of(3), "translations.txt", other.text);
    check_fault("has 39 lines, wanted 40, as many as the test set");
    CHECK_INT(unlink(synthetic_path(folder_of(3), "translations.txt")), 0);
    check_fault("rope-3/translations.txt");
    translated_write_run(scratch_folder(), 3);
    translated_text(&other, 5, 10);
    synthetic_write(scratch_folder(), "test.en", other.text);
    check_fault("has changed since");
    CHECK_INT(unlink(scratch_path("test.en")), 0);
    check_fault("test.en");
}

/* Of one arm all sentences are spread over the lengths. */
static void check_one_arm(void)
{
    struct collection collection;
    const char *folder = folder_of(1);
    write_all();
    CHECK_INT(collection_read(&collection, &folder, 1, NULL), ROTARY_OK);
    CHECK_INT(collection_read_answers(&collection, NULL), ROTARY_OK);
    CHECK(collection.sentences->fault == NULL);
    CHECK_INT(collection.sentences->choice_count, SENTENCE_SHOWN);
    for (int i = 0; i < SENTENCE_SHOWN; i++)
        CHECK(!collection.sentences->choices[i].differs);
    collection_free(&collection);
}

/* A run that diverged translated nothing: the others are resampled without it. */
static void check_diverged(void)
{
    check_about("%s", "a run that diverged");
    write_all();
    synthetic_write(folder_of(5), "metrics.jsonl", "{\"step\":4,\"diverged\":\"loss\"}\n");
    struct collection collection = read_all();
    const struct resampled_contrast *rope = &collection.sentences->contrasts[0];
    const struct contrast *contrast = &collection.comparison->contrasts[0];
    CHECK_INT(contrast->pair_count, 3);
    CHECK_INT(contrast_undiverged(contrast), 2);
    CHECK(contrast->pairs[1].diverged && isnan(rope->pairs[1].mean));
    const double first = translated_bleu(&translations[1]) - translated_bleu(&translations[2]),
                 third = translated_bleu(&translations[3]) - translated_bleu(&translations[0]);
    CHECK_NEAR(rope->pairs[0].mean, first, 1e-9);
    CHECK_NEAR(rope->pairs[2].mean, third, 1e-9);
    CHECK_NEAR(rope->mean.mean, (first + third) / 2, 1e-9);
    CHECK(isnan(collection.sentences->contrasts[1].mean.mean));
    CHECK_NEAR(contrast->differences[MEASURE_BLEU][1], translated_bleu(&translations[4]), 1e-9);
    collection_free(&collection);
}

int main(void)
{
    write_all();
    check_bootstrap();
    check_shown();
    check_faults();
    check_one_arm();
    check_diverged();
    return check_report();
}
