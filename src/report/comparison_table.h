/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as text with tables, as JSON, and as CSV.
 */
#ifndef ROTARY_REPORT_COMPARISON_TABLE_H
#define ROTARY_REPORT_COMPARISON_TABLE_H

#include "records/collection.h"

#include <stdio.h>

/* The verdicts, then a table for each measure, the primary one first: arms, and differences seed by seed. The
 * caller frees *text. */
ROTARY_CHECKED rotary_status comparison_text(const struct comparison *comparison, char **text,
                                             rotary_error *error);

/* Gives the same with every run's values; docs/explanation/experiments.md describes the object. The caller owns *object.
 * What is undefined or infinite is null. */
ROTARY_CHECKED rotary_status comparison_json(const struct comparison *comparison, json_t **object,
                                             rotary_error *error);

/* Tables of rows as RFC 4180 has them; docs/explanation/experiments.md describes their columns. What has no value is
 * empty. Runs: one row for each, also unfinished ones. Arms, contrasts and pairs: one for each and each
 * measure, the primary one first. */
enum csv_table { CSV_RUNS, CSV_ARMS, CSV_CONTRASTS, CSV_PAIRS, CSV_LENGTHS, CSV_POSITIONS };
extern const char *const csv_table_names[]; /* NULL-terminated */
/* The caller frees *text. */
ROTARY_CHECKED rotary_status comparison_csv(const struct collection *collection, enum csv_table table,
                                            char **text, rotary_error *error);
/* The tables lengths and positions of `count` runs. */
void lengths_csv(FILE *stream, const struct record *records, int count, enum csv_table table);

#endif
