/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include "report/chart/charts.h"
#include "report/chart/position_chart.h"
#include "report/chart/svg.h"
#include "report/cost.h"
#include "report/html.h"
#include "report/lengths.h"
#include "report/made_by.h"
#include "report/prediction/predictions.h"
#include "report/prediction/sentences.h"
#include "report/style.h"
#include "report/text_scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More letters do not fit a heading. */
enum { HEADING_LETTERS = 60 };

/* "rope", "rope and roper", "none, rope and roper"; "norm, value_fraction" where the names are too long. */
static void write_names(FILE *stream, const struct comparison *comparison)
{
    size_t letters = 0;
    for (int i = 0; i < comparison->arm_count; i++)
        letters += strlen(comparison->arms[i].name);
    if (letters > HEADING_LETTERS && comparison->arm_count > 1) {
        html_text(stream, comparison->varied);
        return;
    }
    for (int i = 0; i < comparison->arm_count; i++) {
        if (i > 0)
            fputs(i == comparison->arm_count - 1 ? " and " : ", ", stream);
        html_text(stream, comparison->arms[i].name);
    }
}

static const char *task_of(const struct collection *collection)
{
    if (collection->record_count)
        return collection->records[0].task;
    const char *task =
        json_string_value(json_object_get(json_object_get(collection->description, "config"), "task"));
    return task ? task : "";
}

static void write_head(FILE *stream, const struct collection *collection)
{
    fputs("<!DOCTYPE html>\n"
          "<html lang=\"en\">\n"
          "<head>\n"
          "<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n"
          "<title>",
          stream);
    write_names(stream, collection->comparison);
    fputs(": ", stream);
    html_text(stream, task_of(collection));
    fprintf(stream, "</title>\n<style>\n%s</style>\n</head>\n", page_style);
}

static void write_lede(FILE *stream, const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    char steps[HTML_NUMBER_BYTES], problems[HTML_NUMBER_BYTES];
    fprintf(stream, "<p class=\"lede\">");
    if (collection->planned == 1)
        fprintf(stream, "One run of %s steps.", html_count(steps, comparison->steps));
    else
        fprintf(stream, "%d runs of %s steps each", collection->planned,
                html_count(steps, comparison->steps));
    if (collection->planned != 1 && !comparison->unlike) {
        fputs(", alike but for their ", stream);
        html_text(stream, strcmp(comparison->varied, "position") ? comparison->varied : "position encoding");
        fputs(json_object_get(collection->description, "sweep")
                  ? ", what a sweep chose for each, and their seed"
                  : " and their seed",
              stream);
    }
    if (collection->planned != 1)
        fputc('.', stream);
    if (comparison->has_problems)
        fprintf(stream, " Evaluated on %s problems that never occur in training.",
                html_count(problems, comparison->problems));
    fprintf(stream, "</p>\n");
}

static void write_progress(FILE *stream, const struct collection *collection)
{
    int finished = collection->planned - collection->comparison->unfinished;
    if (finished == collection->planned)
        return;
    fprintf(
        stream,
        "<p class=\"card banner\">%d of %d runs %s finished. Unfinished runs are drawn dashed and are in no "
        "number.</p>\n",
        finished, collection->planned, finished == 1 ? "is" : "are");
}

static void write_banner(FILE *stream, const char *before, const char *sentence)
{
    fprintf(stream, "<p class=\"card banner\">%s", before);
    html_text(stream, sentence);
    fputs(".</p>\n", stream);
}

static void write_notes(FILE *stream, const struct page *page)
{
    for (int i = 0; i < page->findings.notes.count; i++)
        write_banner(stream, "", page->findings.notes.items[i]);
}

/* The measures that do not decide: their differences, without a verdict. */
static void write_secondary(FILE *stream, const struct comparison *comparison,
                            const struct contrast *contrast)
{
    char p[SHORT_NUMBER_BYTES];
    for (int i = 1; i < comparison->measure_count && contrast->pair_count; i++) {
        enum measure measure = comparison->measures[i];
        fprintf(stream, "<p class=\"secondary\">%s: ", measure_descriptions[measure].title);
        page_difference(stream, &contrast->difference[measure], measure_descriptions[measure].decimals);
        fputs(", p ", stream);
        html_text(stream, p_text(p, contrast->difference[measure].sign_flip_p));
        if (measure == MEASURE_STEPS_TO_90 && contrast->censored)
            fprintf(stream, "; %d of %d pairs are censored", contrast->censored, contrast->pair_count);
        fputs("</p>\n", stream);
    }
}

static void write_verdict(FILE *stream, const struct page *page, int index)
{
    const struct comparison *comparison = page->collection->comparison;
    const struct contrast *contrast = &comparison->contrasts[index];
    enum measure measure = comparison->measures[0];
    const struct paired_difference *difference = &contrast->difference[measure];
    char number[HTML_NUMBER_BYTES];

    fprintf(stream, "<div class=\"card verdict %s\">\n<p class=\"eyebrow\">", svg_arm_class(contrast->arm));
    html_text(stream, comparison->arms[contrast->arm].name);
    fputs(" against ", stream);
    html_text(stream, comparison->arms[contrast->baseline].name);
    fputs("</p>\n<p class=\"big\">", stream);
    if (comparison_decide(comparison, contrast) == VERDICT_TOO_SHORT)
        fputs(verdict_words[VERDICT_TOO_SHORT], stream);
    else if (difference->count && !isnan(difference->mean))
        fprintf(stream, "%s <small>%s</small>",
                html_number(number, difference->mean, measure_descriptions[measure].decimals, 1),
                measure_descriptions[measure].unit);
    else
        fputs("no verdict", stream);
    fputs("</p>\n<p>", stream);
    html_text(stream, page->findings.verdicts.items[index]);
    fputs(".</p>\n", stream);
    if (*page->findings.powers.items[index]) {
        fputs("<p class=\"secondary\">", stream);
        html_text(stream, page->findings.powers.items[index]);
        fputs(".</p>\n", stream);
    }
    sentences_card(stream, comparison, contrast);
    predictions_card(stream, comparison, contrast);
    write_secondary(stream, comparison, contrast);
    fputs("</div>\n", stream);
}

/* A single arm has a score, but no verdict. */
static void write_score(FILE *stream, const struct comparison *comparison)
{
    enum measure measure = comparison->measures[0];
    const struct statistics *statistics = &comparison->arms[0].statistics[measure];
    if (!statistics->count)
        return;
    char number[HTML_NUMBER_BYTES];
    fprintf(stream, "<div class=\"card verdict e0\">\n<p class=\"eyebrow\">");
    html_text(stream, comparison->arms[0].name);
    if (statistics->count > 1)
        fprintf(stream, ", mean of %d runs", statistics->count);
    fprintf(stream, "</p>\n<p class=\"big\">%s <small>%s</small></p>\n</div>\n",
            html_number(number, statistics->mean, measure_descriptions[measure].decimals, 0),
            measure == MEASURE_EXACT_MATCH ? "% exact match" : measure_descriptions[measure].unit);
}

static void write_findings(FILE *stream, const struct page *page)
{
    const struct comparison *comparison = page->collection->comparison;
    fputs("<section class=\"grid2\">\n", stream);
    if (comparison->arm_count == 1)
        write_score(stream, comparison);
    for (int i = 0; i < comparison->contrast_count; i++)
        write_verdict(stream, page, i);
    fputs("</section>\n", stream);
}

static void open_figure(FILE *stream, const char *title)
{
    fprintf(stream, "<figure class=\"card\">\n<h3>%s</h3>\n", title);
}

static void close_figure(FILE *stream, const char *caption)
{
    fprintf(stream, "<figcaption>%s</figcaption>\n</figure>\n", caption);
}

static void write_curves_from(FILE *stream, const struct page *page, const struct series *series,
                              enum series_kind kind, int64_t first, const char *title, const char *caption)
{
    open_figure(stream, title);
    chart_curves(stream, page->collection->comparison, series, kind, first);
    fprintf(stream, "<figcaption>%s%s</figcaption>\n</figure>\n", caption,
            page->collection->record_count > 1 ? " Thin: runs. Bold: mean." : "");
}

static void write_curves(FILE *stream, const struct page *page, const struct series *series,
                         enum series_kind kind, const char *title, const char *caption)
{
    if (chart_has_curves(series, 0, 1))
        write_curves_from(stream, page, series, kind, 0, title, caption);
}

/* A loss; and where it decides, its second half by itself too, whose differences the whole scale hides. */
static void write_losses(FILE *stream, const struct page *page, const struct series *series,
                         enum series_kind kind, const char *title, const char *caption)
{
    const struct comparison *comparison = page->collection->comparison;
    const int64_t half = comparison->steps / 2;
    char second[64];
    write_curves(stream, page, series, kind, title, caption);
    if (measure_descriptions[comparison->measures[0]].scoring != SCORING_LOSS ||
        !chart_has_curves(series, half, 3))
        return;
    snprintf(second, sizeof second, "%s, second half", title);
    write_curves_from(stream, page, series, kind, half, second, "The second half of the steps by itself.");
}

static void write_validation(FILE *stream, const struct page *page)
{
    write_losses(stream, page, &page->validation, SERIES_VALIDATION_LOSS, "Validation loss",
                 "On sequences that never occur in training.");
}

static bool has_pairs(const struct comparison *comparison)
{
    for (int i = 0; i < comparison->contrast_count; i++)
        if (comparison->contrasts[i].pair_count)
            return true;
    return false;
}

static bool has_several_scores(const struct comparison *comparison)
{
    int runs = 0;
    for (int i = 0; i < comparison->arm_count; i++)
        runs += comparison->arms[i].run_count;
    return runs > 1;
}

static void write_costs(FILE *stream, const struct comparison *comparison)
{
    open_figure(stream, "Score and time");
    chart_cost(stream, comparison, COST_TIME);
    close_figure(stream, "The mean score, and the time of a step beside that of the first arm.");
    open_figure(stream, "Score and parameters");
    chart_cost(stream, comparison, COST_PARAMETERS);
    close_figure(stream, "The mean score, and the numbers of the model that are trained.");
}

static void write_charts(FILE *stream, const struct page *page)
{
    const struct comparison *comparison = page->collection->comparison;
    enum measure measure = comparison->measures[0];
    fputs("<h2>Curves</h2>\n<section class=\"charts\">\n", stream);
    if (comparison->scoring == SCORING_EXACT_MATCH)
        write_curves(stream, page, &page->scores, SERIES_EXACT_MATCH, "Exact match",
                     "Percent of the problems with an exactly correct answer. Dotted: 90%.");
    else if (comparison->scoring == SCORING_BLEU)
        write_curves(stream, page, &page->scores, SERIES_BLEU, "BLEU",
                     "Of sentences that never occur in training, translated greedily.");
    else if (comparison->examples)
        write_curves(stream, page, &page->scores, SERIES_LABELS, "Score of the labels",
                     "On the validation set, whichever set decides at the end.");
    else
        write_validation(stream, page);
    if (has_several_scores(comparison)) {
        open_figure(stream, "Final scores");
        chart_scores(stream, comparison, measure);
        close_figure(stream, "One mark per run. Solid line: mean. Dashed line: median.");
    }
    if (has_pairs(comparison)) {
        open_figure(stream, "Paired differences");
        chart_differences(stream, comparison, measure);
        close_figure(stream, "One mark per seed: what the arm has minus what its baseline has. Below: their "
                             "mean and its interval.");
    }
    if (cost_is_known(comparison))
        write_costs(stream, comparison);
    if (lengths_are_known(comparison)) {
        open_figure(stream, "Other lengths");
        chart_lengths(stream, comparison);
        close_figure(stream,
                     "The mean score of a problem at the end of so many tokens, or of such sequences. "
                     "Thin: with the rotation scaled.");
    }
    positions_figures(stream, comparison);
    if (comparison->scoring != SCORING_LOSS)
        write_validation(stream, page);
    write_losses(stream, page, &page->training, SERIES_TRAINING_LOSS, "Training loss",
                 "Averaged over bins of steps. The steep beginning lies above the frame.");
    fputs("</section>\n", stream);
}

static void write_numbers(FILE *stream, const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    fputs("<h2>Numbers</h2>\n", stream);
    for (int i = 0; i < comparison->measure_count; i++)
        page_statistics(stream, comparison, comparison->measures[i]);
    if (has_pairs(comparison)) {
        page_differences(stream, comparison);
        page_pairs(stream, comparison);
    }
    if (text_scores_are_known(comparison))
        text_scores_table(stream, comparison);
    if (cost_is_known(comparison))
        cost_table(stream, comparison);
    if (lengths_are_known(comparison))
        lengths_table(stream, comparison);
    sentences_table(stream, comparison);
    predictions_table(stream, comparison);
    page_runs(stream, collection);
}

static void write_item(FILE *stream, const char *text)
{
    fprintf(stream, "<li>%s</li>\n", text);
}

/* How to read the numbers. */
static void write_reading(FILE *stream, const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    if (comparison->contrast_count) {
        write_item(stream,
                   "Runs of the same seed see the same data in the same order, and their parameters of "
                   "the same name and shape start from the same weights. So differences are taken seed "
                   "by seed.");
        write_item(stream, comparison->max_pairs
                               ? "The first measure decides, by a sequential sign-flip test that may be "
                                 "looked at after every seed. The other measures have intervals and p "
                                 "values, but no verdict."
                               : "The first measure decides, by sign flips of the seeds, jointly for all "
                                 "differences: p of at most 0.05, and six pairs or more. The other measures "
                                 "have intervals and p values, but no verdict.");
        write_item(stream,
                   "p: how often the differences would be as far from zero if their signs were random. "
                   "Few pairs cannot give a small one: the least is beside it.");
    }
    if (comparison->family > 1)
        write_item(stream, "Joint p: that of all differences of the first measure together, which decides. "
                           "Its intervals hold for all of them at once.");
    if (comparison->diverged)
        write_item(stream,
                   "Diverged runs are drawn dashed and are in no mean. In its pair such a run has the "
                   "worst score, or the loss before training.");
    if (collection->planned > 1)
        write_item(stream,
                   "W/o worst: the mean without each arm's worst run, which is how the published numbers "
                   "are given.");
    if (comparison->has_problems) {
        write_item(stream, "Exact match: the answer is generated greedily, and every character has to be "
                           "correct.");
        write_item(stream,
                   "Steps to 90%: the first evaluation with at least 90% exact match. A run that never "
                   "reached it counts as its last step; in the median with the number that reached it, as "
                   "slower than any that did.");
        if (comparison->contrast_count)
            write_item(stream, "Censored: pairs of which a run never reached 90%.");
    }
    if (comparison->scoring == SCORING_BLEU)
        write_item(stream, "BLEU: of all translations of the test set together, made greedily at the end of "
                           "each run; of the validation set where there is no test set.");
    if (comparison->examples)
        write_item(stream,
                   "Scores of labels are of the last weights, on the test set where there is one, else on "
                   "the validation set. What a sweep chose was chosen on the validation set.");
}

static void write_choices(FILE *stream, const char *choices)
{
    if (!choices[0])
        return;
    fputs("<p>Chosen for each arm, on seeds of its own:</p>\n<pre>", stream);
    html_text(stream, choices);
    fputs("</pre>\n", stream);
}

static void write_making(FILE *stream, const struct page *page)
{
    const struct collection *collection = page->collection;
    const json_t *commands = json_object_get(collection->description, "commands");
    fputs("<h2>How the runs were made</h2>\n", stream);
    for (size_t i = 0; i < json_array_size(commands); i++) {
        fputs("<pre>", stream);
        html_text(stream, json_string_value(json_object_get(json_array_get(commands, i), "command")));
        fputs("</pre>\n", stream);
    }
    write_choices(stream, page->choices);
    made_by_list(stream, collection->comparison);
    page_configuration(stream, collection);
    fputs("<ul class=\"note\">\n", stream);
    write_reading(stream, collection);
    fputs("</ul>\n", stream);
}

/* Where the page of `rotary heatmap` is, or how it is made. */
static void write_heatmap(FILE *stream, const struct page *page)
{
    if (!page->has_heatmap && (!page->folder || page->collection->comparison->scoring != SCORING_BLEU))
        return;
    fputs("<h2>What heads look at</h2>\n<p class=\"note\">", stream);
    if (page->has_heatmap) {
        fputs("<a href=\"" PAGE_HEATMAP
              "\">Heatmaps of attention</a>, by text, layer and head, and the entropy of "
              "each layer.</p>\n",
              stream);
        return;
    }
    fputs("Maps of attention, and the entropy of each layer over seeds, are made by <code>rotary heatmap ",
          stream);
    html_text(stream, page->folder);
    fputs(" --input FILE</code>. <code>rotary report ", stream);
    html_text(stream, page->folder);
    fputs("</code> then links them here.</p>\n", stream);
}

/* A page of translations has more than the samples of the last evaluation, where it could be read. */
static void write_samples(FILE *stream, const struct page *page)
{
    const struct sentence_scores *sentences = page->collection->sentences;
    if (sentences && sentences->count)
        sentences_samples(stream, page->collection->comparison);
    else
        page_samples(stream, page->collection);
}

void page_write(FILE *stream, const struct page *page)
{
    const struct collection *collection = page->collection;
    write_head(stream, collection);
    fputs("<body>\n<main>\n<p class=\"eyebrow\">rotary, task ", stream);
    html_text(stream, task_of(collection));
    fputs("</p>\n<h1>", stream);
    write_names(stream, collection->comparison);
    fputs("</h1>\n", stream);
    write_lede(stream, collection);
    if (collection->comparison->unlike)
        write_banner(stream, "Not alike: ", collection->comparison->unlike);
    write_progress(stream, collection);
    write_findings(stream, page);
    write_notes(stream, page);
    if (chart_has_curves(&page->training, 0, 1) || chart_has_curves(&page->validation, 0, 1))
        write_charts(stream, page);
    write_numbers(stream, collection);
    write_samples(stream, page);
    decay_section(stream, collection->comparison, &page->decays);
    write_heatmap(stream, page);
    write_making(stream, page);
    fputs("<footer class=\"note\">Made by rotary from the records of the runs. This page loads nothing from "
          "elsewhere.</footer>\n"
          "</main>\n"
          "</body>\n"
          "</html>\n",
          stream);
}
