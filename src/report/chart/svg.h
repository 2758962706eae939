/* SPDX-License-Identifier: Apache-2.0
 *
 * The elements of charts, written as SVG. The page's style sheet colours them by class, in light and in dark.
 */
#ifndef ROTARY_REPORT_CHART_SVG_H
#define ROTARY_REPORT_CHART_SVG_H

#include <stdbool.h>
#include <stdio.h>

/* The width of drawings in their own units, but for those as wide as the page. The page shows it 330 to 480
 * pixels wide, which keeps text of 13 units readable on a phone. */
enum { SVG_WIDTH = 460, SVG_WIDE = 960, SVG_NARROW = 360 };

/* Colours, dashes and shapes follow the arm's index: seven colours, four dashes and nine shapes, each
 * beginning anew after its last. SVG_ARMS arms have colour and dash in a combination of their own, and so
 * have 63 colour and shape. */
enum { SVG_ARMS = 28 };

/* Maps values to coordinates along one axis. */
struct svg_scale {
    double low, high; /* values; low < high */
    double from, to;  /* coordinates of low, high */
    bool log;         /* then 0 < low */
};
double svg_place(struct svg_scale scale, double value);

/* About `wanted` round values within [low, high]: the first, their distance, the decimals to write. */
struct svg_ticks {
    double first, distance;
    int count, decimals;
};
struct svg_ticks svg_ticks_of(double low, double high, int wanted);
/* Widens [*low, *high] to a value, if that is finite. */
void svg_widen_range(double *low, double *high, double value);
/* Widens [*low, *high] to round values, also if both are equal. */
void svg_round_range(double *low, double *high);

/* The rectangle that the data is drawn in. */
struct svg_frame {
    double left, right, top, bottom;
};

/* How a drawing is made where there are several ways. */
struct svg_look {
    bool alone;  /* a file, with a style and a background of its own; else a part of the page */
    bool log;    /* values on a logarithmic axis */
    bool narrow; /* for a phone, of what is wider than SVG_WIDTH otherwise */
};

/* Where the page's script finds the values of curves. */
struct svg_plane {
    struct svg_frame frame;
    struct svg_scale across, up;
};

struct svg_drawing {
    int width, height; /* width 0: SVG_WIDTH */
    const char *label; /* what it is, for those who do not see it */
    struct svg_look look;
    const struct svg_plane *plane; /* NULL: it has no curves over one axis */
};
void svg_begin(FILE *stream, const struct svg_drawing *drawing);
void svg_end(FILE *stream);
/* Until svg_end, what lies above or below the frame is not shown. */
void svg_begin_clipped(FILE *stream, struct svg_frame frame);
void svg_line(FILE *stream, const char *class, double x1, double y1, double x2, double y2);
/* A line of an arm, which a legend dims with it. */
void svg_arm_line(FILE *stream, const char *class, int arm, const double ends[4]);
/* anchor: start, middle, end. */
void svg_text(FILE *stream, const char *class, const char *anchor, double x, double y, const char *text);
/* The shape of an arm, about `size` across; `title` is its tooltip, or NULL. */
void svg_marker(FILE *stream, int arm, double x, double y, double size, const char *title);
/* Ticks, their numbers, grid lines across the frame, and the axis' name, behind which a logarithmic one
 * says so. */
void svg_axis_below(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *name);
void svg_axis_left(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *unit,
                   const char *name);

/* "e0" ... "e27": the class of an arm, which gives its colour. */
const char *svg_arm_class(int arm);
/* "d0" ... "d3": that of its dash, in bold curves. */
const char *svg_dash_class(int arm);

#endif
