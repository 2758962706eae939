/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the page that are tables, and the models' answers.
 */
#include "report/chart/svg.h"
#include "report/html.h"
#include "report/page.h"
#include "report/prediction/predictions.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_name(FILE *stream, const struct comparison *comparison, int index)
{
    fprintf(stream, "<th scope=\"row\" class=\"%s\">", svg_arm_class(index));
    html_text(stream, comparison->arms[index].name);
    fputs("</th>", stream);
}

static void write_number(FILE *stream, double value, int decimals)
{
    char number[HTML_NUMBER_BYTES];
    fprintf(stream, "<td>%s</td>", html_number(number, value, decimals, 0));
}

void page_reached(FILE *stream, const struct reached *reached, int64_t steps)
{
    char number[HTML_NUMBER_BYTES];
    if (!reached->count)
        fputs("–", stream);
    else if (isinf(reached->median))
        fprintf(stream, "&gt; %s (%d of %d)", html_count(number, steps), reached->reached, reached->count);
    else
        fprintf(stream, "%s (%d of %d)", html_count(number, (int64_t)reached->median), reached->reached,
                reached->count);
}

static void write_title(FILE *stream, const struct comparison *comparison, enum measure measure)
{
    char problems[HTML_NUMBER_BYTES];
    if (measure == MEASURE_EXACT_MATCH)
        fprintf(stream, "Exact match, %% of %s problems", html_count(problems, comparison->problems));
    else /* none of the titles has markup */
        fprintf(stream, "%c%s", toupper((unsigned char)measure_descriptions[measure].title[0]),
                measure_descriptions[measure].title + 1);
}

/* The head of the first column. */
static void write_heading(FILE *stream, const struct comparison *comparison)
{
    fputs("<thead><tr><th>", stream);
    html_text(stream, arm_heading(comparison));
    fputs("</th>", stream);
}

void page_statistics(FILE *stream, const struct comparison *comparison, enum measure measure)
{
    int decimals = measure_descriptions[measure].decimals;
    bool times = measure == MEASURE_STEPS_TO_90;
    fputs("<div class=\"scroll\"><table class=\"sticky\">\n<caption>", stream);
    write_title(stream, comparison, measure);
    fprintf(stream, "%s</caption>\n", measure == comparison->measures[0] ? " (primary)" : "");
    write_heading(stream, comparison);
    fprintf(stream,
            "<th>runs</th><th>mean</th><th>median</th><th>st. dev.</th><th>min</th><th>max</th>"
            "<th>w/o worst</th>%s</tr></thead>\n<tbody>\n",
            times ? "<th>median (reached)</th>" : "");
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct comparison_arm *arm = &comparison->arms[i];
        const struct statistics *statistics = &arm->statistics[measure];
        fputs("<tr>", stream);
        write_name(stream, comparison, i);
        fprintf(stream, "<td>%d</td>", statistics->count);
        write_number(stream, statistics->mean, decimals);
        write_number(stream, statistics->median, decimals);
        write_number(stream, statistics->deviation, decimals);
        write_number(stream, statistics->min, decimals);
        write_number(stream, statistics->max, decimals);
        write_number(stream, statistics->without_worst, decimals);
        if (times) {
            fputs("<td>", stream);
            page_reached(stream, &arm->reached, comparison->steps);
            fputs("</td>", stream);
        }
        fputs("</tr>\n", stream);
    }
    predictions_rows(stream, comparison, measure);
    fputs("</tbody></table></div>\n", stream);
}

/* "roper − rope", in the arm's colour. */
static void write_contrast_name(FILE *stream, const struct comparison *comparison,
                                const struct contrast *contrast)
{
    fprintf(stream, "<th scope=\"row\" class=\"%s\">", svg_arm_class(contrast->arm));
    html_text(stream, comparison->arms[contrast->arm].name);
    fputs(" − ", stream);
    html_text(stream, comparison->arms[contrast->baseline].name);
    fputs("</th>", stream);
}

static void write_p(FILE *stream, double p)
{
    char text[SHORT_NUMBER_BYTES];
    fputs("<td>", stream);
    html_text(stream, isnan(p) ? "–" : p_text(text, p));
    fputs("</td>", stream);
}

static void write_contrast(FILE *stream, const struct comparison *comparison, const struct contrast *contrast,
                           int at)
{
    enum measure measure = comparison->measures[at];
    int decimals = measure_descriptions[measure].decimals;
    const struct paired_difference *difference = &contrast->difference[measure];
    char level[SHORT_NUMBER_BYTES];
    fputs("<tr>", stream);
    write_contrast_name(stream, comparison, contrast);
    fprintf(stream, "<td>%d</td><td>", difference->count);
    page_difference(stream, difference, decimals);
    fprintf(stream, "</td><td>%s</td>", isnan(difference->low) ? "–" : level_text(level, difference->level));
    write_number(stream, difference->count ? difference->deviation : (double)NAN, decimals);
    write_p(stream, difference->sign_flip_p);
    write_p(stream, difference->count ? difference->sign_flip_min_p : (double)NAN);
    if (comparison->contrast_count > 1)
        write_p(stream, at == 0 ? contrast->adjusted_p : (double)NAN);
    if (comparison->has_problems)
        fprintf(stream, measure == MEASURE_STEPS_TO_90 ? "<td>%d</td>" : "<td></td>", contrast->censored);
    fputs("</tr>\n", stream);
}

void page_differences(FILE *stream, const struct comparison *comparison)
{
    fprintf(stream,
            "<div class=\"scroll\"><table class=\"sticky\">\n<caption>Paired differences</caption>\n"
            "<thead><tr><th>difference</th><th>pairs</th><th>mean [interval]</th><th>level</th>"
            "<th>st. dev.</th><th>p</th><th>least p</th>%s%s</tr></thead>\n",
            comparison->contrast_count > 1 ? "<th>joint p</th>" : "",
            comparison->has_problems ? "<th>censored</th>" : "");
    for (int i = 0; i < comparison->measure_count; i++) {
        fprintf(stream, "<tbody>\n<tr><td class=\"group\" colspan=\"%d\">",
                7 + (comparison->contrast_count > 1) + comparison->has_problems);
        write_title(stream, comparison, comparison->measures[i]);
        fprintf(stream, "%s</td></tr>\n", i ? "" : " (primary)");
        for (int j = 0; j < comparison->contrast_count; j++)
            write_contrast(stream, comparison, &comparison->contrasts[j], i);
        fputs("</tbody>\n", stream);
    }
    fputs("</table></div>\n", stream);
}

void page_pairs(FILE *stream, const struct comparison *comparison)
{
    fputs("<details>\n<summary>Every pair</summary>\n<div class=\"scroll\"><table class=\"sticky\">\n"
          "<thead><tr><th>difference</th><th>seed</th>",
          stream);
    for (int i = 0; i < comparison->measure_count; i++) {
        fputs("<th>", stream);
        write_title(stream, comparison, comparison->measures[i]);
        fputs("</th>", stream);
    }
    fputs("</tr></thead>\n<tbody>\n", stream);
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        for (int j = 0; j < contrast->pair_count; j++) {
            fputs("<tr>", stream);
            write_contrast_name(stream, comparison, contrast);
            fprintf(stream, "<td>%lld</td>", (long long)contrast->pairs[j].seed);
            for (int k = 0; k < comparison->measure_count; k++) {
                enum measure measure = comparison->measures[k];
                char number[HTML_NUMBER_BYTES];
                fprintf(stream, "<td>%s</td>",
                        html_number(number, contrast->differences[measure][j],
                                    measure_descriptions[measure].decimals, 1));
            }
            fputs("</tr>\n", stream);
        }
    }
    fputs("</tbody></table></div>\n</details>\n", stream);
}

/* `scores` may be NULL. */
static void write_label(FILE *stream, const struct label_scores *scores, enum measure measure)
{
    const bool scored = scores && scores->examples > 0;
    write_number(stream, scored ? 100.0 * scores->values[measure_label(measure)] : (double)NAN,
                 measure_descriptions[measure].decimals);
}

static void write_run(FILE *stream, const struct comparison *comparison, const struct record *record)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    int64_t reached = record_steps_to(record, 0.9);
    char number[HTML_NUMBER_BYTES];
    fputs("<tr>", stream);
    write_name(stream, comparison, comparison_find(comparison, record->arm));
    fprintf(stream, "<td>%lld</td><td>%s</td>", (long long)record->seed, html_count(number, record->done));
    if (comparison->has_problems) {
        if (last)
            fprintf(stream, "<td>%lld</td><td>%s</td>", (long long)last->correct,
                    reached == NOT_REACHED ? "–" : html_count(number, reached));
        else
            fputs("<td>–</td><td>–</td>", stream);
    } else if (comparison->scoring == SCORING_BLEU) {
        const int decimals = measure_descriptions[MEASURE_BLEU].decimals;
        write_number(stream, last && last->translated > 0 ? last->bleu : (double)NAN, decimals);
        write_number(stream, last && last->test_translated > 0 ? last->test_bleu : (double)NAN, decimals);
    } else if (comparison->examples) {
        const enum measure measure = comparison_label_measure(comparison);
        write_label(stream, last ? &last->labels : NULL, measure);
        write_label(stream, last ? &last->test_labels : NULL, measure);
    } else {
        write_number(stream, record_measure(record, MEASURE_VALIDATION_LOSS_AREA),
                     measure_descriptions[MEASURE_VALIDATION_LOSS_AREA].decimals);
    }
    write_number(stream, last ? last->loss : (double)NAN,
                 measure_descriptions[MEASURE_VALIDATION_LOSS].decimals);
    const char *end = record->diverged ? "diverged" : record_finished(record) ? "finished" : "unfinished";
    fprintf(stream, "<td>%s</td></tr>\n", end);
}

void page_runs(FILE *stream, const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    char problems[HTML_NUMBER_BYTES];
    fprintf(stream, "<details>\n"
                    "<summary>Every run</summary>\n"
                    "<div class=\"scroll\"><table class=\"sticky\">\n");
    write_heading(stream, comparison);
    fputs("<th>seed</th><th>steps</th>", stream);
    if (comparison->has_problems)
        fprintf(stream, "<th>correct of %s</th><th>steps to 90%%</th>",
                html_count(problems, comparison->problems));
    else if (comparison->scoring == SCORING_BLEU)
        fputs("<th>BLEU, validation</th><th>BLEU, test</th>", stream);
    else if (comparison->examples)
        fputs("<th>score, validation</th><th>score, test</th>", stream);
    else
        fputs("<th>loss, mean over training</th>", stream);
    fputs("<th>validation loss</th><th></th></tr></thead>\n<tbody>\n", stream);
    for (int i = 0; i < collection->record_count; i++)
        write_run(stream, comparison, &collection->records[i]);
    fputs("</tbody></table></div>\n</details>\n", stream);
}

/* The run of arm `name` with the seed of `first`: their answers are shown side by side. */
static const struct record *partner_of(const struct collection *collection, const struct record *first,
                                       const char *name)
{
    for (int i = 0; i < collection->record_count; i++) {
        const struct record *record = &collection->records[i];
        if (record->sample_count && record->seed == first->seed && strcmp(record->arm, name) == 0)
            return record;
    }
    return NULL;
}

static void write_answer(FILE *stream, const struct comparison *comparison, int index,
                         const struct record_sample *sample)
{
    fprintf(stream, "<p class=\"answer\"><span class=\"who %s\">", svg_arm_class(index));
    html_text(stream, comparison->arms[index].name);
    fputs(
        comparison->scoring == SCORING_BLEU ? "</span><b></b><code>"
        : sample->correct
            ? "</span><b class=\"correct\" role=\"img\" aria-label=\"correct\">✓</b><code class=\"correct\">"
            : "</span><b class=\"incorrect\" role=\"img\" aria-label=\"incorrect\">✗</b><code "
              "class=\"incorrect\">",
        stream);
    html_text(stream, *sample->generated ? sample->generated : "(nothing)");
    fputs("</code></p>\n", stream);
}

static void write_sample(FILE *stream, const struct collection *collection, const struct record *first,
                         int64_t at)
{
    const struct comparison *comparison = collection->comparison;
    const struct record_sample *sample = &first->samples[at];
    fputs("<div class=\"card sample\">\n<p class=\"prompt\"><code>", stream);
    html_text(stream, sample->prompt);
    fputs("</code></p>\n<p class=\"answer reference\"><span>reference</span><b></b><code>", stream);
    html_text(stream, sample->answer);
    fputs("</code></p>\n", stream);
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct record *record = partner_of(collection, first, comparison->arms[i].name);
        if (record && at < record->sample_count && strcmp(record->samples[at].prompt, sample->prompt) == 0)
            write_answer(stream, comparison, i, &record->samples[at]);
    }
    fputs("</div>\n", stream);
}

void page_samples(FILE *stream, const struct collection *collection)
{
    const struct record *first = NULL;
    for (int i = 0; i < collection->record_count && !first; i++)
        if (collection->records[i].sample_count)
            first = &collection->records[i];
    if (!first)
        return;
    fprintf(stream,
            "<h2>Problems and answers</h2>\n"
            "<p class=\"note\">The first problems of the last evaluation with seed %lld, and what the "
            "model%s generated.</p>\n"
            "<section class=\"grid2\">\n",
            (long long)first->seed, collection->comparison->arm_count > 1 ? "s" : "");
    for (int64_t i = 0; i < first->sample_count; i++)
        write_sample(stream, collection, first, i);
    fputs("</section>\n", stream);
}

/* Whether record `index` is the first with this value of the key. */
static bool is_new_value(const struct collection *collection, int index, const char *key, const json_t *value)
{
    for (int i = 0; i < index; i++)
        if (json_equal(json_object_get(collection->records[i].config, key), value))
            return false;
    return true;
}

/* The distinct values of a key over all runs. */
static void write_values(FILE *stream, const struct collection *collection, const char *key)
{
    const char *separator = "";
    for (int i = 0; i < collection->record_count; i++) {
        const json_t *value = json_object_get(collection->records[i].config, key);
        if (!value || !is_new_value(collection, i, key, value))
            continue;
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
        fputs(separator, stream);
        html_text(stream, json_is_string(value) ? json_string_value(value) : text ? text : "");
        free(text);
        separator = ", ";
    }
}

void page_configuration(FILE *stream, const struct collection *collection)
{
    if (!collection->record_count)
        return;
    json_t *config = collection->records[0].config, *value;
    const char *key;
    fputs("<details>\n"
          "<summary>Configuration</summary>\n"
          "<div class=\"scroll\"><table class=\"settings\"><tbody>\n",
          stream);
    json_object_foreach (config, key, value) {
        fputs("<tr><th scope=\"row\">", stream);
        html_text(stream, key);
        fputs("</th><td>", stream);
        write_values(stream, collection, key);
        fputs("</td></tr>\n", stream);
    }
    fputs("</tbody></table></div>\n</details>\n", stream);
}
