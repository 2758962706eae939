/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the page that are tables.
 */
#include "report/cost.h"
#include "report/findings.h"
#include "report/html.h"
#include "report/interval_text.h"
#include "report/lengths.h"
#include "report/page.h"
#include "report/prediction/predictions.h"
#include "report/prediction/sentences.h"
#include "report/text_scores.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "550 (3 of 3)": the median of the steps, and how many of the runs reached the goal; "> 600 (1 of 3)" if
 * half of the runs or more did not reach it within `steps`. */
static void write_reached(struct page_table *table, const struct reached *reached, int64_t steps)
{
    char number[HTML_NUMBER_BYTES];
    if (!reached->count)
        page_table_cell(table, "–");
    else if (isinf(reached->median))
        page_table_cell(table, "> %s (%d of %d)", html_count(number, steps), reached->reached,
                        reached->count);
    else
        page_table_cell(table, "%s (%d of %d)", html_count(number, (int64_t)reached->median),
                        reached->reached, reached->count);
}

static const char *title_of(char title[PAGE_TITLE_BYTES], const struct comparison *comparison,
                            enum measure measure, bool primary)
{
    const char *after = primary ? " (primary)" : "";
    char problems[HTML_NUMBER_BYTES];
    if (measure == MEASURE_EXACT_MATCH)
        snprintf(title, PAGE_TITLE_BYTES, "Exact match, %% of %s problems%s",
                 html_count(problems, comparison->problems), after);
    else
        snprintf(title, PAGE_TITLE_BYTES, "%c%s%s",
                 toupper((unsigned char)measure_descriptions[measure].title[0]),
                 measure_descriptions[measure].title + 1, after);
    return title;
}

static void write_statistics(struct page_table *table, const struct comparison *comparison, int at)
{
    const enum measure measure = comparison->measures[at];
    const int decimals = measure_descriptions[measure].decimals;
    const bool times = measure == MEASURE_STEPS_TO_90;
    const char *const heads[] = {
        arm_heading(comparison), "runs", "mean", "median", "st. dev.", "min", "max", "w/o worst",
        "median (reached)"};
    char title[PAGE_TITLE_BYTES];
    page_table_begin(table, title_of(title, comparison, measure, at == 0), heads, 8 + times);
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct comparison_arm *arm = &comparison->arms[i];
        const struct statistics *statistics = &arm->statistics[measure];
        page_table_row(table, i, arm->name);
        page_table_cell(table, "%d", statistics->count);
        page_table_number(table, statistics->mean, decimals);
        page_table_number(table, statistics->median, decimals);
        page_table_number(table, statistics->deviation, decimals);
        page_table_number(table, statistics->min, decimals);
        page_table_number(table, statistics->max, decimals);
        page_table_number(table, statistics->without_worst, decimals);
        if (times)
            write_reached(table, &arm->reached, comparison->steps);
    }
    predictions_rows(table, comparison, measure);
    page_table_end(table);
}

static void write_contrast(struct page_table *table, const struct comparison *comparison,
                           const struct contrast *contrast, int at)
{
    const enum measure measure = comparison->measures[at];
    const int decimals = measure_descriptions[measure].decimals;
    const struct paired_difference *difference = &contrast->difference[measure];
    char level[SHORT_NUMBER_BYTES], interval[INTERVAL_BYTES];
    page_table_contrast(table, comparison, contrast->arm, comparison->arms[contrast->baseline].name);
    page_table_cell(table, "%d", difference->count);
    page_table_cell(table, "%s", difference_html(interval, difference, decimals));
    page_table_cell(table, "%s", isnan(difference->low) ? "–" : level_text(level, difference->level));
    page_table_number(table, difference->count ? difference->deviation : (double)NAN, decimals);
    page_table_p(table, difference->sign_flip_p);
    page_table_p(table, difference->count ? difference->sign_flip_min_p : (double)NAN);
    if (comparison->contrast_count > 1)
        page_table_p(table, at == 0 ? contrast->adjusted_p : (double)NAN);
    if (comparison->has_problems && measure == MEASURE_STEPS_TO_90)
        page_table_cell(table, "%d", contrast->censored);
    else if (comparison->has_problems)
        page_table_cell(table, "–");
}

static void write_differences(struct page_table *table, const struct comparison *comparison)
{
    const char *heads[9] = {"difference", "pairs", "mean [interval]", "level", "st. dev.", "p", "least p"};
    char title[PAGE_TITLE_BYTES];
    int columns = 7;
    if (comparison->contrast_count > 1)
        heads[columns++] = "joint p";
    if (comparison->has_problems)
        heads[columns++] = "censored";
    page_table_begin(table, "Paired differences", heads, columns);
    for (int i = 0; i < comparison->measure_count; i++) {
        page_table_part(table, title_of(title, comparison, comparison->measures[i], i == 0));
        for (int j = 0; j < comparison->contrast_count; j++)
            write_contrast(table, comparison, &comparison->contrasts[j], i);
    }
    page_table_end(table);
}

void page_verdicts(struct page_table *table, const struct comparison *comparison)
{
    const enum measure measure = comparison->measures[0];
    const char *const heads[] = {"difference", "verdict",   "mean [interval]",
                                 "median",     "better in", "joint p"};
    const int sign = measure_descriptions[measure].better == HIGHER_IS_BETTER ? 1 : -1;
    char title[PAGE_TITLE_BYTES], interval[INTERVAL_BYTES], number[HTML_NUMBER_BYTES];
    snprintf(title, sizeof title, "Verdicts: %s", measure_descriptions[measure].title);
    page_table_begin(table, title, heads, 6);
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        const struct paired_difference *difference = &contrast->difference[measure];
        const int decimals = measure_descriptions[measure].decimals;
        page_table_contrast(table, comparison, contrast->arm, comparison->arms[contrast->baseline].name);
        page_table_cell(table, "%s", verdict_word(comparison, contrast));
        page_table_cell(table, "%s", difference_html(interval, difference, decimals));
        page_table_cell(
            table, "%s",
            html_number(number, difference->count ? difference->median : (double)NAN, decimals, 1));
        page_table_cell(table, "%d of %d", contrast_count_pairs(contrast, measure, sign),
                        contrast->pair_count);
        page_table_p(table, contrast->adjusted_p);
    }
    page_table_end(table);
}

static void write_pairs(struct page_table *table, const struct comparison *comparison)
{
    char titles[MEASURES][PAGE_TITLE_BYTES], number[HTML_NUMBER_BYTES];
    const char *heads[2 + MEASURES] = {"difference", "seed"};
    for (int i = 0; i < comparison->measure_count; i++)
        heads[2 + i] = title_of(titles[i], comparison, comparison->measures[i], false);
    page_table_begin_folded(table, "Every pair", heads, 2 + comparison->measure_count);
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        for (int j = 0; j < contrast->pair_count; j++) {
            page_table_contrast(table, comparison, contrast->arm, comparison->arms[contrast->baseline].name);
            page_table_cell(table, "%lld", (long long)contrast->pairs[j].seed);
            for (int k = 0; k < comparison->measure_count; k++) {
                const enum measure measure = comparison->measures[k];
                page_table_cell(table, "%s",
                                html_number(number, contrast->differences[measure][j],
                                            measure_descriptions[measure].decimals, 1));
            }
        }
    }
    page_table_end(table);
}

/* `scores` may be NULL. */
static void write_label(struct page_table *table, const struct label_scores *scores, enum measure measure)
{
    const bool scored = scores && scores->examples > 0;
    page_table_number(table, scored ? 100.0 * scores->values[measure_label(measure)] : (double)NAN,
                      measure_descriptions[measure].decimals);
}

/* The two numbers of a run that its scoring has. */
static void write_scores(struct page_table *table, const struct comparison *comparison,
                         const struct record *record)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    const int64_t reached = record_steps_to(record, 0.9);
    char number[HTML_NUMBER_BYTES];
    if (comparison->has_problems) {
        page_table_cell(table, "%s", last ? html_count(number, last->correct) : "–");
        page_table_cell(table, "%s", last && reached != NOT_REACHED ? html_count(number, reached) : "–");
    } else if (comparison->scoring == SCORING_BLEU) {
        const int decimals = measure_descriptions[MEASURE_BLEU].decimals;
        page_table_number(table, last && last->translated > 0 ? last->bleu : (double)NAN, decimals);
        page_table_number(table, last && last->test_translated > 0 ? last->test_bleu : (double)NAN, decimals);
    } else if (comparison->examples) {
        const enum measure measure = comparison_label_measure(comparison);
        write_label(table, last ? &last->labels : NULL, measure);
        write_label(table, last ? &last->test_labels : NULL, measure);
    } else {
        page_table_number(table, record_measure(record, MEASURE_VALIDATION_LOSS_AREA),
                          measure_descriptions[MEASURE_VALIDATION_LOSS_AREA].decimals);
    }
}

static void write_run(struct page_table *table, const struct comparison *comparison,
                      const struct record *record)
{
    const struct record_evaluation *last = record_last_evaluation(record);
    char number[HTML_NUMBER_BYTES];
    page_table_row(table, comparison_find(comparison, record->arm), record->arm);
    page_table_cell(table, "%lld", (long long)record->seed);
    page_table_cell(table, "%s", html_count(number, record->done));
    write_scores(table, comparison, record);
    page_table_number(table, last ? last->loss : (double)NAN,
                      measure_descriptions[MEASURE_VALIDATION_LOSS].decimals);
    page_table_cell(table, "%s",
                    record->diverged          ? "diverged"
                    : record_finished(record) ? "finished"
                                              : "unfinished");
}

static void write_runs(struct page_table *table, const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    const char *heads[8] = {arm_heading(comparison), "seed", "steps"};
    char problems[HTML_NUMBER_BYTES], correct[PAGE_TITLE_BYTES];
    int columns = 3;
    if (comparison->has_problems) {
        snprintf(correct, sizeof correct, "correct of %s", html_count(problems, comparison->problems));
        heads[columns++] = correct;
        heads[columns++] = "steps to 90%";
    } else if (comparison->scoring == SCORING_BLEU) {
        heads[columns++] = "BLEU, validation";
        heads[columns++] = "BLEU, test";
    } else if (comparison->examples) {
        heads[columns++] = "score, validation";
        heads[columns++] = "score, test";
    } else {
        heads[columns++] = "loss, mean over training";
    }
    heads[columns++] = "validation loss";
    heads[columns++] = "status";
    page_table_begin_folded(table, "Every run", heads, columns);
    for (int i = 0; i < collection->record_count; i++)
        write_run(table, comparison, &collection->records[i]);
    page_table_end(table);
}

bool page_has_pairs(const struct comparison *comparison)
{
    for (int i = 0; i < comparison->contrast_count; i++)
        if (comparison->contrasts[i].pair_count)
            return true;
    return false;
}

/* A paper has no table of every pair or run. */
void page_tables(struct page_table *table, const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    for (int i = 0; i < comparison->measure_count; i++)
        write_statistics(table, comparison, i);
    if (page_has_pairs(comparison)) {
        write_differences(table, comparison);
        if (!table->latex)
            write_pairs(table, comparison);
    }
    if (text_scores_are_known(comparison))
        text_scores_table(table, comparison);
    if (cost_is_known(comparison))
        cost_table(table, comparison);
    if (lengths_are_known(comparison))
        lengths_table(table, comparison);
    sentences_table(table, comparison);
    predictions_table(table, comparison);
    if (!table->latex)
        write_runs(table, collection);
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
          "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"Configuration\"><table "
          "class=\"settings\"><tbody>\n",
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
