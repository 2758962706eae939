/* SPDX-License-Identifier: Apache-2.0
 *
 * The forest plot: a row for each contrast, with its mean difference, its interval, its pairs as dots, and
 * what they show.
 */
#ifndef ROTARY_REPORT_CHART_FOREST_H
#define ROTARY_REPORT_CHART_FOREST_H

#include "records/comparison/comparison.h"
#include "report/chart/svg.h"

#include <stdio.h>

/* It shows the primary measure of a comparison, which is `argument`. A wide one has numbers and verdicts in
 * columns, a narrow one above each row. */
void forest_draw(FILE *stream, const void *argument, struct svg_look look);
/* A row for each pair, and for the mean and the ends of its interval of each contrast. */
void forest_csv(FILE *stream, const void *argument);

#endif
