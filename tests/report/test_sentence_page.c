/* SPDX-License-Identifier: Apache-2.0
 *
 * What the page and the text say of translations: the bootstrap's numbers in their cells, the shown sentences
 * with the scores of the shown runs, and the link to a page of heatmaps only where there is one.
 */
#include "records/synthetic.h"
#include "records/translated_runs.h"
#include "report/comparison_table.h"
#include "report/page_reader.h"
#include "report/report.h"
#include "support/check.h"
#include "support/scratch.h"

#include "file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double rounding = 0.00501;

static void check_row(const char *page, const char *name, const char *seed,
                      const struct resampled_difference *wanted)
{
    double mean, low, high;
    const char *cell = page_cell(page, "Paired bootstrap", "mean [95% over sentences]", name, seed);
    check_about("%s, %s", name, seed);
    if (!CHECK_INT(sscanf(cell, "%lf [%lf, %lf]", &mean, &low, &high), 3))
        return;
    CHECK_NEAR(mean, wanted->mean, rounding);
    CHECK_NEAR(low, wanted->low, rounding);
    CHECK_NEAR(high, wanted->high, rounding);
    CHECK_NEAR(page_number(page, "Paired bootstrap", "p", name, seed), wanted->p, 1e-3);
}

static void check_bootstrap(const char *page, const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        const struct resampled_contrast *found = &collection->sentences->contrasts[i];
        char name[64], seed[32];
        snprintf(name, sizeof name, "%s - sinusoidal", comparison->arms[contrast->arm].name);
        for (int j = 0; j < contrast->pair_count; j++) {
            snprintf(seed, sizeof seed, "%d", (int)contrast->pairs[j].seed);
            check_row(page, name, seed, &found->pairs[j]);
        }
        snprintf(seed, sizeof seed, "mean of %d", contrast->pair_count);
        check_row(page, name, seed, &found->mean);
        CHECK_NEAR(page_number(page, "Paired bootstrap", "mean [interval over seeds]", name, seed),
                   contrast->difference[MEASURE_BLEU].mean, rounding);
    }
    check_about("%s", "");
}

/* The card of a sentence has the shown runs, in the order of their arms, with their own scores. */
static void check_cards(const char *page, const struct collection *collection)
{
    const struct sentence_scores *sentences = collection->sentences;
    const char *card = strstr(page, "<h2>Translations</h2>");
    CHECK(card != NULL);
    for (int i = 0; card && i < sentences->choice_count; i++) {
        const struct sentence_choice *choice = &sentences->choices[i];
        char wanted[64];
        check_about("sentence %d", (int)choice->line + 1);
        snprintf(wanted, sizeof wanted, "sentence %d%s</p>", (int)choice->line + 1,
                 choice->differs ? ", chosen for its difference" : "");
        card = strstr(card, wanted);
        if (!CHECK(card != NULL))
            return;
        for (int arm = 0; arm < TRANSLATED_ARMS; arm++) {
            snprintf(wanted, sizeof wanted, "%s</span><b>%.1f</b>", collection->comparison->arms[arm].name,
                     sentence_bleu(sentences, sentences->shown[arm], choice->line));
            card = card ? strstr(card, wanted) : NULL;
            CHECK(card != NULL);
        }
    }
    check_about("%s", "");
    CHECK(strstr(page, "&lt;i&gt;&amp;x") != NULL);
    CHECK(strstr(page, "<i>") == NULL);
}

static void check_printed(const struct collection *collection)
{
    char *text = NULL, wanted[128];
    const struct resampled_difference *mean = &collection->sentences->contrasts[0].mean;
    CHECK_INT(comparison_text(collection->comparison, &text, NULL), ROTARY_OK);
    snprintf(wanted, sizeof wanted, "rope - sinusoidal, mean of 3 pairs: %+.2f [%+.2f, %+.2f]", mean->mean,
             mean->low, mean->high);
    CHECK(strstr(text, wanted) != NULL);
    CHECK(strstr(text, "\nBLEU|nrefs:1|case:lc\n") != NULL);
    free(text);
}

int main(void)
{
    const char *folder = scratch_path("runs");
    translated_write(folder);
    struct collection collection = translated_read(folder);
    char *page = page_of(&collection);
    check_bootstrap(page, &collection);
    check_cards(page, &collection);
    check_printed(&collection);
    CHECK(strstr(page, "<code>BLEU|nrefs:1|case:lc</code>") != NULL);
    CHECK(strstr(page, "heatmap.html") == NULL);
    free(page);
    synthetic_write(scratch_path("heatmap"), "heatmap.html", "");
    page = page_of(&collection);
    CHECK(strstr(page, "<a href=\"heatmap/heatmap.html\">") != NULL);
    free(page);
    collection_free(&collection);
    return check_report();
}
