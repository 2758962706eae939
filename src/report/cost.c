/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cost.h"

#include "file/file.h"
#include "report/chart/chart_names.h"
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

static void write_row(FILE *stream, const struct comparison *comparison, int arm)
{
    const struct comparison_arm *shown = &comparison->arms[arm];
    char number[HTML_NUMBER_BYTES];
    fprintf(stream, "<tr><th scope=\"row\" class=\"%s\">", svg_arm_class(arm));
    html_text(stream, shown->name);
    fprintf(stream, "</th><td>%s</td>",
            html_number(number, score_of(comparison, arm),
                        measure_descriptions[comparison->measures[0]].decimals, 0));
    fprintf(stream, "<td>%s</td>",
            shown->cost.parameters > 0 ? html_count(number, shown->cost.parameters) : "–");
    fprintf(stream, "<td>%s</td></tr>\n", html_number(number, shown->cost.time, TIME_DECIMALS, 0));
}

void cost_table(FILE *stream, const struct comparison *comparison)
{
    fputs("<div class=\"scroll\"><table class=\"sticky\">\n<caption>Cost</caption>\n<thead><tr><th>", stream);
    html_text(stream, arm_heading(comparison));
    fprintf(stream, "</th><th>mean, %s</th><th>parameters</th><th>time</th></tr></thead>\n<tbody>\n",
            measure_descriptions[comparison->measures[0]].title);
    for (int i = 0; i < comparison->arm_count; i++)
        write_row(stream, comparison, arm_at(comparison, i));
    fputs("</tbody></table></div>\n<p class=\"note\">The best first. Time is that of a step in training, "
          "that of ",
          stream);
    html_text(stream, comparison->arms[0].name);
    fputs(
        " being 1: the median over seeds, from what the runs logged, whatever ran beside them. <code>rotary "
        "bench train --position A,B</code> measures it.</p>\n",
        stream);
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

void chart_cost(FILE *stream, const struct comparison *comparison, enum cost cost)
{
    const char *title = cost == COST_TIME ? "time of a step" : "parameters";
    struct cost_chart chart = {.stream = stream, .comparison = comparison, .cost = cost};
    if (!set_scales(&chart))
        return;
    chart.frame = chart_names_frame(comparison);
    chart.across.from = chart.frame.left + 8;
    chart.across.to = chart.frame.right - 8;
    chart.up.from = chart.frame.bottom;
    chart.up.to = chart.frame.top;
    svg_begin(stream, (int)chart.frame.bottom + CHART_BELOW, title);
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
        if (isfinite(marker.x))
            svg_marker(stream, i, marker.x, marker.y, 11, comparison->arms[i].name);
    }
    svg_end(stream);
}
