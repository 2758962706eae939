/* SPDX-License-Identifier: Apache-2.0
 *
 * What is shown of translations sentence by sentence: the paired bootstrap, as text, JSON and part of the
 * page, and translations side by side.
 */
#ifndef ROTARY_REPORT_PREDICTION_SENTENCES_H
#define ROTARY_REPORT_PREDICTION_SENTENCES_H

#include "records/collection.h"

#include "report/table/page_table.h"

#include <jansson.h>
#include <stdio.h>

/* What there is to show of sentences; NULL: nothing, or a fault instead. */
const struct sentence_scores *sentences_scores(const struct comparison *comparison);
/* How the BLEU of the comparison's runs was computed: the signature of the first that has one; NULL: none
 * has. */
const char *sentences_signature(const struct comparison *comparison);

/* Prints as text, below the table of BLEU: the signature, and what the bootstrap says or why there is none.
 */
void sentences_text(FILE *stream, const struct comparison *comparison);
/* Describes the whole comparison: {"split", "sentences", "samples", "seed", "signature", "fault"}; JSON's
 * null where nothing was read. */
json_t *sentences_json(const struct comparison *comparison);
/* Describes contrast `index`: {"mean": {"mean", "low", "high", "p"}, "pairs": [the same]}; JSON's null where
 * there is none. */
json_t *sentences_contrast_json(const struct comparison *comparison, int index);

/* On the page: a line of a verdict's card, the table, and the translations. */
void sentences_card(FILE *stream, const struct comparison *comparison, const struct contrast *contrast);
void sentences_table(struct page_table *table, const struct comparison *comparison);
void sentences_samples(FILE *stream, const struct comparison *comparison, bool folded);

#endif
