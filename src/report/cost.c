/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cost.h"

#include "file/file.h"
#include "report/chart/chart_names.h"
#include "report/csv.h"
#include "report/findings.h"
#include "report/html.h"

#include <math.h>

enum { TIME_DECIMALS = 2 };

bool cost_is_known(const struct comparison *comparison)
{
    for (int i = 0; comparison->arm_count > 1 && i < comparison->arm_count; i++)
        if (comparison->arms[i].cost.parameters > 0)
            return true;
    return false;
}

static double score_of(const struct comparison *comparison, int arm)
{
    return comparison->arms[arm].statistics[comparison->measures[0]].mean;
}

/* Whether arm a comes before arm b: the better score first, arms without a score last, equal ones in their
 * order. */
static bool comes_before(const struct comparison *comparison, int a, int b)
{
    const double first = score_of(comparison, a), second = score_of(comparison, b);
    if (isnan(first) || isnan(second) || first == second)
        return isnan(first) == isnan(second) ? a < b : isnan(second);
    return (first > second) == (measure_descriptions[comparison->measures[0]].better == HIGHER_IS_BETTER);
}

/* The arm at a place, 0 being that of the best. */
static int arm_at(const struct comparison *comparison, int place)
{
    for (int arm = 0; arm < comparison->arm_count; arm++) {
        int before = 0;
        for (int i = 0; i < comparison->arm_count; i++)
            before += i != arm && comes_before(comparison, i, arm);
        if (before == place)
            return arm;
    }
    return 0;
}

static void write_text(FILE *stream, const struct comparison *comparison, int arm, int name_width)
{
    const struct comparison_arm *shown = &comparison->arms[arm];
    const int decimals = measure_descriptions[comparison->measures[0]].decimals;
    char number[3][HTML_NUMBER_BYTES] = {"-", "-", "-"};
    if (isfinite(score_of(comparison, arm)))
        snprintf(number[0], sizeof number[0], "%.*f", decimals, score_of(comparison, arm));
    if (shown->cost.parameters > 0)
        snprintf(number[1], sizeof number[1], "%lld", (long long)shown->cost.parameters);
    if (isfinite(shown->cost.time))
        snprintf(number[2], sizeof number[2], "%.*f", (int)TIME_DECIMALS, shown->cost.time);
    fprintf(stream, "%-*s  %8s  %12s  %6s\n", name_width, shown->name, number[0], number[1], number[2]);
}

void cost_text(FILE *stream, const struct comparison *comparison)
{
    const int name_width = arm_name_width(comparison, "cost");
    fprintf(stream, "\n%-*s  %8s  %12s  %6s\n", name_width, "cost", "mean", "parameters", "time");
    for (int i = 0; i < comparison->arm_count; i++)
        write_text(stream, comparison, arm_at(comparison, i), name_width);
    fprintf(stream, "time: of a step, that of %s being 1, from what the runs logged\n",
            comparison->arms[0].name);
}

json_t *cost_json(const struct comparison_arm *arm)
{
    return json_pack("{s:o, s:o}", "parameters",
                     arm->cost.parameters > 0 ? json_integer((json_int_t)arm->cost.parameters) : json_null(),
                     "time", file_json_number(arm->cost.time));
}

/* ---- on the page ---- */

static void write_row(struct page_table *table, const struct comparison *comparison, int arm)
{
    const struct comparison_arm *shown = &comparison->arms[arm];
    char number[HTML_NUMBER_BYTES];
    page_table_row(table, arm, shown->name);
    page_table_number(table, score_of(comparison, arm),
                      measure_descriptions[comparison->measures[0]].decimals);
    page_table_cell(table, "%s",
                    shown->cost.parameters > 0 ? html_count(number, shown->cost.parameters) : "–");
    page_table_number(table, shown->cost.time, TIME_DECIMALS);
}

void cost_table(struct page_table *table, const struct comparison *comparison)
{
    char mean[128];
    const char *const heads[] = {arm_heading(comparison), mean, "parameters", "time"};
    snprintf(mean, sizeof mean, "mean, %s", measure_descriptions[comparison->measures[0]].title);
    page_table_begin(table, "Cost", heads, 4);
    for (int i = 0; i < comparison->arm_count; i++)
        write_row(table, comparison, arm_at(comparison, i));
    page_table_end(table);
    page_table_note(
        table,
        "The best first. Time is that of a step in training, that of %s being 1: the median over seeds, "
        "from what the runs logged, whatever ran beside them. `rotary bench train --position A,B` "
        "measures it.",
        comparison->arms[0].name);
}

/* ---- the chart ---- */

struct cost_chart {
    FILE *stream;
    const struct comparison *comparison;
    enum cost cost;
    struct svg_frame frame;
    struct svg_scale across, up;
};

static double cost_of(const struct cost_chart *chart, int arm)
{
    const struct arm_cost *cost = &chart->comparison->arms[arm].cost;
    if (chart->cost == COST_TIME)
        return cost->time;
    return cost->parameters > 0 ? (double)cost->parameters : (double)NAN;
}

static struct chart_end marker_of(const void *argument, int arm)
{
    const struct cost_chart *chart = argument;
    const double cost = cost_of(chart, arm), score = score_of(chart->comparison, arm);
    if (!isfinite(cost) || !isfinite(score))
        return (struct chart_end){(double)NAN, (double)NAN};
    return (struct chart_end){svg_place(chart->across, cost), svg_place(chart->up, score)};
}

/* Sets both scales to the values there are; false without any. */
static bool set_scales(struct cost_chart *chart)
{
    struct svg_scale *across = &chart->across, *up = &chart->up;
    *across = *up = (struct svg_scale){.low = (double)INFINITY, .high = -(double)INFINITY};
    for (int i = 0; i < chart->comparison->arm_count; i++) {
        const double cost = cost_of(chart, i), score = score_of(chart->comparison, i);
        if (!isfinite(cost) || !isfinite(score))
            continue;
        across->low = fmin(across->low, cost);
        across->high = fmax(across->high, cost);
        up->low = fmin(up->low, score);
        up->high = fmax(up->high, score);
    }
    if (across->low > across->high)
        return false;
    svg_round_range(&across->low, &across->high);
    svg_round_range(&up->low, &up->high);
    return true;
}

static const char *cost_title(enum cost cost)
{
    return cost == COST_TIME ? "time of a step" : "parameters";
}

void cost_draw(FILE *stream, const void *argument, struct svg_look look)
{
    const struct cost_figure *figure = argument;
    const struct comparison *comparison = figure->comparison;
    const char *title = cost_title(figure->cost);
    struct cost_chart chart = {.stream = stream, .comparison = comparison, .cost = figure->cost};
    if (!set_scales(&chart)) {
        chart.across.low = chart.up.low = 0;
        chart.across.high = chart.up.high = 1;
    }
    chart.frame = chart_names_frame(comparison);
    chart.across.from = chart.frame.left + 8;
    chart.across.to = chart.frame.right - 8;
    chart.up.from = chart.frame.bottom;
    chart.up.to = chart.frame.top;
    svg_begin(stream, &(struct svg_drawing){
                          .height = (int)chart.frame.bottom + CHART_BELOW, .label = title, .look = look});
    svg_axis_left(stream, chart.frame, chart.up, "", measure_descriptions[comparison->measures[0]].title);
    svg_axis_below(stream, chart.frame, chart.across, title);
    chart_names(&(struct chart_names){.stream = stream,
                                      .comparison = comparison,
                                      .frame = chart.frame,
                                      .gap = CHART_LEADER_GAP,
                                      .end_of = marker_of,
                                      .argument = &chart});
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct chart_end marker = marker_of(&chart, i);
        char text[CHART_LABEL_BYTES + 2 * HTML_NUMBER_BYTES], score[HTML_NUMBER_BYTES],
            cost[HTML_NUMBER_BYTES];
        if (!isfinite(marker.x))
            continue;
        html_number(score, score_of(comparison, i), measure_descriptions[comparison->measures[0]].decimals,
                    0);
        snprintf(text, sizeof text, "%.100s: %s, %s %s", comparison->arms[i].name, score, title,
                 chart.cost == COST_TIME ? html_number(cost, cost_of(&chart, i), TIME_DECIMALS, 0)
                                         : html_count(cost, (int64_t)cost_of(&chart, i)));
        svg_marker(stream, i, marker.x, marker.y, 11, text);
    }
    svg_end(stream);
}

void cost_values(FILE *stream, const void *argument)
{
    const struct cost_figure *figure = argument;
    const struct comparison *comparison = figure->comparison;
    const struct cost_chart chart = {.comparison = comparison, .cost = figure->cost};
    fprintf(stream, "arm,%s,%s\n", figure->cost == COST_TIME ? "time" : "parameters",
            measure_names[comparison->measures[0]]);
    for (int i = 0; i < comparison->arm_count; i++) {
        csv_text_html(stream, comparison->arms[i].name);
        fputc(',', stream);
        csv_number(stream, cost_of(&chart, i));
        fputc(',', stream);
        csv_number(stream, score_of(comparison, i));
        fputc('\n', stream);
    }
}
