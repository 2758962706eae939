/* SPDX-License-Identifier: Apache-2.0
 *
 * The paired bootstrap over sentences on the page, and translations side by side.
 */
#include "report/chart/svg.h"
#include "report/html.h"
#include "report/page.h"
#include "report/prediction/sentences.h"
#include "report/resampled_output.h"

#include <string.h>

enum { CAPTION_BYTES = 160 };

void sentences_card(FILE *stream, const struct comparison *comparison, const struct contrast *contrast)
{
    const struct sentence_scores *scores = sentences_scores(comparison);
    if (!scores || contrast_undiverged(contrast) == 0)
        return;
    resampled_card(stream, "BLEU over sentences", &scores->contrasts[contrast - comparison->contrasts].mean);
}

/* ---- the table ---- */

static void write_row(struct page_table *table, const struct comparison *comparison,
                      const struct contrast *contrast, const char *seed,
                      const struct resampled_difference *difference)
{
    char text[INTERVAL_BYTES];
    page_table_contrast(table, comparison, contrast->arm, comparison->arms[contrast->baseline].name);
    page_table_cell(table, "%s", seed);
    page_table_cell(table, "%s", resampled_html(text, difference));
    page_table_p(table, difference->p);
}

static void write_contrast(struct page_table *table, const struct comparison *comparison, int index)
{
    const struct contrast *contrast = &comparison->contrasts[index];
    const struct resampled_contrast *found = &comparison->sentences->contrasts[index];
    char text[INTERVAL_BYTES];
    if (contrast_undiverged(contrast) == 0)
        return;
    page_table_part(table, NULL);
    for (int i = 0; i < contrast->pair_count; i++) {
        snprintf(text, sizeof text, "%lld", (long long)contrast->pairs[i].seed);
        write_row(table, comparison, contrast, text, &found->pairs[i]);
        page_table_cell(table, "%s", "");
    }
    snprintf(text, sizeof text, "mean of %d", contrast_undiverged(contrast));
    write_row(table, comparison, contrast, text, &found->mean);
    page_table_cell(table, "%s",
                    difference_html(text, &contrast->difference[MEASURE_BLEU], RESAMPLED_DECIMALS));
}

void sentences_table(struct page_table *table, const struct comparison *comparison)
{
    static const char *const heads[] = {"difference", "seed", "mean [95% over sentences]", "p",
                                        "mean [interval over seeds]"};
    const struct sentence_scores *scores = sentences_scores(comparison);
    const char *signature = sentences_signature(comparison);
    char count[HTML_NUMBER_BYTES], caption[CAPTION_BYTES];
    if (signature)
        page_table_note(table, "BLEU is `BLEU|%s`: scores with another signature are not comparable.",
                        signature);
    if (comparison->sentences && comparison->sentences->fault)
        page_table_note(table, "No paired bootstrap over sentences: %s.", comparison->sentences->fault);
    if (!scores || comparison->contrast_count == 0)
        return;
    snprintf(caption, sizeof caption, "Paired bootstrap over the %s sentences of the %s set, BLEU",
             html_count(count, scores->count), scores->split);
    page_table_begin(table, caption, heads, 5);
    for (int i = 0; i < comparison->contrast_count; i++)
        write_contrast(table, comparison, i);
    page_table_end(table);
    page_table_note(
        table,
        "Of each of %d samples of as many sentences, drawn with replacement and the same for all runs, BLEU "
        "is computed again. The mean of the pairs’ differences is the number that the interval over seeds is "
        "of. Over sentences the interval and p say what other sentences would give with these very models, "
        "over seeds what other seeds would give on these sentences: a difference between encodings should "
        "have both away from zero.",
        (int)SENTENCE_SAMPLES);
}

/* ---- translations side by side ---- */

static void write_line(FILE *stream, const char *class, const char *who, const char *score,
                       struct text_line line)
{
    fprintf(stream, "<p class=\"answer%s\"><span class=\"who %s\">", strcmp(class, "") ? "" : " reference",
            class);
    html_text(stream, who);
    fprintf(stream, "</span><b>%s</b><code>", score);
    html_text(stream, line.count > 0 ? line.bytes : "(nothing)");
    fputs("</code></p>\n", stream);
}

static void write_choice(FILE *stream, const struct comparison *comparison,
                         const struct sentence_choice *choice)
{
    const struct sentence_scores *scores = comparison->sentences;
    fprintf(stream, "<div class=\"card sample\">\n<p class=\"eyebrow\">sentence %lld%s</p>\n",
            (long long)choice->line + 1, choice->differs ? ", chosen for its difference" : "");
    fputs("<p class=\"prompt\"><code>", stream);
    html_text(stream, text_lines_at(&scores->text.source, choice->line).bytes);
    fputs("</code></p>\n", stream);
    write_line(stream, "", "reference", "", text_lines_at(&scores->text.target, choice->line));
    for (int i = 0; i < comparison->arm_count; i++) {
        char bleu[HTML_NUMBER_BYTES];
        if (scores->shown[i] < 0)
            continue;
        html_number(bleu, sentence_bleu(scores, scores->shown[i], choice->line), 1, 0);
        write_line(stream, svg_arm_class(i), comparison->arms[i].name, bleu,
                   text_lines_at(&scores->runs[scores->shown[i]].lines, choice->line));
    }
    fputs("</div>\n", stream);
}

/* "rope: seed 2, BLEU 36.10, the median of 3" */
static void write_shown(FILE *stream, const struct comparison *comparison)
{
    const struct sentence_scores *scores = comparison->sentences;
    const char *before = "";
    for (int i = 0; i < comparison->arm_count; i++) {
        if (scores->shown[i] < 0)
            continue;
        fputs(before, stream);
        html_text(stream, comparison->arms[i].name);
        fprintf(stream, ": seed %lld, BLEU %.2f", (long long)comparison->records[scores->shown[i]].seed,
                scores->runs[scores->shown[i]].bleu);
        if (comparison->arms[i].run_count > 1)
            fprintf(stream, ", the %smedian of %d", comparison->arms[i].run_count % 2 ? "" : "lower ",
                    comparison->arms[i].run_count);
        before = "; ";
    }
}

void sentences_samples(FILE *stream, const struct comparison *comparison, bool folded)
{
    const struct sentence_scores *scores = sentences_scores(comparison);
    bool differs = false;
    if (!scores)
        return;
    for (int i = 0; i < scores->choice_count; i++)
        differs = differs || scores->choices[i].differs;
    page_open_samples(stream, "Translations", folded);
    fprintf(stream, "<p class=\"note\">Sentences of the %s set, ", scores->split);
    fputs(differs
              ? "some spread over the lengths of sources, the others those whose translations differ most "
                "in BLEU, which are not typical. "
              : "spread over the lengths of sources. ",
          stream);
    fputs("The run of each arm is that with the median BLEU: ", stream);
    write_shown(stream, comparison);
    fputs(". Beside a translation is its own BLEU (effective order).</p>\n<section class=\"grid2 "
          "translations\">\n",
          stream);
    for (int i = 0; i < scores->choice_count; i++)
        write_choice(stream, comparison, &scores->choices[i]);
    page_close_samples(stream, folded);
}
