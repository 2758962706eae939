/* SPDX-License-Identifier: Apache-2.0
 *
 * A split of labelled texts by sentence, where the files have none, or one that leaks: SST-2 has the phrases
 * of every sentence, and a split of phrases has most of a sentence on both sides.
 *
 * Texts are words that white space separates. A text that stands within another one, word for word, is a part
 * of it, and a text that is a part of no other is a sentence. Sentences are drawn for validation and for
 * test; their parts, and copies of them, are left out of everything, and whatever else there is is for
 * training. So no text of training is a part of a text of validation or of test, or has one as a part.
 *
 * Pairs are drawn in groups: pairs that share a text, be it through other pairs, stay together.
 *
 * What is drawn follows from the texts alone: neither their order nor a seed changes it.
 */
#ifndef ROTARY_TASK_CLASSIFICATION_FRESH_SPLIT_H
#define ROTARY_TASK_CLASSIFICATION_FRESH_SPLIT_H

#include "text/text_lines.h"

enum fresh_side { FRESH_TRAINING, FRESH_VALIDATION, FRESH_TEST, FRESH_LEFT_OUT, FRESH_SIDES };

struct fresh_request {
    int64_t count;                  /* texts or pairs */
    const struct text_line *first;  /* [count] */
    const struct text_line *second; /* [count]: of pairs; NULL: there are none */
    double share; /* of the sentences, or groups, that validation has, and as many test; 0 ... 0.5 */
};

/* sides[i], an enum fresh_side: where example i is. */
ROTARY_CHECKED rotary_status fresh_split(const struct fresh_request *request, unsigned char *sides,
                                         rotary_error *error);

/* How many of `count` texts are, word for word, a text of `others` or a part of one: what a split leaks. */
ROTARY_CHECKED rotary_status fresh_leaks(const struct text_line *texts, int64_t count,
                                         const struct text_line *others, int64_t other_count, int64_t *leaks,
                                         rotary_error *error);

#endif
