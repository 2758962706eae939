/* SPDX-License-Identifier: Apache-2.0
 *
 * What a paper takes from a comparison: figures as files, and tables as LaTeX; and how a page of many arms
 * says its verdicts.
 */
#include "records/synthetic.h"
#include "report/chart/page_figure.h"
#include "report/page_reader.h"
#include "report/report.h"
#include "report/table/latex.h"
#include "support/check.h"
#include "support/scratch.h"

#include "file/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"rope", "roper", "none", "a_b&c", "sinusoidal"};
static const double halves[] = {530, 380, 900, 700, 600};

static int occurrences(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

static struct collection collection_of(int arms)
{
    const char *folder = scratch_path("compared");
    scratch_remove(folder);
    synthetic_comparison(folder, &synthetic_quick, 6, arms, names, halves);
    return synthetic_read(folder);
}

/* ---- figures ---- */

static void check_id(void)
{
    char id[FIGURE_ID_BYTES];
    CHECK_TEXT(figure_id(id, "Validation loss, second half"), "validation-loss-second-half");
    CHECK_TEXT(figure_id(id, " ../BLEU (1.5%) "), "bleu-1.5");
    CHECK_TEXT(figure_id(id, "Perplexity by position, β=-1"), "perplexity-by-position-β=-1");
}

/* The drawing of a file is that of the page, but for where the page finds its values. */
static void check_same_marks(const char *svg, const char *page, const char *title)
{
    struct figure alone = {.begin = svg, .end = svg + strlen(svg)}, shown = figure_of(page, title);
    const char *first = alone.begin, *second = shown.begin;
    struct element a, b;
    int marks = 0;
    while (figure_next(&alone, &first, "path", "curve", &a)) {
        if (!CHECK(figure_next(&shown, &second, "path", "curve", &b)))
            return;
        CHECK_TEXT(a.class, b.class);
        CHECK_INT(a.points, b.points);
        for (int i = 0; i < a.points; i++)
            CHECK(a.x[i] == b.x[i] && a.y[i] == b.y[i]);
        marks++;
    }
    CHECK_INT(marks, 6 * 2 + 2);
    CHECK(!figure_next(&shown, &second, "path", "curve", &b));
}

static void check_file(const char *folder, const char *name, const char *page, const char *title)
{
    char path[FILE_PATH_BYTES], *svg = NULL;
    size_t count;
    check_about("%s", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!CHECK_INT(file_read(path, 1 << 22, &svg, &count, NULL), ROTARY_OK))
        return;
    CHECK(strncmp(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", 47) == 0);
    CHECK_INT(occurrences(svg, "<svg ") - occurrences(svg, "</svg>"), 0);
    /* Other programs know no variables; there is one palette, on a background. */
    CHECK(strstr(svg, "var(") == NULL && strstr(svg, "@media") == NULL && strstr(svg, "data-frame") == NULL);
    CHECK(strstr(svg, ".e0,.e7,.e14,.e21{color:#0065a0}") != NULL);
    CHECK(strstr(svg, "<rect class=\"background\" x=\"-10\" y=\"-10\" width=\"100%\" height=\"100%\"/>") !=
          NULL);
    CHECK(strstr(svg, "svg .background{fill:#ffffff}") != NULL);
    if (title)
        check_same_marks(svg, page, title);
    free(svg);
}

static void check_figures(const struct collection *collection)
{
    static const char *const wanted[] = {"exact-match.svg", "final-scores.svg", "paired-differences.svg",
                                         "training-loss.svg", "validation-loss.svg"};
    const char *folder = scratch_path("figures");
    char *page = page_of(collection);
    rotary_error error = {0};
    CHECK_INT(report_figures(collection, folder, &error), ROTARY_OK);
    struct dirent **found = NULL;
    const int count = scandir(folder, &found, NULL, file_entry_order);
    check_about("the figures");
    CHECK_INT(count, 2 + 5);
    for (int i = 0; i < count; i++) {
        if (i >= 2)
            CHECK_TEXT(found[i]->d_name, wanted[i - 2]);
        free(found[i]);
    }
    free(found);
    CHECK_INT(occurrences(page, "<figure"), 5);
    check_file(folder, "exact-match.svg", page, "Exact match");
    check_file(folder, "validation-loss.svg", page, "Validation loss");
    check_file(folder, "paired-differences.svg", page, NULL);
    check_about("a folder that cannot be made");
    CHECK_INT(report_figures(collection, "/dev/null/figures", &error), ROTARY_IO_ERROR);
    free(page);
}

/* ---- values ---- */

/* The value in a row of the CSV that a figure has on the page. */
static double csv_value(const char *page, const char *title, const char *row, int column)
{
    const struct figure figure = figure_of(page, title);
    const char *csv = strstr(figure.begin, "<pre class=\"csv\" hidden>"), *line = csv;
    char start[64];
    snprintf(start, sizeof start, "\n%s,", row);
    if (!CHECK(csv != NULL) || !CHECK((line = strstr(csv, start)) != NULL) ||
        !CHECK(line < strstr(csv, "</pre>")))
        return 0;
    line++;
    for (int i = 0; i < column; i++)
        line = strchr(line, ',') + 1;
    return strtod(line, NULL);
}

static void check_values(const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    char *page = page_of(collection);
    for (int run = 0; run < collection->record_count; run++) {
        const struct record *record = &collection->records[run];
        check_about("the values of run %d", run);
        for (int64_t i = 0; i < record->evaluation_count; i++) {
            char step[32];
            snprintf(step, sizeof step, "%lld", (long long)record->evaluations[i].step);
            CHECK_NEAR(csv_value(page, "Validation loss", step, run + 1), record->evaluations[i].loss, 1e-6);
        }
    }
    CHECK_NEAR(csv_value(page, "Paired differences", "roper,rope,mean", 3),
               comparison->contrasts[0].difference[comparison->measures[0]].mean, 1e-9);
    CHECK_NEAR(csv_value(page, "Paired differences", "roper,rope,2", 3),
               comparison->contrasts[0].differences[comparison->measures[0]][1], 1e-9);
    /* Losses may be on a logarithmic axis; exact match has zeros. */
    CHECK_INT(occurrences(page, "<template>"), 2);
    CHECK_INT(occurrences(page, " log\">"), 2);
    free(page);
}

/* ---- LaTeX ---- */

static void check_escapes(void)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    latex_text(stream, "a_b&c 5% $x$ #1 {y} \\z ~^ −0.5 – ≤ <\n>é");
    fclose(stream);
    CHECK_TEXT(text,
               "a\\_b\\&c 5\\% \\$x\\$ \\#1 \\{y\\} \\textbackslash{}z \\textasciitilde{}\\textasciicircum{} "
               "$-$0.5 -- $\\leq$ $<$ $>$é");
    free(text);
}

static void check_latex(const struct collection *collection)
{
    const struct comparison *comparison = collection->comparison;
    char *text = NULL, wanted[128];
    CHECK_INT(report_latex(collection, &text, NULL), ROTARY_OK);
    check_about("tables as LaTeX");
    CHECK(strncmp(text, "% \\usepackage{booktabs}\n", 24) == 0);
    /* There are tables of verdicts, of each measure, and of differences. */
    CHECK_INT(occurrences(text, "\\begin{table}"), 2 + comparison->measure_count);
    CHECK_INT(occurrences(text, "\\end{table}"), 2 + comparison->measure_count);
    CHECK_INT(occurrences(text, "\\toprule"), 2 + comparison->measure_count);
    CHECK_INT(occurrences(text, "\\bottomrule"), 2 + comparison->measure_count);
    CHECK(strstr(text, "−") == NULL && strstr(text, "–") == NULL && strstr(text, "<t") == NULL);
    snprintf(wanted, sizeof wanted, "    {}rope & 6 & %.1f & ",
             comparison->arms[0].statistics[comparison->measures[0]].mean);
    CHECK(strstr(text, wanted) != NULL);
    CHECK(strstr(text, "    {}a\\_b\\&c $-$ rope & ") != NULL);
    /* Every row has as many cells as its table has columns. */
    int columns = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strstr(line, "\\begin{tabular}{"))
            columns = (int)strspn(strstr(line, "}{") + 2, "lr");
        int cells = 1;
        for (const char *at = line; (at = strstr(at, " & ")) != NULL; at += 3)
            cells++;
        if (strstr(line, " \\\\") && !strstr(line, "\\multicolumn"))
            CHECK_INT(cells, columns);
    }
    free(text);
}

/* ---- many arms ---- */

/* Up to four arms have cards; more have a table, which the sentences are folded up below. */
static void check_verdicts(void)
{
    for (int arms = 4; arms <= 5; arms++) {
        struct collection collection = collection_of(arms);
        char *page = page_of(&collection);
        check_about("%d arms", arms);
        CHECK_INT(occurrences(page, "class=\"card verdict "), arms > 4 ? 0 : arms - 1);
        CHECK_INT(occurrences(page, "<caption>Verdicts: "), arms > 4);
        CHECK_INT(occurrences(page, "<summary>Verdicts in words</summary>"), arms > 4);
        CHECK_INT(occurrences(page, "<details class=\"samples\">"), arms > 4);
        /* The chart of all intervals comes before either. */
        CHECK(strstr(page, "<h3>Paired differences</h3>") <
              strstr(page, arms > 4 ? "<caption>Verdicts: " : "class=\"card verdict "));
        if (arms > 4) {
            const struct contrast *contrast = &collection.comparison->contrasts[0];
            const enum measure measure = collection.comparison->measures[0];
            CHECK_TEXT(page_cell(page, "Verdicts", "verdict", "roper - rope", NULL), "better");
            CHECK_TEXT(page_cell(page, "Verdicts", "better in", "roper - rope", NULL), "6 of 6");
            CHECK_NEAR(page_number(page, "Verdicts", "median", "roper - rope", NULL),
                       contrast->difference[measure].median, 0.051);
        }
        CHECK_INT(occurrences(page, "<li class=\"e"), arms); /* of the legend */
        free(page);
        collection_free(&collection);
    }
}

int main(void)
{
    check_id();
    check_escapes();
    struct collection collection = collection_of(2);
    check_figures(&collection);
    check_values(&collection);
    collection_free(&collection);
    collection = collection_of(4);
    check_latex(&collection);
    collection_free(&collection);
    check_verdicts();
    return check_report();
}
