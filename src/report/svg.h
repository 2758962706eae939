/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts charts are drawn from. Each writes a piece of SVG and knows nothing of what it means. Colours are
 * the page's: a shape takes the colour of its class, so that the same drawing serves light and dark.
 */
#ifndef ROTARY_REPORT_SVG_H
#define ROTARY_REPORT_SVG_H

#include <stdbool.h>
#include <stdio.h>

/* The width of every drawing, in its own units. The page shows it between 330 and 480 pixels wide, so that
 * text of 13 units can be read on a phone. */
enum { SVG_WIDTH = 460 };

/* Colours and shapes go by the encoding's index; beyond SVG_ENCODINGS they come again. */
enum { SVG_ENCODINGS = 8 };

/* From values to places along one direction of the drawing. */
struct svg_scale {
    double low, high; /* values; low < high */
    double from, to;  /* where they lie */
};
double svg_place(struct svg_scale scale, double value);

/* Round values within [low, high], about `wanted` of them: the first, their distance, decimals to write them
 * with. */
struct svg_ticks {
    double first, distance;
    int count, decimals;
};
struct svg_ticks svg_ticks_of(double low, double high, int wanted);
/* Widens [*low, *high] to round values; makes room where the two are one. */
void svg_round_range(double *low, double *high);

/* Where the data lies within the drawing. */
struct svg_frame {
    double left, right, top, bottom;
};

void svg_begin(FILE *stream, int height, const char *label);
void svg_end(FILE *stream);
void svg_line(FILE *stream, const char *class, double x1, double y1, double x2, double y2);
/* anchor: start, middle, end. */
void svg_text(FILE *stream, const char *class, const char *anchor, double x, double y, const char *text);
/* The shape of encoding `encoding`, about `size` across; `title` shows when pointed at, and may be NULL. */
void svg_marker(FILE *stream, int encoding, const char *class, double x, double y, double size,
                const char *title);
/* Ticks, their numbers and their lines across the frame; the axis' name stands beside it. */
void svg_axis_below(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *name);
void svg_axis_left(FILE *stream, struct svg_frame frame, struct svg_scale scale, const char *unit,
                   const char *name);

/* "e0" ... "e7": the class of an encoding. */
const char *svg_encoding_class(int encoding);

#endif
