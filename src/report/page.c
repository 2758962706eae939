/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include "report/chart/svg.h"
#include "report/html.h"
#include "report/interval_text.h"
#include "report/made_by.h"
#include "report/prediction/predictions.h"
#include "report/prediction/sentences.h"
#include "report/style.h"

#include <math.h>
#include <rotary/version.h>
#include <stdlib.h>
#include <string.h>

/* More letters do not fit a heading. */
enum { HEADING_LETTERS = 60 };
/* More arms have a table of verdicts instead of a card for each, and their answers folded up. */
enum { MAX_CARD_ARMS = 4 };

/* "rope", "rope and roper", "none, rope and roper"; "14 position encodings" or "norm, value_fraction" where
 * the names are too long. */
static void write_names(FILE *stream, const struct comparison *comparison)
{
    size_t letters = 0;
    for (int i = 0; i < comparison->arm_count; i++)
        letters += strlen(comparison->arms[i].name);
    if (letters > HEADING_LETTERS && comparison->arm_count > 1) {
        if (strcmp(comparison->varied, "position") == 0)
            fprintf(stream, "%d position encodings", comparison->arm_count);
        else
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
    fputs("</title>\n", stream);
    style_write(stream);
    fputs("</head>\n", stream);
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
        "<p class=\"card banner\">%d of %d runs %s finished. Unfinished runs are drawn dotted and are in no "
        "number.</p>\n",
        finished, collection->planned, finished == 1 ? "is" : "are");
}

static void write_banner(FILE *stream, const char *before, const char *sentence)
{
    fprintf(stream, "<p class=\"card banner\">%s", before);
    html_sentence(stream, sentence);
    fputs(".</p>\n", stream);
}

static void write_notes(FILE *stream, const struct page *page)
{
    const struct sentences *notes = &page->findings.notes;
    if (notes->count == 0)
        return;
    fputs("<ul class=\"card banner\">\n", stream);
    for (int i = 0; i < notes->count; i++) {
        fputs("<li>", stream);
        html_sentence(stream, notes->items[i]);
        fputs(".</li>\n", stream);
    }
    fputs("</ul>\n", stream);
}

/* The measures that do not decide: their differences, without a verdict. */
static void write_secondary(FILE *stream, const struct comparison *comparison,
                            const struct contrast *contrast)
{
    char p[SHORT_NUMBER_BYTES], interval[INTERVAL_BYTES];
    for (int i = 1; i < comparison->measure_count && contrast->pair_count; i++) {
        enum measure measure = comparison->measures[i];
        fprintf(stream, "<p class=\"secondary\">%s: %s, p ", measure_descriptions[measure].title,
                difference_html(interval, &contrast->difference[measure],
                                measure_descriptions[measure].decimals));
        html_text(stream, p_html(p, contrast->difference[measure].sign_flip_p));
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
    html_sentence(stream, page->findings.verdicts.items[index]);
    fputs(".</p>\n", stream);
    if (*page->findings.powers.items[index]) {
        fputs("<p class=\"secondary\">", stream);
        html_sentence(stream, page->findings.powers.items[index]);
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

static void take_html(void *context, const struct page_figure *figure)
{
    figure_html(context, figure);
}

/* More arms than cards are for have the table, and below it each sentence. */
static void write_verdicts(FILE *stream, const struct page *page)
{
    struct page_table table = {.stream = stream};
    page_verdicts(&table, page->collection->comparison);
    fputs("<details>\n<summary>Verdicts in words</summary>\n<ul class=\"note\">\n", stream);
    for (int i = 0; i < page->findings.verdicts.count; i++) {
        fputs("<li>", stream);
        html_sentence(stream, page->findings.verdicts.items[i]);
        fputs(".", stream);
        if (*page->findings.powers.items[i]) {
            fputc(' ', stream);
            html_sentence(stream, page->findings.powers.items[i]);
            fputs(".", stream);
        }
        fputs("</li>\n", stream);
    }
    fputs("</ul>\n</details>\n", stream);
}

static void write_cards(FILE *stream, const struct page *page)
{
    const struct comparison *comparison = page->collection->comparison;
    fputs("<section class=\"grid2\">\n", stream);
    if (comparison->arm_count == 1)
        write_score(stream, comparison);
    for (int i = 0; i < comparison->contrast_count; i++)
        write_verdict(stream, page, i);
    fputs("</section>\n", stream);
}

static void write_findings(FILE *stream, const struct page *page)
{
    const struct comparison *comparison = page->collection->comparison;
    fputs("<h2>Results</h2>\n", stream);
    page_forest(&(struct figure_taker){take_html, stream}, page);
    if (comparison->arm_count > MAX_CARD_ARMS && comparison->contrast_count > 0)
        write_verdicts(stream, page);
    else
        write_cards(stream, page);
}

/* The legend of all charts, whose entries the page's script makes into buttons. */
static void write_legend(FILE *stream, const struct comparison *comparison)
{
    if (comparison->arm_count < 2)
        return;
    fputs("<ul class=\"legend\" aria-label=\"legend\">\n", stream);
    for (int i = 0; i < comparison->arm_count; i++) {
        fprintf(stream,
                "<li class=\"%s\" data-arm=\"%d\"><svg class=\"swatch\" viewBox=\"0 0 40 14\" "
                "aria-hidden=\"true\">"
                "<path class=\"curve bold %s\" d=\"M1 7L39 7\"/>\n",
                svg_arm_class(i), i % SVG_ARMS, svg_dash_class(i));
        svg_marker(stream, i, 20, 7, 9, NULL);
        fputs("</svg> <span>", stream);
        html_text(stream, comparison->arms[i].name);
        fputs("</span></li>\n", stream);
    }
    fputs("</ul>\n", stream);
}

static void write_charts(FILE *stream, const struct page *page)
{
    fputs("<h2>Curves</h2>\n<div class=\"with-legend\">\n", stream);
    write_legend(stream, page->collection->comparison);
    fputs("<section class=\"charts\">\n", stream);
    page_charts(&(struct figure_taker){take_html, stream}, page);
    fputs("</section>\n</div>\n", stream);
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
                   "Diverged runs are drawn dotted and are in no mean. In its pair such a run has the "
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
    const bool folded = page->collection->comparison->arm_count > MAX_CARD_ARMS;
    if (sentences && sentences->count)
        sentences_samples(stream, page->collection->comparison, folded);
    else
        page_samples(stream, page->collection, folded);
}

static void write_footer(FILE *stream, const struct page *page)
{
    fputs("<footer class=\"note\">Written by rotary ", stream);
    html_text(stream, rotary_version());
    if (page->commit) {
        fputs(", commit ", stream);
        made_by_commit(stream, page->commit);
    }
    fprintf(stream,
            ", on %s from the records of the runs. This page loads nothing from elsewhere.</footer>\n",
            page->date);
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
    if (page_has_curves(page))
        write_charts(stream, page);
    fputs("<h2>Numbers</h2>\n", stream);
    page_tables(&(struct page_table){.stream = stream}, collection);
    write_samples(stream, page);
    decay_section(stream, collection->comparison, &page->decays);
    write_heatmap(stream, page);
    write_making(stream, page);
    write_footer(stream, page);
    fprintf(stream, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", page_script);
}
