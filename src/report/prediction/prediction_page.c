/* SPDX-License-Identifier: Apache-2.0
 *
 * Baselines and the paired bootstrap over examples on the page.
 */
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

void predictions_rows(FILE *stream, const struct comparison *comparison, enum measure measure)
{
    const struct example_scores *scores = predictions_of(comparison, measure);
    char number[HTML_NUMBER_BYTES];
    for (int i = 0; scores && i < LABEL_BASELINES; i++)
        fprintf(stream,
                "<tr><th scope=\"row\">%s</th><td>–</td><td>%s</td><td>–</td><td>–</td><td>–</td>"
                "<td>–</td><td>–</td></tr>\n",
                label_baseline_title(i, scores->choices),
                html_number(number, scores->baselines[i], measure_descriptions[measure].decimals, 0));
}

/* ---- the table ---- */

static void write_examples(FILE *stream, const struct resampled_difference *examples)
{
    resampled_interval_html(stream, examples);
    fputs(", p ", stream);
    resampled_p_html(stream, examples->p);
}

static void close_row(FILE *stream, const struct paired_difference *seeds,
                      const struct resampled_difference *examples)
{
    page_difference(stream, seeds, RESAMPLED_DECIMALS);
    fputs("</td><td>", stream);
    if (isnan(examples->mean))
        fputs("–", stream);
    else
        write_examples(stream, examples);
    fputs("</td></tr>\n", stream);
}

static void write_rows(FILE *stream, const struct comparison *comparison, const struct example_scores *scores)
{
    for (int i = 0; i < comparison->arm_count; i++)
        for (int j = 0; j < LABEL_BASELINES; j++) {
            const struct beside_baseline *beside = &scores->beside[i * LABEL_BASELINES + j];
            resampled_row(stream, comparison, i, label_baseline_title(j, scores->choices));
            close_row(stream, &beside->seeds, &beside->examples);
        }
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        resampled_row(stream, comparison, contrast->arm, comparison->arms[contrast->baseline].name);
        close_row(stream, &contrast->difference[scores->measure], &scores->contrasts[i].mean);
    }
}

void predictions_table(FILE *stream, const struct comparison *comparison)
{
    const struct example_scores *scores = predictions_scores(comparison);
    char count[HTML_NUMBER_BYTES];
    if (comparison->predictions && comparison->predictions->fault) {
        fputs("<p class=\"note\">No baselines: ", stream);
        html_text(stream, comparison->predictions->fault);
        fputs(".</p>\n", stream);
    }
    if (!scores)
        return;
    fprintf(stream,
            "<div class=\"scroll\"><table class=\"sticky\">\n<caption>Beside the baselines, and over the %s "
            "examples of the %s set: %s</caption>\n<thead><tr><th>difference</th><th>mean [interval over "
            "seeds]</th><th>[95%% over examples]</th></tr></thead>\n<tbody>\n",
            html_count(count, scores->count), scores->split, measure_descriptions[scores->measure].title);
    write_rows(stream, comparison, scores);
    fprintf(stream,
            "</tbody></table></div>\n<p class=\"note\">Majority: the most frequent class of training, or its "
            "mean number. %s A baseline is one number, so that the interval over seeds is that of the arm’s "
            "runs alone: what other seeds would give on these examples. Over examples, by %d samples drawn "
            "with replacement, it is what other examples would give with these very models. An arm beats a "
            "baseline where both lie above zero.</p>\n",
            scores->choices ? "TF-IDF: the choice that is most similar to the text."
                            : "Bag of words: a linear model of the words of the training texts.",
            (int)EXAMPLE_SAMPLES);
}
