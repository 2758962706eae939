/* SPDX-License-Identifier: Apache-2.0
 *
 * The elements of charts, written as SVG. The page's style sheet colours them by class, in light and in dark.
 */
#ifndef ROTARY_REPORT_CHART_SVG_H
#define ROTARY_REPORT_CHART_SVG_H

#include <stdbool.h>
#include <stdio.h>

/* The width of every drawing in its own units. The page shows it 330 to 480 pixels wide, which keeps text of
 * 13 units readable on a phone. */
enum { SVG_WIDTH = 460 };

/* Colours and shapes follow the arm's index. Colours begin anew after SVG_ARMS arms, shapes with the second
 * one, so that SVG_ARMS² arms have both in a combination of their own. */
enum { SVG_ARMS = 8 };

/* Maps values to coordinates along one axis. */
struct svg_scale {
    double low, high; /* values; low < high */
    double from, to;  /* coordinates of low, high */
};
double svg_place(struct svg_scale scale, double value);

/* About `wanted` round values within [low, high]: the first, their distance, the decimals to write. */
struct svg_ticks {
    double first, distance;
    int count, decimals;
};
struct svg_ticks svg_ticks_of(double low, double high, int wanted);
/* Widens [*low, *high] to round values, also if both are equal. */
void svg_round_range(double *low, double *high);

/* The rectangle that the data is drawn in. */
struct svg_frame {
    double left, right, top, bottom;
};

void svg_begin(FILE *stream, int height, const char *label);
/* Starts a picture that stands alone, with the style sheet in it. */
void svg_begin_alone(FILE *stream, int height, const char *label);
void svg_end(FILE *stream);
/* Until svg_end, what lies above or below the frame is not shown. */
void svg_begin_clipped(FILE *stream, struct svg_frame frame);
void svg_line(FILE *stream, const char *class, double x1, double y1, double x2, double y2);
/* anchor: start, middle, end. */
void svg_text(FILE *stream, const char *class, const char *anchor, double x, double y, const char *text);
/* The shape of an arm, about `size` across; `title` is its tooltip, or NULL. */
void svg_marker(FILE *stream, int arm, double x, double y, double size, const char *title);
/* Ticks, their numbers, grid lines across the frame, and the axis' name. */
void svg_axis_below(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *name);
void svg_axis_left(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *unit,
                   const char *name);

/* "e0" ... "e7": the class of an arm. */
const char *svg_arm_class(int arm);

#endif
