/* SPDX-License-Identifier: Apache-2.0
 *
 * The validation loss of a text in other units: its perplexity, which is the exponential of the mean loss,
 * and bits per byte of the text, which do not depend on the tokenizer.
 */
#ifndef ROTARY_REPORT_TEXT_SCORES_H
#define ROTARY_REPORT_TEXT_SCORES_H

#include "report/table/page_table.h"

#include <jansson.h>
#include <stdio.h>

/* Whether runs recorded the bits per byte of their text. */
bool text_scores_are_known(const struct comparison *comparison);

/* Prints them as text: a line for each arm. */
void text_scores_text(FILE *stream, const struct comparison *comparison);
/* Describes an arm: {"perplexity", "bits_per_byte"}, null where it has no finished run; null if nothing is
 * known. */
json_t *text_scores_json(const struct comparison *comparison, int arm);
/* On the page: the same table. */
void text_scores_table(struct page_table *table, const struct comparison *comparison);

#endif
