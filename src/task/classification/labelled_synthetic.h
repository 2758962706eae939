/* SPDX-License-Identifier: Apache-2.0
 *
 * Labelled synthetic sentences: English sentences of the grammar of task/text/synthetic_sentences.h, half of
 * which have a run of words, four or more where there are so many, in reverse order. A bag of words does not
 * see which: the order of words has to be read.
 */
#ifndef ROTARY_TASK_CLASSIFICATION_LABELLED_SYNTHETIC_H
#define ROTARY_TASK_CLASSIFICATION_LABELLED_SYNTHETIC_H

#include "task/task.h"
#include "text/corpus/table.h"

/* Makes a table of `count` rows of a split: the label, "in order" or "reversed", and the sentence. The first
 * and the last word stay where they are, as a capital or a full stop would tell. Nothing of validation and
 * test is in another split, in whatever order. */
ROTARY_CHECKED rotary_status labelled_synthetic(struct table *table, enum task_split split, int64_t count,
                                                rotary_error *error);

#endif
