/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of arms in charts, beside what they name.
 */
#ifndef ROTARY_REPORT_CHART_CHART_NAMES_H
#define ROTARY_REPORT_CHART_CHART_NAMES_H

#include "records/comparison/comparison.h"
#include "report/chart/svg.h"

enum { CHART_LABEL_BYTES = 128 };

/* An arm's name as a label: without keys, "roper,0.5" for "roper,value_fraction=0.5", as the page says
 * elsewhere what varies; the middle of a long one is cut out, between two UTF-8 characters. */
void chart_label(char label[CHART_LABEL_BYTES], const struct comparison *comparison, int arm);
/* The width of the widest label. */
double chart_name_width(const struct comparison *comparison);
/* Writes the label in the arm's colour, from x on, centred on y. */
void chart_name(FILE *stream, const struct comparison *comparison, int arm, double x, double y);

/* Where the name of an arm should be: at y; NaN: it has none. A line from (x, y) leads to it; NaN: none. */
struct chart_end {
    double x, y;
};
struct chart_names {
    FILE *stream;
    const struct comparison *comparison;
    struct svg_frame frame;
    double gap; /* between frame and names */
    struct chart_end (*end_of)(const void *argument, int index);
    const void *argument;
    /* Names of `count` curves, which are short, in the colours of arms 0, 1, ...; NULL: those of all arms. */
    const char *const *names;
    int count;
};
/* Writes the names to the right of the frame, moved apart where they would overlap. */
void chart_names(const struct chart_names *names);
/* The frame of a chart that has such names, and lines to them, in a gap of CHART_LEADER_GAP; the chart's
 * height is CHART_BELOW more than the frame's bottom. It is high enough for a name for each arm. */
enum { CHART_LEADER_GAP = 20, CHART_BELOW = 46 };
struct svg_frame chart_names_frame(const struct comparison *comparison);
/* Plans for so many names, the widest of which is `width` wide. */
struct svg_frame chart_frame(int names, double width);

#endif
