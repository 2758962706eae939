/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as text with tables, as JSON, and as CSV.
 */
#ifndef ROTARY_REPORT_COMPARISON_TABLE_H
#define ROTARY_REPORT_COMPARISON_TABLE_H

#include "study/collection.h"

/* The verdicts, then a table for each measure, the primary one first: arms, and differences seed by seed. The
 * caller frees *text. */
ROTARY_CHECKED rotary_status comparison_text(const struct comparison *comparison, char **text,
                                             rotary_error *error);

/* The same with every run's values; docs/experiments.md describes the object. The caller owns *object. What
 * is undefined or infinite is null. */
ROTARY_CHECKED rotary_status comparison_json(const struct comparison *comparison, json_t **object,
                                             rotary_error *error);

/* A row for every run, also unfinished ones, as RFC 4180 has it; docs/experiments.md describes the columns.
 * What a run has no value for is empty. The caller frees *text. */
ROTARY_CHECKED rotary_status comparison_csv(const struct collection *collection, char **text,
                                            rotary_error *error);

#endif
