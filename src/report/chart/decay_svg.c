/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart/decay_svg.h"

#include "report/chart/svg.h"

#include <math.h>

enum {
    PANEL_HEIGHT = 210,
    TALL_HEIGHT = 320, /* of one panel alone */
    LEGEND_ROW = 20,
    LEGEND_PLACES = 15, /* in a row */
    LEGEND_STEP = 27,
    POINTS = 96, /* at most, in half the width */
    POINTS_ALONE = 1024
};

/* ---- lines ---- */

/* A range of distances that is drawn as one point. */
struct bin {
    double distance, value; /* means; NaN where there is no value */
};

static struct bin bin_of(const struct decay_panel *panel, int64_t line, int64_t begin, int64_t end)
{
    const double *values = panel->values + line * panel->points;
    double sum = 0, distances = 0, count = 0;
    for (int64_t i = begin; i < end && i < panel->points; i++)
        if (isfinite(values[i])) {
            const double weight = panel->counts ? (double)panel->counts[i] : 1.0;
            sum += weight * values[i];
            distances += weight * (double)(panel->first + i);
            count += weight;
        }
    return (struct bin){distances / count, sum / count};
}

/* How many points are one bin. */
static int64_t bin_size(const struct decay_chart *chart, const struct decay_panel *panel)
{
    const int64_t most = chart->columns == 1 ? POINTS_ALONE : POINTS;
    return (panel->points + most - 1) / most;
}

static struct svg_scale scale_of(const struct decay_chart *chart, const struct decay_panel *panel,
                                 struct svg_frame frame)
{
    const int64_t size = bin_size(chart, panel);
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (int64_t line = 0; line < panel->lines; line++)
        for (int64_t i = 0; i < panel->points; i += size) {
            const double value = bin_of(panel, line, i, i + size).value;
            low = fmin(low, value); /* of NaN and a number, the number */
            high = fmax(high, value);
        }
    if (low > high)
        low = high = 0;
    /* From or to 0, where that is not far. */
    if (low > 0 && low < high / 2)
        low = 0;
    if (high < 0 && high > low / 2)
        high = 0;
    svg_round_range(&low, &high);
    return (struct svg_scale){low, high, frame.bottom, frame.top, false};
}

static void draw_line(FILE *stream, const struct decay_chart *chart, const struct decay_panel *panel,
                      int64_t line, const struct svg_scale scales[2])
{
    const int64_t size = bin_size(chart, panel);
    bool pen_down = false;
    fprintf(stream, "<path class=\"curve line %s %s\" d=\"", svg_arm_class((int)(line % SVG_ARMS)),
            svg_dash_class((int)(line % SVG_ARMS)));
    for (int64_t i = 0; i < panel->points; i += size) {
        const struct bin bin = bin_of(panel, line, i, i + size);
        if (isfinite(bin.value))
            fprintf(stream, "%c%.1f %.1f", pen_down ? 'L' : 'M', svg_place(scales[0], bin.distance),
                    svg_place(scales[1], bin.value));
        pen_down = isfinite(bin.value);
    }
    fputs("\"", stream);
    if (panel->lines > 1)
        fprintf(stream, "><title>head %lld</title></path>\n", (long long)line + 1);
    else
        fputs("/>\n", stream);
}

static void draw_panel(FILE *stream, const struct decay_chart *chart, const struct decay_panel *panel,
                       struct svg_frame frame, const char *below)
{
    const double first = (double)panel->first, last = (double)(panel->first + panel->points - 1);
    const struct svg_scale scales[2] = {
        {first, last > first ? last : first + 1, frame.left, frame.right, false},
        scale_of(chart, panel, frame)};
    svg_axis_left(stream, frame, scales[1], "", panel->title);
    svg_axis_below(stream, frame, scales[0], below);
    for (int64_t line = 0; line < panel->lines; line++)
        draw_line(stream, chart, panel, line, scales);
}

/* ---- the chart ---- */

static int64_t max_lines(const struct decay_chart *chart)
{
    int64_t max = 0;
    for (int64_t i = 0; i < chart->count; i++) {
        const int64_t lines = chart->panel(chart->context, i).lines;
        max = lines > max ? lines : max;
    }
    return max;
}

static int64_t legend_rows(int64_t lines)
{
    return lines > 1 ? (lines + LEGEND_PLACES - 1) / LEGEND_PLACES : 0;
}

static void draw_legend(FILE *stream, int64_t lines)
{
    char text[32];
    svg_text(stream, "name", "start", 2, LEGEND_ROW - 4, "head");
    for (int64_t line = 0; line < lines; line++) {
        char class[32];
        snprintf(class, sizeof class, "label %s", svg_arm_class((int)(line % SVG_ARMS)));
        snprintf(text, sizeof text, "%lld", (long long)line + 1);
        svg_text(stream, class, "start", 44.0 + (double)(line % LEGEND_PLACES * LEGEND_STEP),
                 (double)((line / LEGEND_PLACES + 1) * LEGEND_ROW - 4), text);
    }
}

void decay_svg(FILE *stream, const struct decay_chart *chart)
{
    const int64_t lines = max_lines(chart), rows = (chart->count + chart->columns - 1) / chart->columns,
                  top = legend_rows(lines) * LEGEND_ROW;
    const int height = chart->columns == 1 ? TALL_HEIGHT : PANEL_HEIGHT;
    const double width = (double)SVG_WIDTH / chart->columns;
    const struct svg_frame frame = {.left = 48, .right = width - 10, .top = 32, .bottom = height - 50.0};
    svg_begin(stream, &(struct svg_drawing){.height = (int)(top + rows * height),
                                            .label = chart->label,
                                            .look = {.alone = chart->alone}});
    if (lines > 1)
        draw_legend(stream, lines);
    for (int64_t i = 0; i < chart->count; i++) {
        const bool lowest = i + chart->columns >= chart->count;
        fprintf(stream, "<g transform=\"translate(%.1f %lld)\">\n", width * (double)(i % chart->columns),
                (long long)(top + i / chart->columns * height));
        const struct decay_panel panel = chart->panel(chart->context, i);
        draw_panel(stream, chart, &panel, frame,
                   !lowest              ? ""
                   : chart->by_query    ? "place of the query"
                   : chart->columns > 1 ? "distance"
                                        : "distance between query and key");
        fputs("</g>\n", stream);
    }
    svg_end(stream);
}
