/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts of numbers by distance or by the query's place, a line for each head: one panel, or one for each layer.
 */
#ifndef ROTARY_REPORT_CHART_DECAY_SVG_H
#define ROTARY_REPORT_CHART_DECAY_SVG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { DECAY_TITLE_BYTES = 64 };
struct decay_panel {
    char title[DECAY_TITLE_BYTES]; /* above the axis */
    int64_t first;                 /* the distance or place of the first point */
    int64_t lines, points;         /* at least one of each */
    const double *values;          /* [lines, points]; NaN: a gap */
    const int64_t *counts;         /* [points]: of what the values are means; NULL: all of as many */
};

struct decay_chart {
    const char *label; /* what it is, for those who do not see it */
    struct decay_panel (*panel)(const void *context, int64_t index);
    const void *context;
    int64_t count; /* of panels */
    int columns;   /* of panels: 1 or 2 */
    bool by_query; /* the points are places of queries; else distances of query and key */
    bool alone;    /* a file, which has colours and sizes of its own; else part of the page */
};

/* Writes one <svg>. Each panel has its own scale. Of many points the means of equal ranges of
 * distances are drawn. */
void decay_svg(FILE *stream, const struct decay_chart *chart);

#endif
