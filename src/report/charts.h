/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts of the page. Each writes one <svg> and is a function of its arguments alone.
 */
#ifndef ROTARY_REPORT_CHARTS_H
#define ROTARY_REPORT_CHARTS_H

#include "report/series.h"

#include <stdio.h>

/* Whether there is anything to draw. */
bool chart_has_curves(const struct series *series);

/* Values over steps: runs thin, means bold, each mean named at its end. The steps go to `steps`. */
void chart_curves(FILE *stream, const struct comparison *comparison, const struct series *series,
                  enum series_kind kind, int64_t steps);

/* Where every finished run ended, a row for each encoding, with mean and median. */
void chart_scores(FILE *stream, const struct comparison *comparison, enum measure measure);

/* Differences from the first encoding, a row for each other one: every pair, their mean, and its 95%
 * interval. */
void chart_differences(FILE *stream, const struct comparison *comparison, enum measure measure);

#endif
