/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of runs whose numbers are all different, read back: what its cells say and where its marks are,
 * against the records.
 */
#include "records/sample_runs.h"
#include "report/page_reader.h"
#include "report/report.h"
#include "support/check.h"
#include "support/scratch.h"

#include "file/file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Coordinates have one decimal, and so have those of the ticks that give their scale. */
static const double pixel = 0.3;

/* ---- tables ---- */

/* How the tables name a measure. */
static const char *title_of(const struct comparison *comparison, enum measure measure)
{
    static char title[128];
    snprintf(title, sizeof title, "%s", measure_descriptions[measure].title);
    title[0] = (char)toupper((unsigned char)title[0]);
    if (measure == MEASURE_EXACT_MATCH)
        snprintf(title, sizeof title, "Exact match, %% of %d problems", (int)comparison->problems);
    return title;
}

static double rounding_of(enum measure measure)
{
    return 0.5001 * pow(10, -measure_descriptions[measure].decimals);
}

/* The mean of runs with this arm, finished and not diverged, taken from the list that they were made of. */
static void check_statistics(const char *page, const struct comparison *comparison)
{
    for (int i = 0; i < comparison->measure_count; i++)
        for (int j = 0; j < comparison->arm_count; j++) {
            enum measure measure = comparison->measures[i];
            const struct comparison_arm *arm = &comparison->arms[j];
            const struct statistics *statistics = &arm->statistics[measure];
            char head[160];
            snprintf(head, sizeof head, "%s%s</caption>", title_of(comparison, measure),
                     i ? "" : " (primary)");
            check_about("%s of %s", head, arm->name);
            double bound = rounding_of(measure);
            CHECK_NEAR(page_number(page, head, "runs", arm->name, NULL), arm->run_count, 0);
            CHECK_NEAR(page_number(page, head, "mean", arm->name, NULL), statistics->mean, bound);
            CHECK_NEAR(page_number(page, head, "median", arm->name, NULL), statistics->median, bound);
            CHECK_NEAR(page_number(page, head, "st. dev.", arm->name, NULL), statistics->deviation, bound);
            CHECK_NEAR(page_number(page, head, "min", arm->name, NULL), statistics->min, bound);
            CHECK_NEAR(page_number(page, head, "max", arm->name, NULL), statistics->max, bound);
            CHECK_NEAR(page_number(page, head, "w/o worst", arm->name, NULL), statistics->without_worst,
                       bound);
            if (measure != MEASURE_STEPS_TO_90)
                continue;
            char wanted[64];
            snprintf(wanted, sizeof wanted,
                     isinf(arm->reached.median) ? "> %.0f (%d of %d)" : "%.0f (%d of %d)",
                     isinf(arm->reached.median) ? MADE_STEPS : arm->reached.median, arm->reached.reached,
                     arm->reached.count);
            CHECK_TEXT(page_cell(page, head, "median (reached)", arm->name, NULL), wanted);
        }
}

static const char *contrast_name(const struct comparison *comparison, const struct contrast *contrast)
{
    static char name[256];
    snprintf(name, sizeof name, "%s - %s", comparison->arms[contrast->arm].name,
             comparison->arms[contrast->baseline].name);
    return name;
}

/* The rows of the measures follow one another in one table: the part from a measure's title on. */
static const char *part_of(const char *page, const char *title)
{
    static char part[1 << 16];
    const char *table = strstr(page, "<caption>Paired differences"), *head = strstr(table, "<thead>"),
               *rows = strstr(table, "</thead>"), *group = rows;
    while ((group = strstr(group, "class=\"group\"")) != NULL) {
        group = strchr(group, '>') + 1;
        if (strncmp(group, title, strlen(title)) == 0)
            break;
    }
    CHECK(group != NULL);
    snprintf(part, sizeof part, "<caption>part</caption>%.*s%.*s</table>", (int)(rows - head), head,
             group ? (int)(strstr(group, "</tbody>") - group) : 0, group);
    return part;
}

static void check_interval(const char *text, const struct paired_difference *difference, double bound)
{
    double mean, low, high;
    CHECK_INT(sscanf(text, "%lf [%lf, %lf]", &mean, &low, &high), 3);
    CHECK_NEAR(mean, difference->mean, bound);
    CHECK_NEAR(low, difference->low, bound);
    CHECK_NEAR(high, difference->high, bound);
    CHECK((text[0] == '+') == (difference->mean > 0));
}

static void check_differences(const char *page, const struct comparison *comparison)
{
    for (int i = 0; i < comparison->measure_count; i++)
        for (int j = 0; j < comparison->contrast_count; j++) {
            const struct contrast *contrast = &comparison->contrasts[j];
            enum measure measure = comparison->measures[i];
            const struct paired_difference *difference = &contrast->difference[measure];
            const char *name = contrast_name(comparison, contrast),
                       *part = part_of(page, title_of(comparison, measure));
            double bound = rounding_of(measure);
            check_about("%s of %s", title_of(comparison, measure), name);
            CHECK_NEAR(page_number(part, "part", "pairs", name, NULL), difference->count, 0);
            check_interval(page_cell(part, "part", "mean [interval]", name, NULL), difference, bound);
            CHECK_NEAR(page_number(part, "part", "level", name, NULL), 100 * difference->level, 0.01);
            CHECK_NEAR(page_number(part, "part", "st. dev.", name, NULL), difference->deviation, bound);
            CHECK_NEAR(page_number(part, "part", "p", name, NULL), difference->sign_flip_p, 1e-3);
            CHECK_NEAR(page_number(part, "part", "least p", name, NULL), difference->sign_flip_min_p, 1e-3);
            if (comparison->contrast_count > 1 && i == 0)
                CHECK_NEAR(page_number(part, "part", "joint p", name, NULL), contrast->adjusted_p, 1e-3);
            if (measure == MEASURE_STEPS_TO_90)
                CHECK_NEAR(page_number(part, "part", "censored", name, NULL), contrast->censored, 0);
        }
}

static void check_pairs(const char *page, const struct comparison *comparison)
{
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        for (int j = 0; j < contrast->pair_count; j++)
            for (int k = 0; k < comparison->measure_count; k++) {
                char seed[24];
                enum measure measure = comparison->measures[k];
                snprintf(seed, sizeof seed, "%d", (int)contrast->pairs[j].seed);
                double arm = record_measure(&comparison->records[contrast->pairs[j].arm], measure),
                       baseline = record_measure(&comparison->records[contrast->pairs[j].baseline], measure);
                check_about("the pair of seed %s", seed);
                CHECK_NEAR(page_number(page, "Every pair", title_of(comparison, measure),
                                       contrast_name(comparison, contrast), seed),
                           arm - baseline, rounding_of(measure));
            }
    }
}

static void check_runs(const char *page, const struct collection *collection)
{
    CHECK_INT(page_rows(page, "Every run"), collection->record_count);
    for (int i = 0; i < collection->record_count; i++) {
        const struct record *record = &collection->records[i];
        const struct record_evaluation *last = record_last_evaluation(record);
        char seed[24];
        snprintf(seed, sizeof seed, "%d", (int)record->seed);
        check_about("the run %s with seed %s", record->arm, seed);
        CHECK_NEAR(page_number(page, "Every run", "steps", record->arm, seed), (double)record->done, 0);
        CHECK_NEAR(page_number(page, "Every run", "validation loss", record->arm, seed), last->loss,
                   5.001e-5);
        CHECK_TEXT(page_cell(page, "Every run", "status", record->arm, seed), record->diverged ? "diverged"
                                                                              : record_finished(record)
                                                                                  ? "finished"
                                                                                  : "unfinished");
        if (collection->comparison->has_problems) {
            CHECK_NEAR(page_number(page, "Every run", "correct of 128", record->arm, seed),
                       (double)last->correct, 0);
            char steps[24] = "-";
            if (record_steps_to(record, 0.9) != NOT_REACHED)
                snprintf(steps, sizeof steps, "%d", (int)record_steps_to(record, 0.9));
            CHECK_TEXT(page_cell(page, "Every run", "steps to 90%", record->arm, seed), steps);
        }
    }
}

/* The card of each contrast: its arm's colour, the difference, the sentence, the other measures. */
static void check_cards(const char *page, const struct comparison *comparison)
{
    const char *card = page;
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        char wanted[256];
        check_about("card %d", i);
        card = strstr(card + 1, "class=\"card verdict ");
        if (!CHECK(card != NULL))
            return;
        snprintf(wanted, sizeof wanted, "class=\"card verdict e%d\">\n<p class=\"eyebrow\">%s against %s</p>",
                 contrast->arm, comparison->arms[contrast->arm].name,
                 comparison->arms[contrast->baseline].name);
        CHECK(strncmp(card, wanted, strlen(wanted)) == 0);
        double mean = contrast->difference[comparison->measures[0]].mean;
        int decimals = measure_descriptions[comparison->measures[0]].decimals;
        snprintf(wanted, sizeof wanted, "<p class=\"big\">%s%.*f <small>%s</small>", mean < 0 ? "−" : "+",
                 decimals, fabs(mean), measure_descriptions[comparison->measures[0]].unit);
        const char *end = strstr(card, "</div>"), *big = strstr(card, wanted);
        CHECK(big != NULL && big < end);
        for (int j = 1; j < comparison->measure_count; j++) {
            enum measure measure = comparison->measures[j];
            mean = contrast->difference[measure].mean;
            snprintf(wanted, sizeof wanted, "%s: %s%.*f [", measure_descriptions[measure].title,
                     mean < 0 ? "−" : "+", measure_descriptions[measure].decimals, fabs(mean));
            const char *line = strstr(card, wanted);
            CHECK(line != NULL && line < end);
            if (measure != MEASURE_STEPS_TO_90)
                continue;
            snprintf(wanted, sizeof wanted, "; %d of %d pairs are censored</p>", contrast->censored,
                     contrast->pair_count);
            line = strstr(card, wanted);
            CHECK(line != NULL && line < end);
        }
    }
}

/* ---- drawings ---- */

/* Whether the text stands in the figure. */
static bool says(const struct figure *figure, const char *text)
{
    const char *found = strstr(figure->begin, text);
    return found && found < figure->end;
}

/* Values grow upwards and to the right. */
static void check_axes(const struct figure *figure, bool upright)
{
    CHECK(figure->x_distance > 0);
    if (upright)
        CHECK(figure->y_distance < 0);
}

static double value_at(const struct record *record, const char *title, int evaluation)
{
    const struct record_evaluation *at = &record->evaluations[evaluation];
    return strcmp(title, "Exact match") == 0 ? 100.0 * (double)at->correct / (double)at->problems : at->loss;
}

static void check_run_curve(const struct figure *figure, const struct collection *collection,
                            const char *title, const struct element *curve)
{
    for (int i = 0; i < collection->record_count; i++) {
        const struct record *record = &collection->records[i];
        char name[128], class[16];
        bool unfinished = !record_finished(record);
        snprintf(name, sizeof name, "%s, seed %d%s", record->arm, (int)record->seed,
                 record->diverged ? ", diverged"
                 : unfinished     ? ", unfinished"
                                  : "");
        if (strcmp(curve->text, name) != 0)
            continue;
        check_about("%s: the curve of %s", title, name);
        snprintf(class, sizeof class, "e%d", comparison_find(collection->comparison, record->arm));
        CHECK(has_class(curve, class));
        CHECK(has_class(curve, "unfinished") == (unfinished || record->diverged > 0));
        if (strcmp(title, "Training loss") == 0) {
            for (int j = 0; j < curve->points; j++) {
                CHECK_NEAR(curve->x[j], figure_x(figure, (double)record->points[j].step), pixel);
                CHECK_NEAR(curve->y[j], figure_y(figure, record->points[j].loss), pixel);
            }
            CHECK_INT(curve->points, record->point_count);
            return;
        }
        CHECK_INT(curve->points, record->evaluation_count);
        for (int j = 0; j < curve->points; j++) {
            CHECK_NEAR(curve->x[j], figure_x(figure, (double)record->evaluations[j].step), pixel);
            CHECK_NEAR(curve->y[j], figure_y(figure, value_at(record, title, j)), pixel);
        }
        return;
    }
    check_about("%s", title);
    CHECK(!"a curve is of a run");
    printf("    %s\n", curve->text);
}

/* The mean of an arm's finished runs at their last evaluation. */
static double mean_at_end(const struct collection *collection, const char *title, int arm)
{
    const struct comparison_arm *of = &collection->comparison->arms[arm];
    double sum = 0;
    for (int i = 0; i < of->run_count; i++) {
        const struct record *record = &collection->records[of->runs[i]];
        sum += strcmp(title, "Training loss") == 0 ? record->points[record->point_count - 1].loss
                                                   : value_at(record, title, MADE_EVALUATIONS - 1);
    }
    return sum / of->run_count;
}

static void check_mean_curve(const struct figure *figure, const struct collection *collection,
                             const char *title, const struct element *curve)
{
    for (int i = 0; i < collection->comparison->arm_count; i++) {
        char name[128], class[16];
        snprintf(name, sizeof name, "%s, mean", collection->comparison->arms[i].name);
        snprintf(class, sizeof class, "e%d", i);
        if (strcmp(curve->text, name) != 0)
            continue;
        check_about("%s: the curve of %s", title, name);
        CHECK(has_class(curve, class));
        CHECK_NEAR(curve->x[curve->points - 1], figure_x(figure, MADE_STEPS), pixel);
        CHECK_NEAR(curve->y[curve->points - 1], figure_y(figure, mean_at_end(collection, title, i)), pixel);
        return;
    }
    CHECK(!"a bold curve is a mean");
}

/* The arm of a label, by its colour; the label is that arm's name. */
static int arm_of_label(const struct comparison *comparison, const struct element *label)
{
    for (int i = 0; i < comparison->arm_count; i++) {
        char class[16];
        snprintf(class, sizeof class, "e%d", i);
        if (!has_class(label, class))
            continue;
        CHECK_TEXT(label->text, comparison->arms[i].name);
        return i;
    }
    CHECK(!"a label has the colour of an arm");
    return 0;
}

/* Names stand in the order of the curves' ends, near them. */
static void check_labels(const struct figure *figure, const struct collection *collection, const char *title)
{
    const char *at = figure->begin;
    struct element label;
    int labels = 0;
    double previous_end = -(double)INFINITY, previous_y = -(double)INFINITY;
    check_about("%s: names at the ends", title);
    while (figure_next(figure, &at, "text", "label", &label)) {
        int arm = arm_of_label(collection->comparison, &label);
        double end = figure_y(figure, mean_at_end(collection, title, arm));
        CHECK(end >= previous_end && label.y1 > previous_y + 10);
        CHECK_NEAR(label.y1, end, 4.5 + 16 * collection->comparison->arm_count);
        previous_end = end;
        previous_y = label.y1;
        labels++;
    }
    CHECK_INT(labels, collection->comparison->arm_count);
}

/* An axis has a name that begins so. */
static void check_axis_name(const struct figure *figure, const char *wanted)
{
    const char *at = figure->begin;
    struct element name;
    bool found = false;
    while (figure_next(figure, &at, "text", "name", &name))
        found = found || strncmp(name.text, wanted, strlen(wanted)) == 0;
    if (!CHECK(found))
        printf("    %s\n", wanted);
}

static void check_curves(const char *page, const struct collection *collection, const char *title)
{
    struct figure figure = figure_of(page, title);
    check_axes(&figure, true);
    const char *at = figure.begin;
    static struct element curve;
    int thin = 0, bold = 0;
    while (figure_next(&figure, &at, "path", "curve", &curve)) {
        CHECK(has_class(&curve, "thin") != has_class(&curve, "bold"));
        if (has_class(&curve, "thin")) {
            check_run_curve(&figure, collection, title, &curve);
            thin++;
        } else {
            check_mean_curve(&figure, collection, title, &curve);
            bold++;
        }
    }
    check_about("%s", title);
    CHECK_INT(thin, collection->record_count);
    CHECK_INT(bold, collection->comparison->arm_count);
    CHECK(says(&figure, "Thin: runs. Bold: mean."));
    check_labels(&figure, collection, title);
    char name[64];
    snprintf(name, sizeof name, "%c%s", title[0] - 'A' + 'a', title + 1);
    check_axis_name(&figure, name);
    check_axis_name(&figure, "steps");
    struct element goal;
    at = figure.begin;
    bool has_goal = figure_next(&figure, &at, "line", "goal", &goal);
    CHECK(has_goal == (strcmp(title, "Exact match") == 0));
    if (has_goal) {
        CHECK_NEAR(goal.y1, figure_y(&figure, 90), pixel);
        CHECK_NEAR(goal.y2, goal.y1, 0);
    }
}

/* The points of the second half of the steps, on a finer scale. */
static void check_second_half(const char *page, const struct collection *collection)
{
    const struct figure whole = figure_of(page, "Training loss"),
                        figure = figure_of(page, "Training loss, second half");
    const int64_t half = collection->comparison->steps / 2;
    static struct element curve;
    int points = 0, wanted = 0;
    for (int i = 0; i < collection->record_count; i++)
        for (int j = 0; j < collection->records[i].point_count; j++)
            wanted += collection->records[i].points[j].step >= half;
    for (const char *at = figure.begin; figure_next(&figure, &at, "path", "thin", &curve);)
        points += curve.points;
    CHECK_INT(points, wanted);
    CHECK(fabs(figure.y_distance) > fabs(whole.y_distance));
}

/* Where the row of an arm is: its name is in its middle. */
static double row_of(const struct figure *figure, const struct comparison *comparison, int arm)
{
    const char *at = figure->begin;
    struct element label;
    while (figure_next(figure, &at, "text", "label", &label))
        if (arm_of_label(comparison, &label) == arm)
            return label.y1 - 4.5;
    CHECK(!"the arm has a row");
    return 0;
}

/* The marker with that tooltip is at the value, in the row, and has the arm's class. */
static void check_marker(const struct figure *figure, int arm, const char *title, double value, double row)
{
    const char *at = figure->begin;
    struct element marker;
    char class[16];
    snprintf(class, sizeof class, "e%d", arm);
    while (figure_next(figure, &at, "path", "dot", &marker)) {
        if (!has_class(&marker, class) || strcmp(marker.text, title) != 0)
            continue;
        CHECK_NEAR(marker.x1, figure_x(figure, value), pixel);
        CHECK_NEAR(marker.y1, row, 26);
        return;
    }
    CHECK(!"the marker is there");
    printf("    %s in %s\n", title, class);
}

/* The line of that class that crosses the row, from low to high. */
static void check_line(const struct figure *figure, const char *class, double row, double low, double high)
{
    const char *at = figure->begin;
    struct element line;
    while (figure_next(figure, &at, "line", class, &line)) {
        if (fabs((line.y1 + line.y2) / 2 - row) > 20 || (low < high && line.y1 < line.y2))
            continue;
        CHECK_NEAR(line.x1, figure_x(figure, low), pixel);
        CHECK_NEAR(line.x2, figure_x(figure, high), pixel);
        return;
    }
    CHECK(!"the line is there");
    printf("    %s\n", class);
}

static void check_scores(const char *page, const struct comparison *comparison)
{
    struct figure figure = figure_of(page, "Final scores");
    enum measure measure = comparison->measures[0];
    check_axes(&figure, false);
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct comparison_arm *arm = &comparison->arms[i];
        double row = row_of(&figure, comparison, i);
        check_about("scores of %s", arm->name);
        for (int j = 0; j < arm->run_count; j++) {
            const struct record *record = &comparison->records[arm->runs[j]];
            char title[160];
            double value = record_measure(record, measure);
            snprintf(title, sizeof title, "%s, seed %d: %.*f", arm->name, (int)record->seed,
                     measure_descriptions[measure].decimals, value);
            check_marker(&figure, i, title, value, row);
        }
        check_line(&figure, "mean", row, arm->statistics[measure].mean, arm->statistics[measure].mean);
        check_line(&figure, "median", row, arm->statistics[measure].median, arm->statistics[measure].median);
    }
    CHECK(says(&figure, "Solid line: mean. Dashed line: median."));
    char name[64]; /* up to the comma: the unit may stand elsewhere */
    snprintf(name, sizeof name, "%.*s", (int)strcspn(measure_descriptions[measure].title, ","),
             measure_descriptions[measure].title);
    check_axis_name(&figure, name);
}

static void check_difference_chart(const char *page, const struct comparison *comparison)
{
    struct figure figure = figure_of(page, "Paired differences");
    enum measure measure = comparison->measures[0];
    bool higher = measure_descriptions[measure].better == HIGHER_IS_BETTER;
    check_axes(&figure, false);
    double row = 0;
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        const struct paired_difference *difference = &contrast->difference[measure];
        char class[16];
        row = row_of(&figure, comparison, contrast->arm);
        check_about("differences of %s", comparison->arms[contrast->arm].name);
        for (int j = 0; j < contrast->pair_count; j++) {
            double value = record_measure(&comparison->records[contrast->pairs[j].arm], measure) -
                           record_measure(&comparison->records[contrast->pairs[j].baseline], measure);
            char title[160];
            snprintf(title, sizeof title, value == 0 ? "seed %d: %.*f" : "seed %d: %+.*f",
                     (int)contrast->pairs[j].seed, measure_descriptions[measure].decimals, value);
            check_marker(&figure, contrast->arm, title, value, row);
        }
        snprintf(class, sizeof class, "e%d", contrast->arm);
        check_line(&figure, class, row, difference->low, difference->high);
        check_line(&figure, "mean", row, difference->mean, difference->mean);
    }
    check_axis_name(&figure, measure == MEASURE_EXACT_MATCH   ? "difference, points of exact match"
                             : measure == MEASURE_STEPS_TO_90 ? "difference, steps to 90%"
                             : measure == MEASURE_BLEU        ? "difference, BLEU"
                                                              : "difference, nats per token");
    /* The words above zero stand on the side that they speak of. */
    struct element words, zero;
    const char *at = figure.begin, *zero_at = figure.begin;
    bool found = false;
    CHECK(figure_next(&figure, &zero_at, "line", "zero", &zero));
    CHECK_NEAR(zero.x1, figure_x(&figure, 0), pixel);
    while (figure_next(&figure, &at, "text", "name", &words)) {
        bool better = strstr(words.text, "better than rope") != NULL,
             worse = strstr(words.text, "worse than rope") != NULL;
        if (!better && !worse)
            continue;
        found = true;
        bool right = words.x1 > zero.x1;
        CHECK(right == (strcmp(words.anchor, "start") == 0));
        CHECK(right == (strstr(words.text, "→") != NULL));
        CHECK(better == (right == higher));
    }
    CHECK(found);
}

/* The stylesheet draws means bold, medians dashed, and every arm in a colour of its own. */
static void check_style(const char *page)
{
    double thin, bold;
    check_about("style");
    const char *style = strstr(page, "svg .thin{stroke-width:");
    CHECK_INT(sscanf(style, "svg .thin{stroke-width:%lf;", &thin), 1);
    CHECK_INT(sscanf(strstr(style, "svg .bold{"), "svg .bold{stroke-width:%lf}", &bold), 1);
    CHECK(bold > 2 * thin);
    const char *mean = strstr(page, "svg .mean{"), *median = strstr(page, "svg .median{");
    const char *mean_dash = strstr(mean, "dasharray"), *median_dash = strstr(median, "dasharray");
    CHECK(mean_dash > strchr(mean, '}') && median_dash < strchr(median, '}'));
    for (int i = 0; i < 7; i++) {
        char rule[64];
        snprintf(rule, sizeof rule, ".e%d,.e%d,.e%d,.e%d{color:var(--e%d)}", i, i + 7, i + 14, i + 21, i);
        CHECK(strstr(page, rule) != NULL);
    }
}

/* ---- answers ---- */

static void check_samples(const char *page, const struct collection *collection)
{
    const char *sample = page;
    for (int i = 0; i < MADE_SAMPLES; i++) {
        sample = strstr(sample + 1, "class=\"card sample\"");
        if (!CHECK(sample != NULL))
            return;
        const char *end = strstr(sample, "</div>");
        for (int j = 0; j < collection->comparison->arm_count; j++) {
            const char *name = collection->comparison->arms[j].name;
            char wanted[512];
            check_about("answer %d of %s", i, name);
            snprintf(wanted, sizeof wanted,
                     "<span class=\"who e%d\">%s</span><b class=\"%s\" role=\"img\" aria-label=\"%s\">%s</b>"
                     "<code class=\"%s\">%s&#39;s answer %d from seed 1</code>",
                     j, name, i ? "incorrect" : "correct", i ? "incorrect" : "correct", i ? "✗" : "✓",
                     i ? "incorrect" : "correct", name, i);
            const char *answer = strstr(sample, wanted);
            CHECK(answer != NULL && answer < end);
        }
    }
}

static void check_page(const struct sample_run *runs, const char *primary, const char *const *verdicts)
{
    struct collection collection;
    sample_collection(&collection, runs, MADE_EXAMPLE, primary, (struct comparison_request){0});
    const struct comparison *comparison = collection.comparison;
    char *page = page_of(&collection);
    check_about("a page of %s", primary);
    CHECK_TEXT(measure_names[comparison->measures[0]], primary);
    for (int i = 0; i < 2; i++)
        if (!CHECK(strstr(page, verdicts[i]) != NULL))
            printf("    %s\n", verdicts[i]);
    CHECK_WORDS(page, "<h1>rope, roper and none</h1>|21 runs of 600 steps each, alike but for their position "
                      "encoding and their seed.|20 of 21 runs are finished.");
    CHECK((strstr(page, "Evaluated on 128 problems") != NULL) == comparison->has_problems);
    check_statistics(page, comparison);
    check_differences(page, comparison);
    check_pairs(page, comparison);
    check_runs(page, &collection);
    check_cards(page, comparison);
    if (comparison->has_problems)
        check_curves(page, &collection, "Exact match");
    check_curves(page, &collection, "Validation loss");
    check_curves(page, &collection, "Training loss");
    if (measure_descriptions[comparison->measures[0]].scoring == SCORING_LOSS)
        check_second_half(page, &collection);
    check_scores(page, comparison);
    check_difference_chart(page, comparison);
    check_style(page);
    if (comparison->has_problems)
        check_samples(page, &collection);
    free(page);
    collection_free(&collection);
}

/* Every arm with every other: the tables and cards have them all. */
static void check_all_pairs(void)
{
    struct collection collection;
    sample_collection(&collection, sample_example, MADE_EXAMPLE, "validation_loss",
                      (struct comparison_request){.all_pairs = true});
    char *page = page_of(&collection);
    check_differences(page, collection.comparison);
    check_pairs(page, collection.comparison);
    check_cards(page, collection.comparison);
    struct figure figure = figure_of(page, "Paired differences");
    static const char *const labels[] = {"roper", "rope", "none", "rope", "none", "roper"};
    const char *at = figure.begin;
    struct element label;
    for (int i = 0; i < 6; i++) {
        CHECK(figure_next(&figure, &at, "text", "label", &label));
        CHECK_TEXT(label.text, labels[i]);
    }
    CHECK(!says(&figure, "than rope"));
    free(page);
    collection_free(&collection);
}

/* What the runs were seen by, and what they differ in, comes before the verdict. */
static void check_warnings(void)
{
    struct collection collection;
    const struct looks looks = {.seeds = (const int[]){3}, .count = 1};
    sample_collection(&collection, sample_example, MADE_EXAMPLE, NULL,
                      (struct comparison_request){.unlike = "dropout is 0.1 in <one>",
                                                  .looks = &looks,
                                                  .varied = "norm, value_fraction"});
    char *page = page_of(&collection);
    check_about("warnings");
    CHECK_WORDS(
        page, "Not alike: dropout is 0.1 in &lt;one&gt;.|the results of 3 seeds had been seen when more were "
              "added|no verdict on roper and rope: their runs differ in more than what is compared|"
              "<th scope=\"col\">arm</th>");
    CHECK(strstr(page, "Not alike") < strstr(page, "no verdict on roper"));
    CHECK(strstr(page, "alike but for") == NULL && strstr(page, "Paired differences") == NULL &&
          strstr(page, "encoding") == NULL);
    free(page);
    collection_free(&collection);

    check_about("runs that are alike");
    sample_collection(&collection, sample_example, MADE_EXAMPLE, NULL,
                      (struct comparison_request){.varied = "norm, value_fraction"});
    page = page_of(&collection);
    CHECK_WORDS(page, "alike but for their norm, value_fraction and their seed|<th scope=\"col\">norm, "
                      "value_fraction</th>");
    free(page);
    collection_free(&collection);
}

/* Translations are neither correct nor wrong, and there are no steps to 90%. The table of runs has BLEU of
 * both sets. */
static void check_translations(const struct sample_run *runs)
{
    struct collection collection;
    sample_collection(&collection, runs, MADE_EXAMPLE, NULL, (struct comparison_request){0});
    char *page = page_of(&collection);
    check_about("translations");
    CHECK_INT(collection.comparison->measures[0], MEASURE_BLEU);
    CHECK_INT(collection.comparison->measure_count, 2);
    CHECK_WORDS(page, "<h3>BLEU</h3>|BLEU on validation data|<th scope=\"col\">BLEU, validation</th><th "
                      "scope=\"col\">BLEU, test</th>|"
                      ""
                      "<td>37.8</td><td>40.8</td>|roper&#39;s answer 0 from seed 1|of all translations");
    CHECK(strstr(page, "to 90%") == NULL && strstr(page, "xact match") == NULL);
    CHECK(strstr(page, "aria-label=\"correct\"") == NULL && strstr(page, "aria-label=\"incorrect\"") == NULL);
    free(page);
    collection_free(&collection);
}

int main(void)
{
    struct sample_run without_problems[MADE_EXAMPLE];
    sample_example_without_problems(without_problems);
    static const char *const shown[] = {"roper better than rope in 6 of 6 pairs",
                                        "none worse than rope in 6 of 6 pairs"},
                             *const named[] = {"roper against rope", "none against rope"};
    check_page(sample_example, "exact_match", (const char *const[]){named[0], shown[1]});
    check_page(sample_example, "validation_loss", shown);
    check_page(sample_example, "steps_to_90", named);
    check_page(without_problems, "validation_loss_area", shown);
    struct sample_run translated[MADE_EXAMPLE];
    sample_example_translated(translated);
    check_page(translated, "bleu", shown);
    check_translations(translated);
    check_all_pairs();
    check_warnings();
    return check_report();
}
