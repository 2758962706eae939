/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as sentences, as a table of plain text, and as JSON.
 */
#ifndef ROTARY_REPORT_COMPARISON_TABLE_H
#define ROTARY_REPORT_COMPARISON_TABLE_H

#include "study/comparison.h"

#include <stdio.h>

/* One sentence about arm `index` against the first, such as "roper better than rope by 12.1 points of
 * exact match: 95% interval [3.9, 20.4], 5 pairs". The caller frees *sentence. */
ROTARY_CHECKED rotary_status comparison_verdict(const struct comparison *comparison, int index,
                                                char **sentence, rotary_error *error);
/* Writes which runs of arm `index` diverged, if at least one did: "2 of 5 runs diverged and
 * have no score: seed 3 at step 120, seed 5 at step 98". */
void comparison_divergence(FILE *stream, const struct comparison *comparison, int index);
/* The table and the verdicts as aligned plain text. The caller frees *text. */
ROTARY_CHECKED rotary_status comparison_text(const struct comparison *comparison, char **text,
                                             rotary_error *error);
/* The same with every run's values; the caller owns *object. What is undefined or infinite is null. */
ROTARY_CHECKED rotary_status comparison_json(const struct comparison *comparison, json_t **object,
                                             rotary_error *error);

#endif
