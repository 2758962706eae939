/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the task masked, inside src/task: its settings, and the sequences of a split.
 */
#ifndef ROTARY_TASK_TEXT_MASKED_H
#define ROTARY_TASK_TEXT_MASKED_H

#include "task/text/document_set.h"
#include "task/text/text_vocabulary.h"

struct masked_options {
    struct text_corpus_options corpus;
    struct text_vocabulary_options vocabulary;
    double probability;
    bool whole_words;
};

/* The text of the task. */
struct text_corpus masked_corpus(const struct task_config *config);

struct masking;

/* Sequences of at most sequence_length - 2 tokens, into which the documents of a split are cut. */
struct masked_split {
    struct document_set set;
    struct token_span *sequences; /* [count] */
    int64_t count, capacity;
    struct task_counts counts;
};
/* Cuts at words where one ends. */
ROTARY_CHECKED rotary_status masked_split_create(struct masked_split *split, const struct task *task,
                                                 const struct masking *masking, enum task_split which,
                                                 rotary_error *error);
void masked_split_free(struct masked_split *split); /* zeroed ones too */

#endif
