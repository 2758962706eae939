/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart/charts.h"

#include "report/chart/chart_names.h"
#include "report/chart/svg.h"
#include "report/csv.h"
#include "report/html.h"

#include <math.h>
#include <string.h>

/* The runs of more arms than MANY_ARMS are drawn thinner. */
enum { CURVES_HEIGHT = 370, ROW_HEIGHT = 52, LOW_ROW_HEIGHT = 34, ROWS_BELOW = 48, MANY_ARMS = 4 };

/* The range of the finite values given so far. */
struct range {
    double low, high;
};

static const struct range empty_range = {(double)INFINITY, -(double)INFINITY};

bool curves_exist(const struct curves_chart *chart, int count)
{
    for (int i = 0; i < chart->series->count; i++) {
        const struct series_curve *curve = &chart->series->curves[i];
        int found = 0;
        for (int j = 0; j < curve->count; j++)
            found += isfinite(curve->points[j].value) && curve->points[j].step >= (double)chart->first;
        if (found >= count)
            return true;
    }
    return false;
}

/* The range of all values from step `from` on. */
static struct range range_from(const struct series *series, double from)
{
    struct range range = empty_range;
    for (int i = 0; i < series->count; i++)
        for (int j = 0; j < series->curves[i].count; j++)
            if (series->curves[i].points[j].step >= from)
                svg_widen_range(&range.low, &range.high, series->curves[i].points[j].value);
    return range;
}

bool curves_have_log(const struct curves_chart *chart)
{
    const bool loss = chart->kind == SERIES_TRAINING_LOSS || chart->kind == SERIES_VALIDATION_LOSS;
    return loss && range_from(chart->series, (double)chart->first).low > 0;
}

/* A loss falls steeply at first. The frame leaves out the first twentieth of the steps: curves enter it from
 * above. */
static struct range range_of_curves(const struct curves_chart *chart, double steps, bool log)
{
    if (chart->kind == SERIES_EXACT_MATCH && !log)
        return (struct range){0, 100};
    const double first = (double)chart->first;
    const struct range late = range_from(chart->series, fmax(first, nextafter(0.05 * steps, steps)));
    struct range range = late.low <= late.high ? late : range_from(chart->series, first);
    if (log) {
        const double room = pow(range.high / range.low, 0.03) * 1.001;
        return (struct range){range.low / room, range.high * room};
    }
    svg_round_range(&range.low, &range.high);
    return range;
}

static const char *title_of(char title[128], const struct comparison *comparison,
                            const struct series_curve *curve)
{
    const char *name = comparison->arms[curve->arm].name;
    if (curve->mean)
        snprintf(title, 128, "%s, mean", name);
    else
        snprintf(title, 128, "%s, seed %lld%s", name, (long long)curve->seed,
                 curve->finished   ? ""
                 : curve->diverged ? ", diverged"
                                   : ", unfinished");
    return title;
}

/* `column`: of the values (curves_csv). */
static void draw_curve(FILE *stream, const struct curves_chart *chart, int column, bool bold,
                       const struct svg_plane *plane)
{
    const struct series_curve *curve = &chart->series->curves[column - 1];
    const bool many = chart->comparison->arm_count > MANY_ARMS;
    char title[128];
    fprintf(stream, "<path class=\"%s %s curve %s%s%s\" data-column=\"%d\" d=\"", svg_arm_class(curve->arm),
            svg_dash_class(curve->arm), bold ? "bold" : "thin", many ? " many" : "",
            curve->finished ? "" : " unfinished", column);
    bool pen_down = false;
    for (int i = 0; i < curve->count; i++) {
        const struct series_point *point = &curve->points[i];
        if (!isfinite(point->value) || point->step < plane->across.low) {
            pen_down = false;
            continue;
        }
        fprintf(stream, "%c%.1f %.1f", pen_down ? 'L' : 'M', svg_place(plane->across, point->step),
                svg_place(plane->up, point->value));
        pen_down = true;
    }
    fprintf(stream, "\"><title>");
    html_text(stream, title_of(title, chart->comparison, curve));
    fprintf(stream, "</title></path>\n");
}

/* The curve drawn bold for an arm: the mean, or its only run. */
static const struct series_curve *representative_curve(const struct series *series, int arm)
{
    const struct series_curve *representative = NULL;
    for (int i = 0; i < series->count; i++) {
        const struct series_curve *curve = &series->curves[i];
        if (curve->arm == arm && curve->count &&
            (!representative || curve->mean || !representative->finished))
            representative = curve;
    }
    return representative;
}

struct curve_ends {
    const struct series *series;
    struct svg_scale up;
};

/* The end of an arm's curve. */
static struct chart_end curve_end(const void *argument, int arm)
{
    const struct curve_ends *ends = argument;
    const struct series_curve *curve = representative_curve(ends->series, arm);
    const double y = curve ? svg_place(ends->up, curve->points[curve->count - 1].value) : (double)NAN;
    return (struct chart_end){.y = y, .x = (double)NAN};
}

static const char *curves_name(const struct comparison *comparison, enum series_kind kind)
{
    switch (kind) {
    case SERIES_LABELS:
        return measure_descriptions[comparison_label_measure(comparison)].title;
    case SERIES_TRAINING_LOSS:
        return "training loss, nats per token";
    case SERIES_VALIDATION_LOSS:
        return "validation loss, nats per token";
    case SERIES_EXACT_MATCH:
        return "exact match";
    case SERIES_BLEU:
        return "BLEU on validation data";
    }
    return "";
}

void curves_draw(FILE *stream, const void *argument, struct svg_look look)
{
    const struct curves_chart *chart = argument;
    const struct comparison *comparison = chart->comparison;
    const char *name = curves_name(comparison, chart->kind);
    struct svg_plane plane = {.frame = {.left = 50,
                                        .right = SVG_WIDTH - 14 - chart_name_width(comparison),
                                        .top = 34,
                                        .bottom = CURVES_HEIGHT - 46}};
    const struct svg_frame *frame = &plane.frame;
    const double steps = comparison->steps > 0 ? (double)comparison->steps : 1;
    const struct range range = range_of_curves(chart, steps, look.log);
    plane.across = (struct svg_scale){(double)chart->first, steps, frame->left, frame->right, false};
    plane.up = (struct svg_scale){range.low, range.high, frame->bottom, frame->top, look.log};

    svg_begin(stream,
              &(struct svg_drawing){.height = CURVES_HEIGHT, .label = name, .look = look, .plane = &plane});
    svg_axis_left(stream, *frame, plane.up, chart->kind == SERIES_EXACT_MATCH ? "%" : "", name);
    svg_axis_below(stream, *frame, plane.across, "steps");
    if (chart->kind == SERIES_EXACT_MATCH)
        svg_line(stream, "goal", frame->left, svg_place(plane.up, 90), frame->right, svg_place(plane.up, 90));
    svg_begin_clipped(stream, *frame);
    for (int bold = 0; bold < 2; bold++) /* bold curves lie above thin ones */
        for (int i = 0; i < chart->series->count; i++) {
            const struct series_curve *curve = &chart->series->curves[i];
            if ((representative_curve(chart->series, curve->arm) == curve) == bold)
                draw_curve(stream, chart, i + 1, bold, &plane);
        }
    svg_end(stream);
    chart_names(&(struct chart_names){.stream = stream,
                                      .comparison = comparison,
                                      .frame = *frame,
                                      .gap = 8,
                                      .end_of = curve_end,
                                      .argument = &(struct curve_ends){chart->series, plane.up}});
    svg_end(stream);
}

/* The first step after `step` that any curve has; infinity if there is none. */
static double next_step(const struct series *series, double step)
{
    double next = (double)INFINITY;
    for (int i = 0; i < series->count; i++)
        for (int j = 0; j < series->curves[i].count; j++)
            if (series->curves[i].points[j].step > step) {
                next = fmin(next, series->curves[i].points[j].step);
                break;
            }
    return next;
}

void curves_csv(FILE *stream, const void *argument)
{
    const struct curves_chart *chart = argument;
    char title[128];
    fputs("step", stream);
    for (int i = 0; i < chart->series->count; i++) {
        fputc(',', stream);
        csv_text_html(stream, title_of(title, chart->comparison, &chart->series->curves[i]));
    }
    fputc('\n', stream);
    for (double step = next_step(chart->series, -1); isfinite(step); step = next_step(chart->series, step)) {
        csv_rounded(stream, step);
        for (int i = 0; i < chart->series->count; i++) {
            fputc(',', stream);
            csv_rounded(stream, series_value(&chart->series->curves[i], step));
        }
        fputc('\n', stream);
    }
}

/* ---- scores ---- */

double scores_offset(struct svg_scale across, const double *values, int at, double size)
{
    const double width = (across.high - across.low) * size / (across.to - across.from);
    int before = 0;
    for (int i = 0; i < at; i++)
        before += fabs(values[i] - values[at]) < width;
    return (before % 2 ? -1 : 1) * 7.0 * ((before + 1) / 2 % 3);
}

static const char *scores_name(enum measure measure)
{
    switch (measure) {
    case MEASURE_EXACT_MATCH:
        return "exact match at the end, %";
    case MEASURE_BLEU:
        return "BLEU at the end";
    case MEASURE_VALIDATION_LOSS:
        return "validation loss at the end, nats per token";
    default:
        return measure_descriptions[measure].title;
    }
}

/* A row of the scores of an arm, with its middle and its height. */
struct score_row {
    struct svg_scale across;
    double y, height;
};

static void draw_scores(FILE *stream, const struct scores_chart *chart, int index, struct score_row row)
{
    const struct comparison_arm *arm = &chart->comparison->arms[index];
    const struct statistics *statistics = &arm->statistics[chart->measure];
    const double *values = arm->values[chart->measure], half = 0.38 * row.height;
    for (int i = 0; i < arm->run_count; i++) {
        char title[160], number[HTML_NUMBER_BYTES];
        if (!isfinite(values[i]))
            continue;
        snprintf(title, sizeof title, "%s, seed %lld: %s", arm->name,
                 (long long)chart->comparison->records[arm->runs[i]].seed,
                 html_number(number, values[i], measure_descriptions[chart->measure].decimals, 0));
        svg_marker(stream, index, svg_place(row.across, values[i]),
                   row.y + scores_offset(row.across, values, i, 10) * row.height / ROW_HEIGHT, 9, title);
    }
    if (arm->run_count < 2 || isnan(statistics->mean))
        return;
    const double mean = svg_place(row.across, statistics->mean),
                 median = svg_place(row.across, statistics->median);
    svg_arm_line(stream, "mean", index, (const double[]){mean, row.y - half, mean, row.y + half});
    svg_arm_line(stream, "median", index, (const double[]){median, row.y - half, median, row.y + half});
}

void scores_draw(FILE *stream, const void *argument, struct svg_look look)
{
    const struct scores_chart *chart = argument;
    const struct comparison *comparison = chart->comparison;
    const double height = comparison->arm_count > MANY_ARMS ? LOW_ROW_HEIGHT : ROW_HEIGHT;
    struct range range = empty_range;
    for (int i = 0; i < comparison->arm_count; i++)
        for (int j = 0; j < comparison->arms[i].run_count; j++)
            svg_widen_range(&range.low, &range.high, comparison->arms[i].values[chart->measure][j]);
    if (range.low > range.high)
        range = (struct range){0, 1};
    svg_round_range(&range.low, &range.high);
    const struct svg_frame frame = {.left = 18 + chart_name_width(comparison),
                                    .right = SVG_WIDTH - 22,
                                    .top = 6,
                                    .bottom = 6 + comparison->arm_count * height};
    struct score_row row = {.across = {range.low, range.high, frame.left + 8, frame.right - 8, false},
                            .height = height};

    svg_begin(stream, &(struct svg_drawing){.height = (int)frame.bottom + ROWS_BELOW,
                                            .label = scores_name(chart->measure),
                                            .look = look});
    svg_axis_below(stream, frame, row.across, scores_name(chart->measure));
    for (int i = 0; i < comparison->arm_count; i++) {
        row.y = frame.top + (i + 0.5) * height;
        chart_name(stream, comparison, i, 2, row.y);
        draw_scores(stream, chart, i, row);
    }
    svg_end(stream);
}

void scores_csv(FILE *stream, const void *argument)
{
    const struct scores_chart *chart = argument;
    fprintf(stream, "arm,seed,%s\n", measure_names[chart->measure]);
    for (int i = 0; i < chart->comparison->arm_count; i++) {
        const struct comparison_arm *arm = &chart->comparison->arms[i];
        for (int j = 0; j < arm->run_count; j++) {
            csv_text_html(stream, arm->name);
            fprintf(stream, ",%lld,", (long long)chart->comparison->records[arm->runs[j]].seed);
            csv_number(stream, arm->values[chart->measure][j]);
            fputc('\n', stream);
        }
    }
}
