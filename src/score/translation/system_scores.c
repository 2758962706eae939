/* SPDX-License-Identifier: Apache-2.0 */
#include "score/translation/system_scores.h"

#include "base/fail.h"
#include "text/text_lines.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 28 };

/* ---- reading ---- */

/* One file, whose lines are without the white space at their ends, as sacreBLEU reads them. */
struct side {
    struct text_lines file;
    struct text_line *lines; /* [file.count] */
};

static rotary_status read_side(struct side *side, const char *path, rotary_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    rotary_status status = text_lines_read(&side->file, standard ? NULL : path, MAX_FILE_BYTES, error);
    if (status != ROTARY_OK)
        return status;
    side->file.path = standard ? "standard input" : path;
    if (side->file.count == 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has no lines", side->file.path);
    side->lines = malloc((size_t)side->file.count * sizeof *side->lines);
    if (!side->lines)
        return rotary_fail_memory(error, "to read %s", side->file.path);
    for (int64_t i = 0; i < side->file.count; i++) {
        side->lines[i] = text_lines_at(&side->file, i);
        side->lines[i].count = unicode_trimmed(side->lines[i].bytes, side->lines[i].count);
    }
    return ROTARY_OK;
}

/* The references, then the systems; each file must have as many lines as the first. */
static rotary_status read_sides(const struct system_scores_call *call, struct side *sides,
                                rotary_error *error)
{
    for (int i = 0; i < call->reference_count + call->system_count; i++) {
        const char *path =
            i < call->reference_count ? call->references[i] : call->systems[i - call->reference_count];
        rotary_status status = read_side(&sides[i], path, error);
        if (status == ROTARY_OK && i > 0)
            status = text_lines_check_aligned(&sides[0].file, &sides[i].file, error);
        if (status != ROTARY_OK)
            return status;
    }
    return ROTARY_OK;
}

static void free_sides(struct side *sides, int count)
{
    for (int i = 0; sides && i < count; i++) {
        free(sides[i].lines);
        text_lines_free(&sides[i].file);
    }
    free(sides);
}

/* ---- scoring ---- */

static rotary_status count(const struct system_scores_call *call, const struct metric_scores *metric,
                           const struct segment_corpus *corpus, int64_t *rows, rotary_error *error)
{
    return metric->bleu ? bleu_count(call->bleu, corpus, rows, error)
                        : chrf_count(call->chrf, corpus, rows, error);
}

static rotary_status score_metric(const struct system_scores_call *call, const struct system_scores *scores,
                                  struct metric_scores *metric, const struct side *sides, rotary_error *error)
{
    const struct text_line **references = malloc((size_t)call->reference_count * sizeof *references);
    metric->rows = calloc((size_t)call->system_count, sizeof *metric->rows);
    metric->results = calloc((size_t)call->system_count, sizeof *metric->results);
    rotary_status status = ROTARY_OK;
    if (!references || !metric->rows || !metric->results)
        status = rotary_fail_memory(error, "for %d systems", call->system_count);
    for (int i = 0; i < call->reference_count && status == ROTARY_OK; i++)
        references[i] = sides[i].lines;
    for (int i = 0; i < call->system_count && status == ROTARY_OK; i++) {
        const struct segment_corpus corpus = {scores->segments, sides[call->reference_count + i].lines,
                                              call->reference_count, references};
        metric->rows[i] = malloc((size_t)scores->segments * (size_t)metric->metric.width * sizeof(int64_t));
        status = metric->rows[i]
                     ? count(call, metric, &corpus, metric->rows[i], error)
                     : rotary_fail_memory(error, "for %lld segments", (long long)scores->segments);
    }
    free(references);
    if (status != ROTARY_OK)
        return status;
    const struct resampling resampling = {.metric = metric->metric,
                                          .segments = scores->segments,
                                          .systems = call->system_count,
                                          .rows = (const int64_t *const *)metric->rows,
                                          .samples = call->sampling.bootstrap + call->sampling.trials,
                                          .seed = call->sampling.seed,
                                          .threads = call->threads};
    if (call->test == TEST_NONE) {
        resample_none(&resampling, metric->results);
        return ROTARY_OK;
    }
    return call->test == TEST_BOOTSTRAP ? resample_bootstrap(&resampling, metric->results, error)
                                        : resample_trials(&resampling, metric->results, error);
}

static void name_metrics(const struct system_scores_call *call, struct system_scores *scores)
{
    const struct segment_sampling *sampling = call->test != TEST_NONE ? &call->sampling : NULL;
    if (call->bleu) {
        struct metric_scores *metric = &scores->metrics[scores->metric_count++];
        *metric =
            (struct metric_scores){.name = "BLEU", .bleu = call->bleu, .metric = bleu_metric(call->bleu)};
        bleu_signature(call->bleu, call->reference_count, sampling, metric->signature);
    }
    if (call->chrf) {
        struct metric_scores *metric = &scores->metrics[scores->metric_count++];
        *metric = (struct metric_scores){.metric = chrf_metric(call->chrf)};
        chrf_name(call->chrf, metric->name);
        chrf_signature(call->chrf, call->reference_count, sampling, metric->signature);
    }
}

/* Counts the lines that look as if they were tokenized already. */
static rotary_status count_tokenized(const struct side *systems, struct system_scores *scores,
                                     rotary_error *error)
{
    scores->tokenized = calloc((size_t)scores->systems, sizeof *scores->tokenized);
    if (!scores->tokenized)
        return rotary_fail_memory(error, "for %d systems", scores->systems);
    for (int i = 0; i < scores->systems; i++)
        for (int64_t j = 0; j < scores->segments; j++) {
            const struct text_line *line = &systems[i].lines[j];
            scores->tokenized[i] += line->count >= 2 && memcmp(line->bytes + line->count - 2, " .", 2) == 0;
        }
    return ROTARY_OK;
}

rotary_status system_scores_create(struct system_scores *scores, const struct system_scores_call *call,
                                   rotary_error *error)
{
    const int files = call->reference_count + call->system_count;
    *scores = (struct system_scores){.systems = call->system_count};
    struct side *sides = calloc((size_t)files, sizeof *sides);
    rotary_status status =
        sides ? read_sides(call, sides, error) : rotary_fail_memory(error, "for %d files", files);
    if (status == ROTARY_OK) {
        scores->segments = sides[0].file.count;
        name_metrics(call, scores);
        status = count_tokenized(sides + call->reference_count, scores, error);
    }
    for (int i = 0; i < scores->metric_count && status == ROTARY_OK; i++)
        status = score_metric(call, scores, &scores->metrics[i], sides, error);
    free_sides(sides, files);
    return status;
}

void system_scores_free(struct system_scores *scores)
{
    for (int i = 0; i < scores->metric_count; i++) {
        struct metric_scores *metric = &scores->metrics[i];
        for (int j = 0; metric->rows && j < scores->systems; j++)
            free(metric->rows[j]);
        free(metric->rows);
        free(metric->results);
    }
    free(scores->tokenized);
}
