/* SPDX-License-Identifier: Apache-2.0
 *
 * Baselines and the paired bootstrap over examples on the page.
 */
#include "report/findings.h"
#include "report/html.h"
#include "report/page.h"
#include "report/prediction/predictions.h"
#include "report/resampled_output.h"

#include <math.h>

enum { LINE_BYTES = 128 };

void predictions_card(FILE *stream, const struct comparison *comparison, const struct contrast *contrast)
{
    const struct example_scores *scores = predictions_scores(comparison);
    char what[LINE_BYTES];
    if (!scores || contrast_undiverged(contrast) == 0)
        return;
    const struct resampled_difference *mean = &scores->contrasts[contrast - comparison->contrasts].mean;
    if (isnan(mean->mean))
        return;
    snprintf(what, sizeof what, "%s over examples", measure_descriptions[scores->measure].title);
    resampled_card(stream, what, mean);
}

void predictions_rows(struct page_table *table, const struct comparison *comparison, enum measure measure)
{
    const struct example_scores *scores = predictions_of(comparison, measure);
    for (int i = 0; scores && i < LABEL_BASELINES; i++) {
        page_table_row(table, -1, label_baseline_title(i, scores->choices));
        page_table_cell(table, "–");
        page_table_number(table, scores->baselines[i], measure_descriptions[measure].decimals);
        for (int empty = 0; empty < 5; empty++)
            page_table_cell(table, "–");
    }
}

/* ---- the table ---- */

static void write_cells(struct page_table *table, const struct paired_difference *seeds,
                        const struct resampled_difference *examples)
{
    char text[INTERVAL_BYTES], p[SHORT_NUMBER_BYTES];
    page_table_cell(table, "%s", difference_html(text, seeds, RESAMPLED_DECIMALS));
    if (isnan(examples->mean))
        page_table_cell(table, "–");
    else
        page_table_cell(table, "%s, p %s", resampled_interval_html(text, examples), p_html(p, examples->p));
}

static void write_rows(struct page_table *table, const struct comparison *comparison,
                       const struct example_scores *scores)
{
    for (int i = 0; i < comparison->arm_count; i++)
        for (int j = 0; j < LABEL_BASELINES; j++) {
            const struct beside_baseline *beside = &scores->beside[i * LABEL_BASELINES + j];
            page_table_contrast(table, comparison, i, label_baseline_title(j, scores->choices));
            write_cells(table, &beside->seeds, &beside->examples);
        }
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        page_table_contrast(table, comparison, contrast->arm, comparison->arms[contrast->baseline].name);
        write_cells(table, &contrast->difference[scores->measure], &scores->contrasts[i].mean);
    }
}

void predictions_table(struct page_table *table, const struct comparison *comparison)
{
    static const char *const heads[] = {"difference", "mean [interval over seeds]", "[95% over examples]"};
    const struct example_scores *scores = predictions_scores(comparison);
    char count[HTML_NUMBER_BYTES], caption[2 * LINE_BYTES];
    if (comparison->predictions && comparison->predictions->fault)
        page_table_note(table, "No baselines: %s.", comparison->predictions->fault);
    if (!scores)
        return;
    snprintf(caption, sizeof caption, "Beside the baselines, and over the %s examples of the %s set: %s",
             html_count(count, scores->count), scores->split, measure_descriptions[scores->measure].title);
    page_table_begin(table, caption, heads, 3);
    write_rows(table, comparison, scores);
    page_table_end(table);
    page_table_note(
        table,
        "Majority: the most frequent class of training, or its mean number. %s A baseline is one number, so "
        "that the interval over seeds is that of the arm’s runs alone: what other seeds would give on these "
        "examples. Over examples, by %d samples drawn with replacement, it is what other examples would give "
        "with these very models. An arm beats a baseline where both lie above zero.",
        scores->choices ? "TF-IDF: the choice that is most similar to the text."
                        : "Bag of words: a linear model of the words of the training texts.",
        (int)EXAMPLE_SAMPLES);
}
