/* SPDX-License-Identifier: Apache-2.0
 *
 * What arms cost beside what they score: parameters, and time in training.
 */
#ifndef ROTARY_REPORT_COST_H
#define ROTARY_REPORT_COST_H

#include "report/chart/svg.h"
#include "report/table/page_table.h"

#include <jansson.h>
#include <stdio.h>

/* Whether there are several arms, and runs that recorded their parameters. */
bool cost_is_known(const struct comparison *comparison);

/* Prints it as text: a line for each arm, the best score first. */
void cost_text(FILE *stream, const struct comparison *comparison);
/* Describes an arm: {"parameters", "time"}, null where unknown. */
json_t *cost_json(const struct comparison_arm *arm);

/* On the page: the same table, and the primary measure's mean over each cost. */
void cost_table(struct page_table *table, const struct comparison *comparison);
enum cost { COST_TIME, COST_PARAMETERS };
struct cost_figure {
    const struct comparison *comparison;
    enum cost cost;
};
/* Take a struct cost_figure (page_figure.h). */
void cost_draw(FILE *stream, const void *figure, struct svg_look look);
void cost_values(FILE *stream, const void *figure);

#endif
