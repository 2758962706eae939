/* SPDX-License-Identifier: Apache-2.0 */
#include "records/example_scores.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder.h"
#include "task/classification/labelled_corpus.h"
#include "task/translation/split_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t max_bytes = (int64_t)1 << 30;
/* Records and predictions have nine digits. */
static const double same_score = 1e-5, same_label = 1e-6;

/* Labels or predictions of all examples: classes, of a regression values. */
struct answers {
    int32_t *classes;
    double *values;
};

/* What is scored: the runs of all arms, then the baselines. */
struct reading {
    struct labelled_corpus corpus;
    enum label_score decides, score; /* of the dataset, and of the measure */
    enum task_split split;
    struct label_baselines baselines;
    struct answers labels, *systems;
    int system_count, max_systems;
    int *of_record; /* [records] */
    double *whole;  /* [systems]: the score of all examples, in hundredths */
    double *scores; /* [systems][EXAMPLE_SAMPLES] */
};

static bool answers_allocate(struct answers *answers, bool regression, int64_t count)
{
    const size_t room = (size_t)count + 1;
    if (regression)
        answers->values = malloc(room * sizeof *answers->values);
    else
        answers->classes = malloc(room * sizeof *answers->classes);
    return answers->values || answers->classes;
}

static void answers_free(struct answers *answers)
{
    free(answers->classes);
    free(answers->values);
}

static void reading_free(struct reading *reading)
{
    /* The baselines, which are the last, own their answers. */
    for (int i = 0; i < reading->system_count && i < reading->max_systems - LABEL_BASELINES; i++)
        answers_free(&reading->systems[i]);
    answers_free(&reading->labels);
    label_baselines_free(&reading->baselines);
    labelled_corpus_free(&reading->corpus);
    free(reading->systems);
    free(reading->of_record);
    free(reading->whole);
    free(reading->scores);
}

/* ---- scores ---- */

static double score_of(const struct reading *reading, const struct answers *labels,
                       const struct answers *answers, int64_t count)
{
    struct label_scores scores;
    const int classes = reading->corpus.classes;
    const rotary_status status =
        classes == 0
            ? label_scores_of_numbers(&scores, labels->values, answers->values, count, NULL)
            : label_scores_of_classes(&scores, classes, labels->classes, answers->classes, count, NULL);
    return status == ROTARY_OK ? 100.0 * scores.values[reading->score] : (double)NAN;
}

static void gather(const struct answers *all, const uint32_t *chosen, int64_t count,
                   const struct answers *gathered)
{
    for (int64_t i = 0; i < count; i++)
        if (gathered->values)
            gathered->values[i] = all->values[chosen[i]];
        else
            gathered->classes[i] = all->classes[chosen[i]];
}

/* A sample in which all predictions are one number has no correlation: it counts as none. */
static double score_sample(const void *context, int system, const uint32_t *chosen)
{
    const struct reading *reading = context;
    const int64_t count = reading->corpus.counts[reading->split];
    const bool regression = reading->corpus.classes == 0;
    struct answers labels = {NULL, NULL}, answers = {NULL, NULL};
    double score = (double)NAN;
    if (answers_allocate(&labels, regression, count) && answers_allocate(&answers, regression, count)) {
        gather(&reading->labels, chosen, count, &labels);
        gather(&reading->systems[system], chosen, count, &answers);
        score = score_of(reading, &labels, &answers, count);
    }
    answers_free(&labels);
    answers_free(&answers);
    return isnan(score) ? 0.0 : score;
}

/* ---- what runs predicted ---- */

/* Whether a field is the name of a class, in which a file of predictions has spaces for tabs. */
static bool is_name(struct text_line field, struct text_line name)
{
    if (field.count != name.count)
        return false;
    for (int64_t i = 0; i < name.count; i++) {
        const char letter = (unsigned char)name.bytes[i] < ' ' ? ' ' : name.bytes[i];
        if (field.bytes[i] != letter)
            return false;
    }
    return true;
}

static rotary_status read_class(const struct reading *reading, const struct table *table, int64_t row,
                                int column, int32_t *class, rotary_error *error)
{
    const struct text_line field = table_at(table, row, column);
    for (*class = 0; *class < reading->corpus.classes; ++*class)
        if (is_name(field, reading->corpus.names[*class]))
            return ROTARY_OK;
    return table_refuse(table, row, column, error, "\"%.40s\" is no class of the training data", field.bytes);
}

static rotary_status read_number(const struct table *table, int64_t row, int column, double *value,
                                 rotary_error *error)
{
    const struct text_line field = table_at(table, row, column);
    return table_number(field, value)
               ? ROTARY_OK
               : table_refuse(table, row, column, error, "\"%.40s\" is no number", field.bytes);
}

static rotary_status read_row(const struct reading *reading, const struct table *table, int64_t row,
                              const struct answers *answers, rotary_error *error)
{
    const bool regression = reading->corpus.classes == 0;
    int32_t class = 0;
    double value = 0;
    rotary_status status = regression ? read_number(table, row, 0, &value, error)
                                      : read_class(reading, table, row, 0, &class, error);
    if (status != ROTARY_OK)
        return status;
    const bool same = regression ? fabs(value - reading->labels.values[row]) <= same_label * (1 + fabs(value))
                                 : class == reading->labels.classes[row];
    if (!same)
        return table_refuse(table, row, 0, error,
                            "the label of example %lld is another: the texts have changed since",
                            (long long)row);
    return regression ? read_number(table, row, 1, &answers->values[row], error)
                      : read_class(reading, table, row, 1, &answers->classes[row], error);
}

static rotary_status read_rows(const struct reading *reading, const struct table *table,
                               const struct answers *answers, rotary_error *error)
{
    const int64_t count = reading->corpus.counts[reading->split];
    if (table->rows != count)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has %lld predictions, wanted %lld, one for each example", table->path,
                           (long long)table->rows, (long long)count);
    rotary_status status = ROTARY_OK;
    for (int64_t row = 0; row < count && status == ROTARY_OK; row++)
        status = read_row(reading, table, row, answers, error);
    return status;
}

/* Reads the predictions of a run, which becomes the next system. */
static rotary_status read_run(struct reading *reading, const struct record *record, enum measure measure,
                              rotary_error *error)
{
    struct answers *answers = &reading->systems[reading->system_count];
    struct table table = {0};
    char path[FILE_PATH_BYTES];
    if (!answers_allocate(answers, reading->corpus.classes == 0, reading->corpus.counts[reading->split]))
        return rotary_fail_memory(error, "for the predictions of a comparison");
    const int system = reading->system_count++;
    rotary_status status = file_path(path, record_place(record), FOLDER_PREDICTIONS, error);
    const struct table_request request = {.path = path,
                                          .format = TABLE_TSV,
                                          .quoting = TABLE_UNQUOTED,
                                          .header = true,
                                          .columns = {"label", "prediction"},
                                          .column_count = 2,
                                          .max_bytes = max_bytes};
    if (status == ROTARY_OK)
        status = table_read(&table, &request, error);
    if (status == ROTARY_OK)
        status = read_rows(reading, &table, answers, error);
    table_free(&table);
    if (status != ROTARY_OK)
        return status;
    const double recorded = record_measure(record, measure),
                 found = score_of(reading, &reading->labels, answers, reading->corpus.counts[reading->split]);
    reading->whole[system] = found;
    if (!(fabs(found - recorded) <= same_score) && !(isnan(found) && isnan(recorded)))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "the score of %s is %.4f and was %.4f when the run ended: it has changed since",
                           path, found, recorded);
    return ROTARY_OK;
}

static rotary_status read_runs(struct reading *reading, const struct comparison *comparison,
                               rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < comparison->arm_count; i++)
        for (int j = 0; status == ROTARY_OK && j < comparison->arms[i].run_count; j++) {
            const int index = comparison->arms[i].runs[j];
            reading->of_record[index] = reading->system_count;
            status = read_run(reading, &comparison->records[index], measure_of_label(reading->score), error);
        }
    return status;
}

/* ---- the texts and the baselines ---- */

static rotary_status read_labels(struct reading *reading, const struct comparison *comparison,
                                 rotary_error *error)
{
    const int64_t count = reading->corpus.counts[reading->split];
    if (count != comparison->examples)
        return rotary_fail(error, ROTARY_BAD_FILE, "the %s set has %lld examples, and %lld were scored",
                           task_split_names[reading->split], (long long)count,
                           (long long)comparison->examples);
    if (!answers_allocate(&reading->labels, reading->corpus.classes == 0, count))
        return rotary_fail_memory(error, "for the predictions of a comparison");
    for (int64_t i = 0; i < count; i++)
        if (reading->labels.values)
            reading->labels.values[i] = reading->corpus.examples[reading->split][i].value;
        else
            reading->labels.classes[i] = reading->corpus.examples[reading->split][i].class;
    return ROTARY_OK;
}

/* The baselines are the last systems. */
static rotary_status run_baselines(struct reading *reading, rotary_error *error)
{
    const struct label_baselines_call call = {&reading->corpus, reading->decides, reading->split};
    rotary_status status = label_baselines_run(&reading->baselines, &call, error);
    for (int i = 0; i < LABEL_BASELINES && status == ROTARY_OK; i++) {
        reading->whole[reading->system_count] = 100.0 * reading->baselines.scores[i].values[reading->score];
        reading->systems[reading->system_count++] =
            (struct answers){reading->baselines.classes[i], reading->baselines.values[i]};
    }
    return status;
}

static rotary_status read_all(struct reading *reading, const struct comparison *comparison,
                              const struct record *first, rotary_error *error)
{
    reading->systems = calloc((size_t)reading->max_systems, sizeof *reading->systems);
    reading->whole = calloc((size_t)reading->max_systems, sizeof *reading->whole);
    reading->of_record = calloc((size_t)comparison->record_count, sizeof *reading->of_record);
    if (!reading->systems || !reading->whole || !reading->of_record)
        return rotary_fail_memory(error, "for the predictions of a comparison");
    rotary_status status = labelled_text_read(&reading->corpus, &reading->decides, first->config, error);
    if (status == ROTARY_OK)
        status = read_labels(reading, comparison, error);
    if (status == ROTARY_OK)
        status = read_runs(reading, comparison, error);
    return status == ROTARY_OK ? run_baselines(reading, error) : status;
}

/* ---- the differences ---- */

/* All runs of an arm minus baseline `which`. */
static rotary_status compare_arm(struct beside_baseline *beside, const struct reading *reading,
                                 const struct comparison_arm *arm, int which, rotary_error *error)
{
    const int count = arm->run_count, baseline = reading->system_count - LABEL_BASELINES + which;
    const size_t room = (size_t)count + 1;
    beside->examples = (struct resampled_difference){(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    double *differences = calloc(room, sizeof *differences);
    int *systems = calloc(2 * room, sizeof *systems), *baselines = systems + room;
    rotary_status status =
        differences && systems ? ROTARY_OK : rotary_fail_memory(error, "for the predictions of a comparison");
    for (int i = 0; i < count && status == ROTARY_OK; i++) {
        systems[i] = reading->of_record[arm->runs[i]];
        baselines[i] = baseline;
        differences[i] = reading->whole[systems[i]] - reading->whole[baseline];
    }
    const struct resampled_pairs pairs = {reading->scores, reading->whole, count, systems, baselines};
    if (status == ROTARY_OK) {
        beside->seeds = statistics_paired(differences, count);
        statistics_keep_within(&beside->seeds, measure_largest_difference(measure_of_label(reading->score)));
    }
    if (status == ROTARY_OK && count > 0)
        status = resample_difference_of(&pairs, EXAMPLE_SAMPLES, &beside->examples, error);
    free(differences);
    free(systems);
    return status;
}

static rotary_status compare_all(struct example_scores *scores, struct reading *reading, rotary_error *error)
{
    const struct comparison *comparison = scores->comparison;
    const struct resampling resampling = {.segments = scores->count,
                                          .systems = reading->system_count,
                                          .samples = EXAMPLE_SAMPLES,
                                          .seed = EXAMPLE_SEED,
                                          .score = score_sample,
                                          .context = reading};
    rotary_status status = resample_scores(&resampling, &reading->scores, error);
    const struct resampled_runs runs = {EXAMPLE_SAMPLES, reading->of_record, reading->whole, reading->scores};
    for (int i = 0; i < comparison->contrast_count && status == ROTARY_OK; i++)
        status = resampled_contrast_find(&scores->contrasts[i], &comparison->contrasts[i], &runs, error);
    for (int i = 0; i < comparison->arm_count; i++)
        for (int j = 0; j < LABEL_BASELINES && status == ROTARY_OK; j++)
            status = compare_arm(&scores->beside[i * LABEL_BASELINES + j], reading, &comparison->arms[i], j,
                                 error);
    return status;
}

/* ---- all of it ---- */

static const struct record *first_scored(const struct comparison *comparison, int *runs)
{
    const struct record *first = NULL;
    *runs = 0;
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct comparison_arm *arm = &comparison->arms[i];
        *runs += arm->run_count;
        if (!first && arm->run_count > 0)
            first = &comparison->records[arm->runs[0]];
    }
    return first;
}

static rotary_status fill(struct example_scores *scores, rotary_error *error)
{
    const struct comparison *comparison = scores->comparison;
    int runs;
    const struct record *first = first_scored(comparison, &runs);
    if (!first)
        return ROTARY_OK;
    scores->measure = comparison_label_measure(comparison);
    struct reading reading = {.score = measure_label(scores->measure),
                              .split = comparison->test ? TASK_TEST : TASK_VALIDATION,
                              .max_systems = runs + LABEL_BASELINES};
    rotary_status status = read_all(&reading, comparison, first, error);
    if (status == ROTARY_OK) {
        scores->split = task_split_names[reading.split];
        scores->count = comparison->examples;
        scores->choices = reading.corpus.choices > 0;
        for (int i = 0; i < LABEL_BASELINES; i++)
            scores->baselines[i] = reading.whole[runs + i];
        status = compare_all(scores, &reading, error);
    }
    reading_free(&reading);
    return status;
}

static void clear(struct example_scores *scores, const struct comparison *comparison)
{
    for (int i = 0; scores->contrasts && i < comparison->contrast_count; i++)
        free(scores->contrasts[i].pairs);
    free(scores->contrasts);
    free(scores->beside);
    *scores = (struct example_scores){.comparison = comparison};
}

rotary_status example_scores_create(struct example_scores **scores, const struct comparison *comparison,
                                    rotary_error *error)
{
    struct example_scores *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for the predictions of a comparison");
    made->comparison = comparison;
    made->contrasts = calloc((size_t)comparison->contrast_count + 1, sizeof *made->contrasts);
    made->beside = calloc((size_t)comparison->arm_count + 1, LABEL_BASELINES * sizeof *made->beside);
    rotary_error fault = {0};
    rotary_status status = made->contrasts && made->beside
                               ? fill(made, &fault)
                               : rotary_fail_memory(&fault, "for the predictions of a comparison");
    if (status != ROTARY_OK)
        clear(made, comparison);
    status = resampled_keep_fault(status, &fault, &made->fault);
    if (status == ROTARY_OK) {
        *scores = made;
        return ROTARY_OK;
    }
    example_scores_destroy(made);
    return rotary_fail_memory(error, "for the predictions of a comparison");
}

void example_scores_destroy(struct example_scores *scores)
{
    if (!scores)
        return;
    free(scores->fault);
    clear(scores, scores->comparison);
    free(scores);
}
