/* SPDX-License-Identifier: Apache-2.0 */
#include "records/sentence_scores.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t max_bytes = (int64_t)1 << 28;
/* Records have all digits of a score. */
static const double same_bleu = 1e-6;

/* ---- texts ---- */

static struct text_line *lines_of(const struct text_lines *text, int64_t count)
{
    struct text_line *lines = malloc((size_t)count * sizeof *lines);
    for (int64_t i = 0; lines && i < count; i++)
        lines[i] = text_lines_at(text, i);
    return lines;
}

/* The statistics of each of a run's translations, and the score of all. */
static rotary_status score_run(const struct sentence_scores *scores, struct sentence_run *run,
                               rotary_error *error)
{
    int64_t sums[BLEU_STATISTICS];
    const struct bleu_config *config = &scores->text.bleu;
    struct text_line *hypotheses = lines_of(&run->lines, scores->count),
                     *references = lines_of(&scores->text.target, scores->count);
    const struct text_line *const all[] = {references};
    const struct segment_corpus corpus = {scores->count, hypotheses, 1, all};
    run->rows = calloc((size_t)scores->count, BLEU_STATISTICS * sizeof *run->rows);
    rotary_status status = hypotheses && references && run->rows
                               ? bleu_count(config, &corpus, run->rows, error)
                               : rotary_fail_memory(error, "for translations of a comparison");
    free(hypotheses);
    free(references);
    if (status != ROTARY_OK)
        return status;
    segments_sum(run->rows, scores->count, BLEU_STATISTICS, sums);
    run->bleu = bleu_of(config, sums).score;
    return ROTARY_OK;
}

/* Reads the translations of a run that has been scored. */
static rotary_status read_run(const struct sentence_scores *scores, const struct record *record,
                              struct sentence_run *run, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, record_place(record), FOLDER_TRANSLATIONS, error);
    if (status == ROTARY_OK)
        status = text_lines_read(&run->lines, path, max_bytes, error);
    if (status != ROTARY_OK)
        return status;
    run->lines.path = record->folder;
    if (run->lines.count != scores->count)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has %lld lines, wanted %lld, as many as the %s set",
                           path, (long long)run->lines.count, (long long)scores->count, scores->split);
    status = score_run(scores, run, error);
    const double recorded = record_measure(record, MEASURE_BLEU);
    if (status == ROTARY_OK && !(fabs(run->bleu - recorded) <= same_bleu))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "the BLEU of %s is %.4f and was %.4f when the run ended: it, or the %s set, has "
                           "changed since",
                           path, run->bleu, recorded, scores->split);
    return status;
}

/* The texts of the first run that has been scored. */
static rotary_status read_text(struct sentence_scores *scores, const struct record *record,
                               rotary_error *error)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    const bool test = last->test_translated > 0;
    scores->split = task_split_names[test ? TASK_TEST : TASK_VALIDATION];
    scores->count = test ? last->test_translated : last->translated;
    rotary_status status =
        split_text_read(&scores->text, record->config, test ? TASK_TEST : TASK_VALIDATION, error);
    if (status == ROTARY_OK && scores->text.target.count != scores->count)
        status = rotary_fail(error, ROTARY_BAD_FILE, "the %s set has %lld lines, and %s translated %lld",
                             scores->split, (long long)scores->text.target.count, record->folder,
                             (long long)scores->count);
    const struct segment_sampling sampling = {.bootstrap = SENTENCE_SAMPLES, .seed = SENTENCE_SEED};
    bleu_signature(&scores->text.bleu, 1, &sampling, scores->signature);
    return status;
}

static rotary_status read_runs(struct sentence_scores *scores, const struct comparison *comparison,
                               rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < comparison->arm_count; i++)
        for (int j = 0; status == ROTARY_OK && j < comparison->arms[i].run_count; j++) {
            const int index = comparison->arms[i].runs[j];
            const struct record *record = &comparison->records[index];
            if (!scores->count)
                status = read_text(scores, record, error);
            if (status == ROTARY_OK)
                status = read_run(scores, record, &scores->runs[index], error);
        }
    return status;
}

/* ---- the bootstrap ---- */

/* The runs that have translations, as systems of a resampling. */
struct systems {
    int count;
    int *of_record;       /* [records] */
    const int64_t **rows; /* [count] */
    double *corpus;       /* [count] */
    double *scores;       /* [count][SENTENCE_SAMPLES] */
};

static rotary_status systems_create(struct systems *systems, const struct sentence_scores *scores,
                                    int record_count, rotary_error *error)
{
    const size_t room = (size_t)record_count;
    *systems = (struct systems){.of_record = calloc(room, sizeof *systems->of_record),
                                .rows = calloc(room, sizeof *systems->rows),
                                .corpus = calloc(room, sizeof *systems->corpus)};
    if (!systems->of_record || !systems->rows || !systems->corpus)
        return rotary_fail_memory(error, "for translations of a comparison");
    for (int i = 0; i < record_count; i++) {
        if (!scores->runs[i].rows)
            continue;
        systems->of_record[i] = systems->count;
        systems->rows[systems->count] = scores->runs[i].rows;
        systems->corpus[systems->count++] = scores->runs[i].bleu;
    }
    const struct resampling resampling = {.metric = bleu_metric(&scores->text.bleu),
                                          .segments = scores->count,
                                          .systems = systems->count,
                                          .rows = systems->rows,
                                          .samples = SENTENCE_SAMPLES,
                                          .seed = SENTENCE_SEED};
    return resample_scores(&resampling, &systems->scores, error);
}

static void systems_free(struct systems *systems)
{
    free(systems->of_record);
    free(systems->rows);
    free(systems->corpus);
    free(systems->scores);
}

static rotary_status resample_contrasts(struct sentence_scores *scores, const struct comparison *comparison,
                                        rotary_error *error)
{
    struct systems systems;
    rotary_status status = systems_create(&systems, scores, comparison->record_count, error);
    const struct resampled_runs runs = {SENTENCE_SAMPLES, systems.of_record, systems.corpus, systems.scores};
    for (int i = 0; status == ROTARY_OK && i < comparison->contrast_count; i++)
        status = resampled_contrast_find(&scores->contrasts[i], &comparison->contrasts[i], &runs, error);
    systems_free(&systems);
    return status;
}

/* ---- what is shown ---- */

double sentence_bleu(const struct sentence_scores *scores, int record, int64_t line)
{
    struct bleu_config config = scores->text.bleu;
    config.effective_order = true;
    return bleu_of(&config, scores->runs[record].rows + line * BLEU_STATISTICS).score;
}

/* The arm's run with the median score: of an even number the lower one of the middle. */
static int median_run(const struct comparison_arm *arm, const struct sentence_scores *scores)
{
    for (int i = 0; i < arm->run_count; i++) {
        int lower = 0;
        for (int j = 0; j < arm->run_count; j++) {
            const double other = scores->runs[arm->runs[j]].bleu, own = scores->runs[arm->runs[i]].bleu;
            lower += other < own || (other == own && j < i);
        }
        if (lower == (arm->run_count - 1) / 2)
            return arm->runs[i];
    }
    return -1;
}

/* A line and what it is sorted by. */
struct ranked {
    int64_t line;
    double value;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *first = a, *second = b;
    if (first->value != second->value)
        return first->value < second->value ? -1 : 1;
    return (first->line > second->line) - (first->line < second->line);
}

static int by_line(const void *a, const void *b)
{
    const struct sentence_choice *first = a, *second = b;
    return (first->line > second->line) - (first->line < second->line);
}

/* How far apart the shown runs are in the BLEU of a line. */
static double spread_of(const struct sentence_scores *scores, int arm_count, int64_t line)
{
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < arm_count; i++) {
        if (scores->shown[i] < 0)
            continue;
        least = fmin(least, sentence_bleu(scores, scores->shown[i], line));
        most = fmax(most, sentence_bleu(scores, scores->shown[i], line));
    }
    return most - least;
}

static void choose(struct sentence_scores *scores, int64_t line, bool differs)
{
    for (int i = 0; i < scores->choice_count; i++)
        if (scores->choices[i].line == line)
            return;
    scores->choices[scores->choice_count++] = (struct sentence_choice){line, differs};
}

static rotary_status choose_sentences(struct sentence_scores *scores, int arm_count, rotary_error *error)
{
    const int64_t count = scores->count;
    int shown_arms = 0;
    for (int i = 0; i < arm_count; i++)
        shown_arms += scores->shown[i] >= 0;
    const int spread = shown_arms > 1 ? SENTENCE_SHOWN / 2 : SENTENCE_SHOWN;
    struct ranked *ranked = malloc((size_t)count * sizeof *ranked);
    if (!ranked)
        return rotary_fail_memory(error, "for translations of a comparison");
    for (int64_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){i, (double)text_lines_at(&scores->text.source, i).count};
    qsort(ranked, (size_t)count, sizeof *ranked, by_value);
    for (int i = 0; i < spread; i++)
        choose(scores, ranked[(2 * i + 1) * count / (2 * spread)].line, false);
    for (int64_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){i, -spread_of(scores, arm_count, i)};
    qsort(ranked, (size_t)count, sizeof *ranked, by_value);
    for (int64_t i = 0; i < count && shown_arms > 1 && scores->choice_count < SENTENCE_SHOWN; i++)
        if (ranked[i].value < 0)
            choose(scores, ranked[i].line, true);
    qsort(scores->choices, (size_t)scores->choice_count, sizeof *scores->choices, by_line);
    free(ranked);
    return ROTARY_OK;
}

/* ---- all of it ---- */

static rotary_status fill(struct sentence_scores *scores, const struct comparison *comparison,
                          rotary_error *error)
{
    rotary_status status = read_runs(scores, comparison, error);
    if (status != ROTARY_OK || scores->count == 0)
        return status;
    for (int i = 0; i < comparison->arm_count; i++)
        scores->shown[i] = median_run(&comparison->arms[i], scores);
    status = resample_contrasts(scores, comparison, error);
    return status == ROTARY_OK ? choose_sentences(scores, comparison->arm_count, error) : status;
}

static void clear(struct sentence_scores *scores, const struct comparison *comparison)
{
    for (int i = 0; scores->runs && i < comparison->record_count; i++) {
        text_lines_free(&scores->runs[i].lines);
        free(scores->runs[i].rows);
    }
    for (int i = 0; scores->contrasts && i < comparison->contrast_count; i++)
        free(scores->contrasts[i].pairs);
    free(scores->runs);
    free(scores->contrasts);
    free(scores->shown);
    split_text_free(&scores->text);
    *scores = (struct sentence_scores){.comparison = comparison};
}

rotary_status sentence_scores_create(struct sentence_scores **scores, const struct comparison *comparison,
                                     rotary_error *error)
{
    struct sentence_scores *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for translations of a comparison");
    made->comparison = comparison;
    made->runs = calloc((size_t)comparison->record_count + 1, sizeof *made->runs);
    made->contrasts = calloc((size_t)comparison->contrast_count + 1, sizeof *made->contrasts);
    made->shown = calloc((size_t)comparison->arm_count + 1, sizeof *made->shown);
    rotary_error fault = {0};
    rotary_status status = made->runs && made->contrasts && made->shown
                               ? fill(made, comparison, &fault)
                               : rotary_fail_memory(&fault, "for translations of a comparison");
    if (status != ROTARY_OK)
        clear(made, comparison);
    status = resampled_keep_fault(status, &fault, &made->fault);
    if (status == ROTARY_OK) {
        *scores = made;
        return ROTARY_OK;
    }
    sentence_scores_destroy(made);
    return rotary_fail_memory(error, "for translations of a comparison");
}

void sentence_scores_destroy(struct sentence_scores *scores)
{
    if (!scores)
        return;
    free(scores->fault);
    clear(scores, scores->comparison);
    free(scores);
}
