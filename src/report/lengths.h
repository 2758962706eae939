/* SPDX-License-Identifier: Apache-2.0
 *
 * What arms score on sequences of other lengths than they were trained on, where their runs say.
 */
#ifndef ROTARY_REPORT_LENGTHS_H
#define ROTARY_REPORT_LENGTHS_H

#include "report/chart/svg.h"
#include "report/table/page_table.h"

#include <jansson.h>
#include <stdio.h>

/* Whether a run has such scores. */
bool lengths_are_known(const struct comparison *comparison);

/* Prints it as text: a line for each arm and scaling, a column for each length. */
void lengths_text(FILE *stream, const struct comparison *comparison);
/* Describes an arm: [{"length", "scaling", "runs", "mean"}], mean null where it cannot compute such
 * sequences; of texts also "perplexity", "bits_per_byte" where bytes are known, and "positions"
 * (records/record_positions.h). */
json_t *lengths_json(const struct comparison *comparison, int arm);
/* Describes a contrast: [{"length", "scaling", "pairs", "mean", "low", "high"}], the paired difference of arm and
 * baseline where both are scored, and its 95% interval, Student's (contrast.h). NULL without memory. */
json_t *lengths_contrast_json(const struct comparison *comparison, const struct contrast *contrast);

/* On the page: the same tables, and the mean score over length for each arm, with its values
 * (page_figure.h). */
void lengths_table(struct page_table *table, const struct comparison *comparison);
void lengths_draw(FILE *stream, const void *comparison, struct svg_look look);
void lengths_values(FILE *stream, const void *comparison);

#endif
