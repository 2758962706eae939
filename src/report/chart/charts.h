/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts of the page. Each writes one <svg> and is a function of its arguments alone; `argument` is what
 * page_figure.h calls so.
 */
#ifndef ROTARY_REPORT_CHART_CHARTS_H
#define ROTARY_REPORT_CHART_CHARTS_H

#include "report/chart/series.h"
#include "report/chart/svg.h"

#include <stdio.h>

/* Values over the comparison's steps from `first` on: runs thin; means, or an arm's only run, bold and named
 * at the end. */
struct curves_chart {
    const struct comparison *comparison;
    const struct series *series;
    enum series_kind kind;
    int64_t first;
};
void curves_draw(FILE *stream, const void *argument, struct svg_look look);
/* A column for each curve, a row for each step that any has. */
void curves_csv(FILE *stream, const void *argument);
/* Whether any curve has `count` finite values from the first step on. */
bool curves_exist(const struct curves_chart *chart, int count);
/* Whether they may be drawn on a logarithmic axis: they are losses, all above zero. */
bool curves_have_log(const struct curves_chart *chart);

/* The score of every finished run, with mean and median: one row per arm. */
struct scores_chart {
    const struct comparison *comparison;
    enum measure measure;
};
void scores_draw(FILE *stream, const void *argument, struct svg_look look);
void scores_csv(FILE *stream, const void *argument);
/* Moves a mark `size` wide above or below its row so that it does not cover an equal one before it. `across`:
 * over what the row is. */
double scores_offset(struct svg_scale across, const double *values, int at, double size);

#endif
