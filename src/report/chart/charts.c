/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart/charts.h"

#include "report/chart/chart_names.h"
#include "report/chart/svg.h"
#include "report/html.h"

#include <math.h>
#include <string.h>

enum { CURVES_HEIGHT = 370, ROW_HEIGHT = 52, ROWS_BELOW = 48 };

/* The range of the finite values given so far. */
struct range {
    double low, high;
};

static const struct range empty_range = {(double)INFINITY, -(double)INFINITY};

static void widen(struct range *range, double value)
{
    if (!isfinite(value))
        return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

bool chart_has_curves(const struct series *series, int64_t first, int count)
{
    for (int i = 0; i < series->count; i++) {
        const struct series_curve *curve = &series->curves[i];
        int found = 0;
        for (int j = 0; j < curve->count; j++)
            found += isfinite(curve->points[j].value) && curve->points[j].step >= (double)first;
        if (found >= count)
            return true;
    }
    return false;
}

/* A loss falls steeply at first. The frame leaves out the first twentieth of the steps: curves enter it from
 * above. */
static struct range range_of_curves(const struct series *series, enum series_kind kind,
                                    struct svg_scale across)
{
    if (kind == SERIES_EXACT_MATCH)
        return (struct range){0, 100};
    struct range late = empty_range, all = empty_range;
    for (int i = 0; i < series->count; i++)
        for (int j = 0; j < series->curves[i].count; j++) {
            const struct series_point *point = &series->curves[i].points[j];
            if (point->step < across.low)
                continue;
            widen(&all, point->value);
            if (point->step > fmax(across.low, 0.05 * across.high))
                widen(&late, point->value);
        }
    struct range range = late.low <= late.high ? late : all;
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

static void draw_curve(FILE *stream, const struct comparison *comparison, const struct series_curve *curve,
                       bool bold, struct svg_scale across, struct svg_scale up)
{
    char title[128];
    fprintf(stream, "<path class=\"%s curve %s%s\" d=\"", svg_arm_class(curve->arm), bold ? "bold" : "thin",
            curve->finished ? "" : " unfinished");
    bool pen_down = false;
    for (int i = 0; i < curve->count; i++) {
        const struct series_point *point = &curve->points[i];
        if (!isfinite(point->value) || point->step < across.low) {
            pen_down = false;
            continue;
        }
        fprintf(stream, "%c%.1f %.1f", pen_down ? 'L' : 'M', svg_place(across, point->step),
                svg_place(up, point->value));
        pen_down = true;
    }
    fprintf(stream, "\"><title>");
    html_text(stream, title_of(title, comparison, curve));
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

void chart_curves(FILE *stream, const struct comparison *comparison, const struct series *series,
                  enum series_kind kind, int64_t first)
{
    struct svg_frame frame = {.left = 50,
                              .right = SVG_WIDTH - 14 - chart_name_width(comparison),
                              .top = 34,
                              .bottom = CURVES_HEIGHT - 46};
    const int64_t steps = comparison->steps > 0 ? comparison->steps : 1;
    struct svg_scale across = {(double)first, (double)steps, frame.left, frame.right};
    struct range range = range_of_curves(series, kind, across);
    struct svg_scale up = {range.low, range.high, frame.bottom, frame.top};

    svg_begin(stream, CURVES_HEIGHT, curves_name(comparison, kind));
    svg_axis_left(stream, frame, up, kind == SERIES_EXACT_MATCH ? "%" : "", curves_name(comparison, kind));
    svg_axis_below(stream, frame, across, "steps");
    if (kind == SERIES_EXACT_MATCH)
        svg_line(stream, "goal", frame.left, svg_place(up, 90), frame.right, svg_place(up, 90));
    svg_begin_clipped(stream, frame);
    for (int i = 0; i < series->count; i++) {
        const struct series_curve *curve = &series->curves[i];
        draw_curve(stream, comparison, curve, representative_curve(series, curve->arm) == curve, across, up);
    }
    svg_end(stream);
    chart_names(&(struct chart_names){.stream = stream,
                                      .comparison = comparison,
                                      .frame = frame,
                                      .gap = 8,
                                      .end_of = curve_end,
                                      .argument = &(struct curve_ends){series, up}});
    svg_end(stream);
}

/* A chart of rows, for arms or contrasts, over values of one measure. */
struct row_chart {
    FILE *stream;
    const struct comparison *comparison;
    enum measure measure;
    struct svg_frame frame;
    struct svg_scale across;
};

static struct row_chart row_chart_of(FILE *stream, const struct comparison *comparison, enum measure measure,
                                     struct range range, int rows, double top)
{
    struct svg_frame frame = {.left = 18 + chart_name_width(comparison),
                              .right = SVG_WIDTH - 22,
                              .top = top,
                              .bottom = top + rows * ROW_HEIGHT};
    return (struct row_chart){.stream = stream,
                              .comparison = comparison,
                              .measure = measure,
                              .frame = frame,
                              .across = {range.low, range.high, frame.left + 8, frame.right - 8}};
}

/* The middle of a row. */
static double row_y(const struct row_chart *chart, int row)
{
    return chart->frame.top + (row + 0.5) * ROW_HEIGHT;
}

/* Moves a dot `size` wide above or below its row so that it does not cover an equal value. */
static double row_offset(const struct row_chart *chart, const double *values, int at, double size)
{
    double width = (chart->across.high - chart->across.low) * size / (chart->frame.right - chart->frame.left);
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

static void draw_scores(const struct row_chart *chart, int index)
{
    const struct comparison_arm *arm = &chart->comparison->arms[index];
    const struct statistics *statistics = &arm->statistics[chart->measure];
    const double *values = arm->values[chart->measure];
    double y = row_y(chart, index);
    for (int i = 0; i < arm->run_count; i++) {
        char title[160], number[HTML_NUMBER_BYTES];
        if (!isfinite(values[i]))
            continue;
        snprintf(title, sizeof title, "%s, seed %lld: %s", arm->name,
                 (long long)chart->comparison->records[arm->runs[i]].seed,
                 html_number(number, values[i], measure_descriptions[chart->measure].decimals, 0));
        svg_marker(chart->stream, index, svg_place(chart->across, values[i]),
                   y + row_offset(chart, values, i, 10), 9, title);
    }
    if (arm->run_count < 2 || isnan(statistics->mean))
        return;
    double mean = svg_place(chart->across, statistics->mean),
           median = svg_place(chart->across, statistics->median);
    svg_line(chart->stream, "mean", mean, y - 20, mean, y + 20);
    svg_line(chart->stream, "median", median, y - 20, median, y + 20);
}

void chart_scores(FILE *stream, const struct comparison *comparison, enum measure measure)
{
    struct range range = empty_range;
    for (int i = 0; i < comparison->arm_count; i++)
        for (int j = 0; j < comparison->arms[i].run_count; j++)
            widen(&range, comparison->arms[i].values[measure][j]);
    if (range.low > range.high)
        return;
    svg_round_range(&range.low, &range.high);
    struct row_chart chart = row_chart_of(stream, comparison, measure, range, comparison->arm_count, 6);

    svg_begin(stream, (int)chart.frame.bottom + ROWS_BELOW, scores_name(measure));
    svg_axis_below(stream, chart.frame, chart.across, scores_name(measure));
    for (int i = 0; i < comparison->arm_count; i++) {
        chart_name(stream, comparison, i, 2, row_y(&chart, i));
        draw_scores(&chart, i);
    }
    svg_end(stream);
}

/* Includes zero, the baseline. */
static struct range range_of_differences(const struct comparison *comparison, enum measure measure)
{
    struct range range = {0, 0};
    for (int i = 0; i < comparison->contrast_count; i++) {
        const struct contrast *contrast = &comparison->contrasts[i];
        for (int j = 0; j < contrast->pair_count; j++)
            widen(&range, contrast->differences[measure][j]);
        widen(&range, contrast->difference[measure].low);
        widen(&range, contrast->difference[measure].high);
    }
    svg_round_range(&range.low, &range.high);
    return range;
}

static void draw_pairs(const struct row_chart *chart, int row)
{
    const struct contrast *contrast = &chart->comparison->contrasts[row];
    const double *values = contrast->differences[chart->measure];
    for (int i = 0; i < contrast->pair_count; i++) {
        char title[160], number[HTML_NUMBER_BYTES];
        if (!isfinite(values[i]))
            continue;
        snprintf(title, sizeof title, "seed %lld: %s", (long long)contrast->pairs[i].seed,
                 html_number(number, values[i], measure_descriptions[chart->measure].decimals, 1));
        svg_marker(chart->stream, contrast->arm, svg_place(chart->across, values[i]),
                   row_y(chart, row) - 11 - fabs(row_offset(chart, values, i, 8)) / 2, 8, title);
    }
}

static void draw_interval(const struct row_chart *chart, int row)
{
    const struct contrast *contrast = &chart->comparison->contrasts[row];
    const struct paired_difference *difference = &contrast->difference[chart->measure];
    if (isnan(difference->low))
        return;
    double low = svg_place(chart->across, difference->low), high = svg_place(chart->across, difference->high),
           mean = svg_place(chart->across, difference->mean), y = row_y(chart, row);
    char class[32];
    snprintf(class, sizeof class, "interval %s", svg_arm_class(contrast->arm));
    svg_line(chart->stream, class, low, y + 8, high, y + 8);
    svg_line(chart->stream, class, low, y + 3, low, y + 13);
    svg_line(chart->stream, class, high, y + 3, high, y + 13);
    svg_line(chart->stream, "mean", mean, y - 2, mean, y + 18);
}

/* Whether every contrast is with the first arm. */
static bool has_one_baseline(const struct comparison *comparison)
{
    for (int i = 0; i < comparison->contrast_count; i++)
        if (comparison->contrasts[i].baseline != 0)
            return false;
    return true;
}

/* Labels the wider side of zero: better or worse than the baseline. */
static void draw_zero(const struct row_chart *chart, struct range range)
{
    const struct comparison *comparison = chart->comparison;
    double zero = svg_place(chart->across, 0), top = chart->frame.top;
    svg_line(chart->stream, "zero", zero, top - 8, zero, chart->frame.bottom);
    bool higher = measure_descriptions[chart->measure].better == HIGHER_IS_BETTER;
    bool right_side = higher ? range.high >= -range.low : range.high > -range.low;
    char text[CHART_LABEL_BYTES + 64], words[CHART_LABEL_BYTES + 32], baseline[CHART_LABEL_BYTES];
    chart_label(baseline, comparison, 0);
    snprintf(words, sizeof words, has_one_baseline(comparison) ? "%s than %s" : "%s",
             right_side == higher ? "better" : "worse", baseline);
    snprintf(text, sizeof text, right_side ? "%s →" : "← %s", words);
    svg_text(chart->stream, "name", right_side ? "start" : "end", zero + (right_side ? 6 : -6), top - 14,
             text);
}

/* The arm's name; below it that of its baseline, unless that is the same for all. */
static void draw_contrast_name(const struct row_chart *chart, int row)
{
    const struct contrast *contrast = &chart->comparison->contrasts[row];
    bool one = has_one_baseline(chart->comparison);
    double y = row_y(chart, row);
    chart_name(chart->stream, chart->comparison, contrast->arm, 2, one ? y : y - 9);
    if (!one)
        chart_name(chart->stream, chart->comparison, contrast->baseline, 2, y + 9);
}

static const char *differences_name(enum measure measure)
{
    switch (measure) {
    case MEASURE_EXACT_MATCH:
        return "difference, points of exact match";
    case MEASURE_STEPS_TO_90:
        return "difference, steps to 90%";
    case MEASURE_BLEU:
        return "difference, BLEU";
    case MEASURE_VALIDATION_LOSS:
    case MEASURE_VALIDATION_LOSS_AREA:
        return "difference, nats per token";
    case MEASURE_BITS_PER_BYTE:
        return "difference, bits per byte";
    default:
        return measure_descriptions[measure].unit;
    }
}

void chart_differences(FILE *stream, const struct comparison *comparison, enum measure measure)
{
    struct range range = range_of_differences(comparison, measure);
    struct row_chart chart = row_chart_of(stream, comparison, measure, range, comparison->contrast_count, 34);

    svg_begin(stream, (int)chart.frame.bottom + ROWS_BELOW, "paired differences with their intervals");
    svg_axis_below(stream, chart.frame, chart.across, differences_name(measure));
    draw_zero(&chart, range);
    for (int i = 0; i < comparison->contrast_count; i++) {
        draw_contrast_name(&chart, i);
        draw_pairs(&chart, i);
        draw_interval(&chart, i);
    }
    svg_end(stream);
}
