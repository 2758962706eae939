/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of the page, in its order.
 */
#include "report/chart/charts.h"
#include "report/chart/forest.h"
#include "report/chart/position_chart.h"
#include "report/cost.h"
#include "report/lengths.h"
#include "report/page.h"

enum { TEXT_BYTES = 192 };

void page_forest(const struct figure_taker *taker, const struct page *page)
{
    const struct comparison *comparison = page->collection->comparison;
    if (page_has_pairs(comparison))
        figure_give(taker,
                    &(struct page_figure){
                        .title = "Paired differences",
                        .caption = "A row for each difference. One mark per seed: what the arm has minus "
                                   "what its baseline has. Below: their mean and its interval.",
                        .draw = forest_draw,
                        .csv = forest_csv,
                        .argument = comparison,
                        .of_arms = true,
                        .narrow = true});
}

/* ---- curves ---- */

/* What is said of curves; `whole`: the title of the figure whose second half this is, or NULL. */
struct curves_words {
    const char *title, *caption, *whole;
};

static void give_curves(const struct figure_taker *taker, const struct curves_chart *chart,
                        const struct curves_words *words)
{
    char caption[TEXT_BYTES];
    snprintf(caption, sizeof caption, "%s%s", words->caption,
             chart->comparison->record_count > 1 ? " Thin: runs. Bold: mean." : "");
    figure_give(taker, &(struct page_figure){.title = words->title,
                                             .caption = caption,
                                             .draw = curves_draw,
                                             .csv = curves_csv,
                                             .argument = chart,
                                             .same_values = words->whole,
                                             .of_arms = true,
                                             .log = curves_have_log(chart)});
}

static struct curves_chart chart_of(const struct page *page, const struct series *series,
                                    enum series_kind kind)
{
    return (struct curves_chart){.comparison = page->collection->comparison, .series = series, .kind = kind};
}

static void give_scores(const struct figure_taker *taker, const struct page *page, enum series_kind kind,
                        const char *title, const char *caption)
{
    const struct curves_chart chart = chart_of(page, &page->scores, kind);
    if (curves_exist(&chart, 1))
        give_curves(taker, &chart, &(struct curves_words){title, caption, NULL});
}

/* A loss; and where it decides, its second half by itself too, whose differences the whole scale hides. */
static void give_losses(const struct figure_taker *taker, struct curves_chart chart, const char *title,
                        const char *caption)
{
    const struct comparison *comparison = chart.comparison;
    char second[TEXT_BYTES];
    if (curves_exist(&chart, 1))
        give_curves(taker, &chart, &(struct curves_words){title, caption, NULL});
    chart.first = comparison->steps / 2;
    if (measure_descriptions[comparison->measures[0]].scoring != SCORING_LOSS || !curves_exist(&chart, 3))
        return;
    snprintf(second, sizeof second, "%s, second half", title);
    give_curves(taker, &chart,
                &(struct curves_words){second, "The second half of the steps by itself.", title});
}

static void give_validation(const struct figure_taker *taker, const struct page *page)
{
    give_losses(taker, chart_of(page, &page->validation, SERIES_VALIDATION_LOSS), "Validation loss",
                "On sequences that never occur in training.");
}

bool page_has_curves(const struct page *page)
{
    const struct curves_chart training = chart_of(page, &page->training, SERIES_TRAINING_LOSS),
                              validation = chart_of(page, &page->validation, SERIES_VALIDATION_LOSS);
    return curves_exist(&training, 1) || curves_exist(&validation, 1);
}

/* ---- the others ---- */

static void give_final(const struct figure_taker *taker, const struct comparison *comparison)
{
    int runs = 0;
    for (int i = 0; i < comparison->arm_count; i++)
        runs += comparison->arms[i].run_count;
    if (runs > 1)
        figure_give(taker, &(struct page_figure){
                               .title = "Final scores",
                               .caption = "One mark per run. Solid line: mean. Dashed line: median.",
                               .draw = scores_draw,
                               .csv = scores_csv,
                               .argument = &(struct scores_chart){comparison, comparison->measures[0]},
                               .of_arms = true});
}

static void give_cost(const struct figure_taker *taker, const struct comparison *comparison, enum cost cost)
{
    static const char *const titles[] = {"Score and time", "Score and parameters"},
                             *const captions[] = {
                                 "The mean score, and the time of a step beside that of the first arm.",
                                 "The mean score, and the numbers of the model that are trained."};
    figure_give(taker, &(struct page_figure){.title = titles[cost],
                                             .caption = captions[cost],
                                             .draw = cost_draw,
                                             .csv = cost_values,
                                             .argument = &(struct cost_figure){comparison, cost},
                                             .of_arms = true});
}

static void give_lengths(const struct figure_taker *taker, const struct comparison *comparison)
{
    figure_give(taker, &(struct page_figure){
                           .title = "Other lengths",
                           .caption = "The mean score of a problem at the end of so many tokens, or "
                                      "of such sequences. Thin: with the rotation scaled.",
                           .draw = lengths_draw,
                           .csv = lengths_values,
                           .argument = comparison,
                           .of_arms = true});
}

void page_charts(const struct figure_taker *taker, const struct page *page)
{
    const struct comparison *comparison = page->collection->comparison;
    if (comparison->scoring == SCORING_EXACT_MATCH)
        give_scores(taker, page, SERIES_EXACT_MATCH, "Exact match",
                    "Percent of the problems with an exactly correct answer. Dotted: 90%.");
    else if (comparison->scoring == SCORING_BLEU)
        give_scores(taker, page, SERIES_BLEU, "BLEU",
                    "Of sentences that never occur in training, translated greedily.");
    else if (comparison->examples)
        give_scores(taker, page, SERIES_LABELS, "Score of the labels",
                    "On the validation set, whichever set decides at the end.");
    else
        give_validation(taker, page);
    give_final(taker, comparison);
    if (cost_is_known(comparison)) {
        give_cost(taker, comparison, COST_TIME);
        give_cost(taker, comparison, COST_PARAMETERS);
    }
    if (lengths_are_known(comparison))
        give_lengths(taker, comparison);
    positions_figures(taker, comparison);
    if (comparison->scoring != SCORING_LOSS)
        give_validation(taker, page);
    give_losses(taker, chart_of(page, &page->training, SERIES_TRAINING_LOSS), "Training loss",
                "Averaged over bins of steps. The steep beginning lies above the frame.");
}

void page_figures(const struct figure_taker *taker, const struct page *page)
{
    page_forest(taker, page);
    if (page_has_curves(page))
        page_charts(taker, page);
    decay_figures(taker, page->collection->comparison, &page->decays);
}
