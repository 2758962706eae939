/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart/svg.h"

#include "report/html.h"
#include "report/style.h"

#include <math.h>
#include <string.h>

double svg_place(struct svg_scale scale, double value)
{
    return scale.from + (value - scale.low) / (scale.high - scale.low) * (scale.to - scale.from);
}

/* The smallest of 1, 2, 5 times a power of ten that is not below `distance`. */
static double round_up(double distance)
{
    double power = pow(10, floor(log10(distance)));
    double digit = distance / power;
    return power * (digit <= 1.0000001 ? 1 : digit <= 2.0000001 ? 2 : digit <= 5.0000001 ? 5 : 10);
}

struct svg_ticks svg_ticks_of(double low, double high, int wanted)
{
    double distance = round_up((high - low) / wanted), slack = distance * 1e-6;
    double first = ceil((low - slack) / distance), last = floor((high + slack) / distance);
    double decimals = -floor(log10(distance) + 1e-6);
    return (struct svg_ticks){.first = first * distance,
                              .distance = distance,
                              .count = (int)(last - first) + 1,
                              .decimals = decimals > 0 ? (int)decimals : 0};
}

void svg_round_range(double *low, double *high)
{
    double size = fmax(fabs(*low), fabs(*high));
    if (*high - *low < 1e-9 * size || *high <= *low) {
        double room = size > 0 ? 0.05 * size : 1;
        *low -= room;
        *high += room;
    }
    double distance = round_up((*high - *low) / 10);
    *low = distance * floor(*low / distance + 1e-6);
    *high = distance * ceil(*high / distance - 1e-6);
}

/* Styles a picture alone, beside the page's style sheet. */
static const char style_alone[] =
    "svg{background:var(--card);font-family:system-ui,sans-serif;max-width:920px}\n";

void svg_begin(FILE *stream, int height, const char *label)
{
    fprintf(stream, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", (int)SVG_WIDTH, height);
    html_text(stream, label);
    fprintf(stream, "\">\n");
}

void svg_begin_alone(FILE *stream, int height, const char *label)
{
    fprintf(stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
            (int)SVG_WIDTH, height);
    html_text(stream, label);
    fprintf(stream, "\">\n<style>%s%s</style>\n", page_style, style_alone);
}

void svg_end(FILE *stream)
{
    fprintf(stream, "</svg>\n");
}

/* A nested <svg> clips what lies outside it. */
void svg_begin_clipped(FILE *stream, struct svg_frame frame)
{
    fprintf(stream, "<svg x=\"0\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" viewBox=\"0 %.1f %d %.1f\">\n",
            frame.top - 4, (int)SVG_WIDTH, frame.bottom - frame.top + 8, frame.top - 4, (int)SVG_WIDTH,
            frame.bottom - frame.top + 8);
}

void svg_line(FILE *stream, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(stream, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1,
            x2, y2);
}

void svg_text(FILE *stream, const char *class, const char *anchor, double x, double y, const char *text)
{
    fprintf(stream, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, anchor, x, y);
    html_text(stream, text);
    fprintf(stream, "</text>\n");
}

/* Shapes about one unit across that look equally large. */
static const char *const shapes[SVG_ARMS] = {
    "M-.5 0A.5 .5 0 1 0 .5 0A.5 .5 0 1 0-.5 0Z",                   /* circle */
    "M0-.62L.62 0L0 .62L-.62 0Z",                                  /* diamond */
    "M-.44-.44H.44V.44H-.44Z",                                     /* square */
    "M0-.6L.58 .45H-.58Z",                                         /* triangle */
    "M0 .6L.58-.45H-.58Z",                                         /* triangle on its point */
    "M-.18-.55H.18V-.18H.55V.18H.18V.55H-.18V.18H-.55V-.18H-.18Z", /* cross */
    "M0-.62L.59-.19L.36 .5H-.36L-.59-.19Z",                        /* pentagon */
    "M-.6-.3H.6V.3H-.6Z",                                          /* bar */
};

void svg_marker(FILE *stream, int arm, double x, double y, double size, const char *title)
{
    fprintf(stream, "<path class=\"dot %s\" transform=\"translate(%.1f %.1f) scale(%.3g)\" d=\"%s\"",
            svg_arm_class(arm), x, y, size, shapes[(arm + arm / SVG_ARMS) % SVG_ARMS]);
    if (!title) {
        fprintf(stream, "/>\n");
        return;
    }
    fprintf(stream, "><title>");
    html_text(stream, title);
    fprintf(stream, "</title></path>\n");
}

static const char *tick_text(char text[HTML_NUMBER_BYTES], double value, int decimals)
{
    if (decimals == 0 && fabs(value) < 1e15)
        return value < 0 ? html_number(text, value, 0, 0) : html_count(text, (int64_t)llround(value));
    return html_number(text, value, decimals, 0);
}

void svg_axis_below(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *name)
{
    struct svg_ticks ticks = svg_ticks_of(scale.low, scale.high, 5);
    char text[HTML_NUMBER_BYTES];
    for (int i = 0; i < ticks.count; i++) {
        double value = ticks.first + i * ticks.distance, x = svg_place(scale, value);
        svg_line(stream, "grid", x, frame.top, x, frame.bottom);
        svg_text(stream, "tick", "middle", x, frame.bottom + 18, tick_text(text, value, ticks.decimals));
    }
    svg_text(stream, "name", "middle", (frame.left + frame.right) / 2, frame.bottom + 38, name);
}

void svg_axis_left(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *unit,
                   const char *name)
{
    struct svg_ticks ticks = svg_ticks_of(scale.low, scale.high, 5);
    for (int i = 0; i < ticks.count; i++) {
        double value = ticks.first + i * ticks.distance, y = svg_place(scale, value);
        char number[HTML_NUMBER_BYTES], text[HTML_NUMBER_BYTES + 8];
        snprintf(text, sizeof text, "%s%s", tick_text(number, value, ticks.decimals), unit);
        svg_line(stream, "grid", frame.left, y, frame.right, y);
        svg_text(stream, "tick", "end", frame.left - 8, y + 4.5, text);
    }
    svg_text(stream, "name", "start", 2, frame.top - 14, name);
}

const char *svg_arm_class(int arm)
{
    static const char *const classes[SVG_ARMS] = {"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7"};
    return classes[arm % SVG_ARMS];
}
