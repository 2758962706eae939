/* SPDX-License-Identifier: Apache-2.0
 *
 * What is shown of predicted labels example by example: the baselines, and the paired bootstrap over
 * examples, as text, JSON and part of the page.
 */
#ifndef ROTARY_REPORT_PREDICTION_PREDICTIONS_H
#define ROTARY_REPORT_PREDICTION_PREDICTIONS_H

#include "records/collection.h"

#include "report/table/page_table.h"

#include <jansson.h>
#include <stdio.h>

/* What there is to show beside the scores of `measure`; NULL: nothing, or a fault instead. */
const struct example_scores *predictions_of(const struct comparison *comparison, enum measure measure);
/* Is the same whatever the measure. */
const struct example_scores *predictions_scores(const struct comparison *comparison);

/* Prints as text, below the table of `measure`, the differences, or why there are none. */
void predictions_text(FILE *stream, const struct comparison *comparison, enum measure measure);
/* Describes the whole comparison: {"split", "examples", "samples", "seed", "fault", "baselines": {"majority",
 * "bag_of_words"}}, of texts with choices {"majority", "tfidf", "word_embeddings"}; JSON's null where nothing
 * was read. */
json_t *predictions_json(const struct comparison *comparison);
/* Describes arm `index`: {"majority": {"mean", "level", "low", "high", "examples": {"mean", "low", "high",
 * "p"}}, "bag_of_words": ...}, over seeds and over examples; JSON's null where there is none. */
json_t *predictions_arm_json(const struct comparison *comparison, int index);
/* Describes contrast `index` as sentences_contrast_json does. */
json_t *predictions_contrast_json(const struct comparison *comparison, int index);

/* On the page: a line of a verdict's card, rows of the table of `measure`, and a table of its own. */
void predictions_card(FILE *stream, const struct comparison *comparison, const struct contrast *contrast);
void predictions_rows(struct page_table *table, const struct comparison *comparison, enum measure measure);
void predictions_table(struct page_table *table, const struct comparison *comparison);

#endif
