/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart/svg.h"

#include "report/html.h"
#include "report/style.h"

#include <math.h>
#include <string.h>

double svg_place(struct svg_scale scale, double value)
{
    const double share = scale.log ? log(value / scale.low) / log(scale.high / scale.low)
                                   : (value - scale.low) / (scale.high - scale.low);
    return scale.from + share * (scale.to - scale.from);
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

void svg_widen_range(double *low, double *high, double value)
{
    if (!isfinite(value))
        return;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
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

/* Around a drawing that stands alone; page.js has it too. */
enum { MARGIN = 10 };

static void write_plane(FILE *stream, const struct svg_plane *plane)
{
    const struct svg_frame *frame = &plane->frame;
    fprintf(stream, " data-frame=\"%.1f %.1f %.1f %.1f\" data-x=\"%.9g %.9g\" data-y=\"%.9g %.9g%s\"",
            frame->left, frame->right, frame->top, frame->bottom, plane->across.low, plane->across.high,
            plane->up.low, plane->up.high, plane->up.log ? " log" : "");
}

void svg_begin(FILE *stream, const struct svg_drawing *drawing)
{
    const int width = drawing->width ? drawing->width : SVG_WIDTH, margin = drawing->look.alone ? MARGIN : 0;
    fputs("<svg ", stream);
    if (drawing->look.alone)
        fprintf(stream, "xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" ",
                width + 2 * margin, drawing->height + 2 * margin);
    else if (width != SVG_WIDTH)
        fprintf(stream, "class=\"%s\" ", drawing->look.narrow ? "narrow" : "wide");
    fprintf(stream, "viewBox=\"%d %d %d %d\" role=\"img\" aria-label=\"", -margin, -margin,
            width + 2 * margin, drawing->height + 2 * margin);
    html_text(stream, drawing->label);
    fputc('"', stream);
    if (drawing->plane && !drawing->look.alone)
        write_plane(stream, drawing->plane);
    fputs(">\n", stream);
    if (drawing->look.alone) {
        fputs("<style>", stream);
        style_alone(stream);
        fprintf(stream,
                "</style>\n<rect class=\"background\" x=\"%d\" y=\"%d\" width=\"100%%\" height=\"100%%\"/>\n",
                -margin, -margin);
    }
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

void svg_arm_line(FILE *stream, const char *class, int arm, const double ends[4])
{
    char classes[32];
    snprintf(classes, sizeof classes, "%s %s", class, svg_arm_class(arm));
    svg_line(stream, classes, ends[0], ends[1], ends[2], ends[3]);
}

void svg_text(FILE *stream, const char *class, const char *anchor, double x, double y, const char *text)
{
    fprintf(stream, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, anchor, x, y);
    html_text(stream, text);
    fprintf(stream, "</text>\n");
}

enum { SHAPES = 9 };
/* Shapes about one unit across that look equally large. */
static const char *const shapes[SHAPES] = {
    "M-.5 0A.5 .5 0 1 0 .5 0A.5 .5 0 1 0-.5 0Z",                   /* circle */
    "M0-.62L.62 0L0 .62L-.62 0Z",                                  /* diamond */
    "M-.44-.44H.44V.44H-.44Z",                                     /* square */
    "M0-.6L.58 .45H-.58Z",                                         /* triangle */
    "M0 .6L.58-.45H-.58Z",                                         /* triangle on its point */
    "M-.18-.55H.18V-.18H.55V.18H.18V.55H-.18V.18H-.55V-.18H-.18Z", /* cross */
    "M0-.62L.59-.19L.36 .5H-.36L-.59-.19Z",                        /* pentagon */
    "M-.6-.3H.6V.3H-.6Z",                                          /* bar */
    "M-.55-.5H.55L-.55 .5H.55Z",                                   /* hourglass */
};

void svg_marker(FILE *stream, int arm, double x, double y, double size, const char *title)
{
    fprintf(stream, "<path class=\"dot %s\" transform=\"translate(%.1f %.1f) scale(%.3g)\" d=\"%s\"",
            svg_arm_class(arm), x, y, size, shapes[arm % SHAPES]);
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

/* Ticks of which the numbers do not touch. */
static struct svg_ticks ticks_below(struct svg_scale scale)
{
    static const double letter = 8, gap = 8;
    struct svg_ticks ticks = {0};
    for (int wanted = 5; wanted >= 2; wanted--) {
        char text[HTML_NUMBER_BYTES];
        ticks = svg_ticks_of(scale.low, scale.high, wanted);
        const double last = ticks.first + (ticks.count - 1) * ticks.distance,
                     room = fabs(svg_place(scale, last) - svg_place(scale, last - ticks.distance));
        const size_t letters = strlen(tick_text(text, last, ticks.decimals));
        if (letter * (double)letters + gap <= room)
            break;
    }
    return ticks;
}

void svg_axis_below(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *name)
{
    const struct svg_ticks ticks = ticks_below(scale);
    char text[HTML_NUMBER_BYTES];
    for (int i = 0; i < ticks.count; i++) {
        const double value = ticks.first + i * ticks.distance, x = svg_place(scale, value);
        svg_line(stream, "grid", x, frame.top, x, frame.bottom);
        svg_text(stream, "tick", "middle", x, frame.bottom + 20, tick_text(text, value, ticks.decimals));
    }
    svg_text(stream, "name", "middle", (frame.left + frame.right) / 2, frame.bottom + 39, name);
}

enum { MIN_LOG_TICKS = 3, TICK_BYTES = HTML_NUMBER_BYTES + 8 };

static void mark_left(FILE *stream, struct svg_frame frame, double y, const char *text)
{
    svg_line(stream, "grid", frame.left, y, frame.right, y);
    svg_text(stream, "tick", "end", frame.left - 8, y + 4.5, text);
}

/* 1, 2 and 5 times the powers of ten within the scale; returns how many. Without a stream only counts. */
static int log_ticks(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *unit)
{
    static const double digits[] = {1, 2, 5};
    int count = 0;
    for (double power = floor(log10(scale.low)); power <= ceil(log10(scale.high)); power++)
        for (int i = 0; i < 3; i++) {
            const double value = digits[i] * pow(10, power);
            char number[HTML_NUMBER_BYTES], text[TICK_BYTES];
            if (value < scale.low * (1 - 1e-9) || value > scale.high * (1 + 1e-9))
                continue;
            count++;
            snprintf(text, sizeof text, "%s%s", tick_text(number, value, power < 0 ? (int)-power : 0), unit);
            if (stream)
                mark_left(stream, frame, svg_place(scale, value), text);
        }
    return count;
}

static void linear_ticks(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *unit)
{
    const struct svg_ticks ticks = svg_ticks_of(scale.low, scale.high, 5);
    for (int i = 0; i < ticks.count; i++) {
        const double value = ticks.first + i * ticks.distance;
        char number[HTML_NUMBER_BYTES], text[TICK_BYTES];
        snprintf(text, sizeof text, "%s%s", tick_text(number, value, ticks.decimals), unit);
        mark_left(stream, frame, svg_place(scale, value), text);
    }
}

void svg_axis_left(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *unit,
                   const char *name)
{
    char text[256];
    if (scale.log && log_ticks(NULL, frame, scale, unit) >= MIN_LOG_TICKS)
        log_ticks(stream, frame, scale, unit);
    else
        linear_ticks(stream, frame, scale, unit);
    snprintf(text, sizeof text, "%s%s", name, scale.log ? " (log)" : "");
    svg_text(stream, "name", "start", 2, frame.top - 14, text);
}

const char *svg_arm_class(int arm)
{
    static const char *const classes[SVG_ARMS] = {
        "e0",  "e1",  "e2",  "e3",  "e4",  "e5",  "e6",  "e7",  "e8",  "e9",  "e10", "e11", "e12", "e13",
        "e14", "e15", "e16", "e17", "e18", "e19", "e20", "e21", "e22", "e23", "e24", "e25", "e26", "e27"};
    return classes[arm % SVG_ARMS];
}

const char *svg_dash_class(int arm)
{
    static const char *const classes[] = {"d0", "d1", "d2", "d3"};
    return classes[arm % 4];
}
