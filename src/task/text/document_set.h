/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a split as tokens: those of files, in a file that is mapped into memory
 * (text/corpus/token_documents.h), or synthetic ones.
 */
#ifndef ROTARY_TASK_TEXT_DOCUMENT_SET_H
#define ROTARY_TASK_TEXT_DOCUMENT_SET_H

#include "task/task_type.h"
#include "task/text/text_corpus.h"
#include "text/corpus/token_documents.h"

/* Without files of validation one document in so many is held out from training, by a hash of its tokens. */
enum { DOCUMENTS_HELD_OUT_ONE_IN = 50 };

struct document_set {
    struct token_documents *documents; /* NULL: they are synthetic */
    struct token_list synthetic;       /* the synthetic ones, one after another */
    struct token_file_begin *starts;   /* of these, [count + 1] */
    int64_t count;
    bool divided; /* the set has the documents of training and of validation */
};

/* Opens the documents of a split with the task's tokenizer, and lets the task's watch know. Those of
 * validation are training's if there are no files of it: `divided`. A test set without files has none. */
ROTARY_CHECKED rotary_status document_set_open(struct document_set *set, const struct task *task,
                                               struct text_corpus corpus, enum task_split split,
                                               rotary_error *error);
void document_set_close(struct document_set *set); /* zeroed ones too */

/* The tokens of document 0 ... count - 1, and the bytes of its text. They follow one another in memory. */
struct token_span document_set_at(const struct document_set *set, int64_t index);
int64_t document_set_bytes(const struct document_set *set, int64_t index);
/* Whether a document is one of the split: of a divided set by the hash of its tokens. */
bool document_set_has(const struct document_set *set, int64_t index, enum task_split split);
/* Refuses a split without examples, of which there are `count`, unless it is a test set without files. */
ROTARY_CHECKED rotary_status document_set_check(struct text_corpus corpus, enum task_split split,
                                                int64_t count, rotary_error *error);

#endif
