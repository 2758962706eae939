/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/bleu_output.h"

#include "cli/output/result.h"
#include "file/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCORE_BYTES = 128, LINE_BYTES = SIGNATURE_BYTES + BLEU_TEXT_BYTES + 2 * SCORE_BYTES };

static const int64_t *row_of(const struct metric_scores *metric, int64_t segment)
{
    return metric->rows[0] + segment * metric->metric.width;
}

/* "41.0", or "41.0 (μ = 41.0 ± 1.2)" */
static const char *score_text(const struct bleu_output *output, const struct resampled *result,
                              const char *mean, char text[SCORE_BYTES])
{
    int used = snprintf(text, SCORE_BYTES, "%.*f", output->width, result->score);
    if (result->mean > 0)
        snprintf(text + used, (size_t)(SCORE_BYTES - used), " (%s%.*f ± %.*f)", mean, output->width,
                 result->mean, output->width, result->interval);
    return text;
}

/* "BLEU|nrefs:1|... = 41.0 73.6/48.7/36.0/26.3 (BP = ...)", or the score alone. */
static void line_of(const struct bleu_output *output, const struct metric_scores *metric,
                    const struct resampled *result, const int64_t *sums, char line[LINE_BYTES])
{
    char score[SCORE_BYTES], details[BLEU_TEXT_BYTES] = "";
    score_text(output, result, "μ = ", score);
    if (metric->bleu) {
        struct bleu_score bleu = bleu_of(metric->bleu, sums);
        bleu_text(&bleu, details);
    }
    if (output->score_only)
        snprintf(line, LINE_BYTES, "%s", score);
    else
        snprintf(line, LINE_BYTES, "%s|%s = %s%s%s", metric->name, metric->signature, score,
                 details[0] ? " " : "", details);
}

/* One system: lines with their equals signs below each other. */
static void print_lines(const struct bleu_output *output)
{
    char lines[SYSTEM_METRICS][LINE_BYTES];
    int places[SYSTEM_METRICS] = {0}, place = 0;
    for (int i = 0; i < output->scores->metric_count; i++) {
        const struct metric_scores *metric = &output->scores->metrics[i];
        int64_t sums[SEGMENT_MAX_STATISTICS];
        segments_sum(metric->rows[0], output->scores->segments, metric->metric.width, sums);
        line_of(output, metric, &metric->results[0], sums, lines[i]);
        places[i] = (int)strcspn(lines[i], "=");
        place = places[i] > place ? places[i] : place;
    }
    for (int i = 0; i < output->scores->metric_count; i++)
        printf("%*s%s\n", output->score_only ? 0 : place - places[i], "", lines[i]);
}

/* ---- a table of several systems ---- */

static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

static void print_cell(const char *text, int columns)
{
    int missing = columns - columns_of(text);
    printf("%s%*s", text, missing > 0 ? missing : 0, "");
}

/* No difference has the least p by definition, and no star. */
static void cell_of(const struct bleu_output *output, const struct resampled *results, int system,
                    char cell[SCORE_BYTES])
{
    const struct resampled *result = &results[system];
    bool star = result->p <= 0.05 && result->score != results[0].score;
    score_text(output, result, "", cell);
    size_t used = strlen(cell);
    if (!isnan(result->p))
        snprintf(cell + used, SCORE_BYTES - used, "  p = %.4f%s", result->p, star ? "*" : "");
}

static void print_table(const struct bleu_output *output)
{
    int first = columns_of("system"), columns[SYSTEM_METRICS];
    char cell[SCORE_BYTES];
    for (int i = 0; i < output->scores->systems; i++)
        first = columns_of(output->call->systems[i]) > first ? columns_of(output->call->systems[i]) : first;
    for (int j = 0; j < output->scores->metric_count; j++) {
        columns[j] = columns_of(output->scores->metrics[j].name);
        for (int i = 0; i < output->scores->systems; i++) {
            cell_of(output, output->scores->metrics[j].results, i, cell);
            columns[j] = columns_of(cell) > columns[j] ? columns_of(cell) : columns[j];
        }
    }
    for (int i = -1; i < output->scores->systems; i++) {
        print_cell(i < 0 ? "system" : output->call->systems[i], first);
        for (int j = 0; j < output->scores->metric_count; j++) {
            const struct metric_scores *metric = &output->scores->metrics[j];
            if (i >= 0)
                cell_of(output, metric->results, i, cell);
            printf("  ");
            print_cell(i < 0 ? metric->name : cell, j + 1 < output->scores->metric_count ? columns[j] : 0);
        }
        putchar('\n');
    }
    putchar('\n');
    for (int j = 0; j < output->scores->metric_count; j++)
        printf("%s|%s\n", output->scores->metrics[j].name, output->scores->metrics[j].signature);
}

static void print_test(const struct bleu_output *output)
{
    bool bootstrap = output->call->test == TEST_BOOTSTRAP;
    if (bootstrap)
        printf("In parentheses: mean and 95%% interval of %lld bootstrap samples.\n",
               (long long)output->call->sampling.bootstrap);
    printf("p: paired %s, %lld %s, against %s; * p <= 0.05.\n",
           bootstrap ? "bootstrap resampling" : "approximate randomization",
           (long long)(bootstrap ? output->call->sampling.bootstrap : output->call->sampling.trials),
           bootstrap ? "samples" : "trials", output->call->systems[0]);
}

void bleu_print_text(const struct bleu_output *output)
{
    if (output->scores->systems == 1) {
        print_lines(output);
        return;
    }
    print_table(output);
    if (output->call->test != TEST_NONE)
        print_test(output);
}

/* ---- JSON ---- */

/* Prints it as it is, or with the decimals that were asked for. */
static json_t *score_json(const struct bleu_output *output, double score)
{
    char text[SCORE_BYTES];
    snprintf(text, sizeof text, "%.*f", output->width, score);
    return file_json_number(output->width_given ? strtod(text, NULL) : score);
}

/* "nrefs": "1" and all else that the signature has. */
static void add_signature(json_t *object, const char *signature)
{
    char copy[SIGNATURE_BYTES], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", signature);
    for (char *pair = strtok_r(copy, "|", &rest); pair; pair = strtok_r(NULL, "|", &rest)) {
        char *colon = strchr(pair, ':');
        *colon = 0;
        json_object_set_new(object, pair, json_string(colon + 1));
    }
}

static void add_bleu(json_t *object, const struct bleu_score *bleu)
{
    char details[BLEU_TEXT_BYTES];
    json_t *precisions = json_array();
    for (int n = 0; n < BLEU_ORDER; n++)
        json_array_append_new(precisions, json_real(bleu->precisions[n]));
    json_object_set_new(object, "verbose_score", json_string(bleu_text(bleu, details)));
    json_object_set_new(object, "precisions", precisions);
    json_object_set_new(object, "bp", json_real(bleu->brevity_penalty));
    json_object_set_new(object, "ratio", json_real(bleu->ratio));
    json_object_set_new(object, "hyp_len", json_integer(bleu->hypothesis_length));
    json_object_set_new(object, "ref_len", json_integer(bleu->reference_length));
}

static json_t *result_json(const struct bleu_output *output, const struct metric_scores *metric, int system)
{
    const struct resampled *result = &metric->results[system];
    json_t *object = json_object();
    json_object_set_new(object, "name", json_string(metric->name));
    json_object_set_new(object, "score", score_json(output, result->score));
    json_object_set_new(object, "signature", json_string(metric->signature));
    if (metric->bleu) {
        int64_t sums[BLEU_STATISTICS];
        segments_sum(metric->rows[system], output->scores->segments, BLEU_STATISTICS, sums);
        struct bleu_score bleu = bleu_of(metric->bleu, sums);
        add_bleu(object, &bleu);
    }
    if (!isnan(result->mean)) {
        json_object_set_new(object, "confidence_mean", score_json(output, result->mean));
        json_object_set_new(object, "confidence_var", score_json(output, result->interval));
        json_object_set_new(
            object, "confidence",
            json_sprintf("μ = %.*f ± %.*f", output->width, result->mean, output->width, result->interval));
    }
    if (!isnan(result->p))
        json_object_set_new(object, "p_value", json_real(result->p));
    json_object_set_new(object, "segments", json_integer(output->scores->segments));
    add_signature(object, metric->signature);
    return object;
}

json_t *bleu_scores_json(const struct bleu_output *output)
{
    if (output->scores->systems == 1 && output->scores->metric_count == 1)
        return result_json(output, &output->scores->metrics[0], 0);
    json_t *results = json_array();
    for (int i = 0; i < output->scores->systems; i++)
        for (int j = 0; j < output->scores->metric_count; j++) {
            json_t *result = result_json(output, &output->scores->metrics[j], i);
            json_object_set_new(result, "system", json_string(output->call->systems[i]));
            json_array_append_new(results, result);
        }
    return json_pack("{s:o}", "results", results);
}

/* ---- single segments ---- */

void bleu_print_segments(const struct bleu_output *output)
{
    const struct metric_scores *metric = &output->scores->metrics[0];
    for (int64_t i = 0; i < output->scores->segments; i++) {
        char line[LINE_BYTES];
        const struct resampled result = {
            .score = metric->metric.score(metric->metric.config, row_of(metric, i)), .mean = (double)NAN};
        line_of(output, metric, &result, row_of(metric, i), line);
        puts(line);
    }
}

json_t *bleu_segments_json(const struct bleu_output *output)
{
    const struct metric_scores *metric = &output->scores->metrics[0];
    json_t *list = json_array();
    for (int64_t i = 0; i < output->scores->segments; i++)
        json_array_append_new(
            list, score_json(output, metric->metric.score(metric->metric.config, row_of(metric, i))));
    return json_pack("{s:s, s:s, s:o}", "name", metric->name, "signature", metric->signature, "scores", list);
}
