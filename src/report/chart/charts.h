/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts of the page. Each writes one <svg> and is a function of its arguments alone.
 */
#ifndef ROTARY_REPORT_CHART_CHARTS_H
#define ROTARY_REPORT_CHART_CHARTS_H

#include "report/chart/series.h"

#include <stdio.h>

/* Whether any curve has `count` finite values from step `first` on. */
bool chart_has_curves(const struct series *series, int64_t first, int count);

/* Values over the comparison's steps from `first` on: runs thin; means, or an arm's only run, bold and named
 * at the end. */
void chart_curves(FILE *stream, const struct comparison *comparison, const struct series *series,
                  enum series_kind kind, int64_t first);

/* The score of every finished run, with mean and median: one row per arm. */
void chart_scores(FILE *stream, const struct comparison *comparison, enum measure measure);

/* The differences of every pair, with their mean and its interval: one row per contrast. */
void chart_differences(FILE *stream, const struct comparison *comparison, enum measure measure);

#endif
