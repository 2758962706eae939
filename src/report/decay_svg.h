/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts of numbers by distance, a line for each head: one panel, or one for each layer.
 */
#ifndef ROTARY_REPORT_DECAY_SVG_H
#define ROTARY_REPORT_DECAY_SVG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct decay_panel {
    const char *title;     /* above the axis */
    int64_t first;         /* the distance of the first point */
    int64_t lines, points; /* at least one of each */
    const double *values;  /* [lines, points]; NaN: a gap */
};

struct decay_chart {
    const char *label; /* what it is, for those who do not see it */
    const struct decay_panel *panels;
    int64_t count;
    int columns; /* of panels: 1 or 2 */
    bool alone;  /* a file, which has colours and sizes of its own; else part of the page */
};

/* Writes one <svg>. Each panel has its own scale. Of many points the means of equal ranges of distances are
 * drawn. */
void decay_svg(FILE *stream, const struct decay_chart *chart);

#endif
