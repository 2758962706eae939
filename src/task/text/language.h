/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the task language, inside src/task: its settings, and the sequences of a split.
 */
#ifndef ROTARY_TASK_TEXT_LANGUAGE_H
#define ROTARY_TASK_TEXT_LANGUAGE_H

#include "task/text/document_set.h"
#include "task/text/text_vocabulary.h"

enum language_windows { WINDOWS_OF_DOCUMENTS, WINDOWS_CONSECUTIVE, WINDOWS_RANDOM };

struct language_options {
    struct text_corpus_options corpus;
    struct text_vocabulary_options vocabulary;
    int windows; /* enum language_windows */
};

/* The text of the task. */
struct text_corpus language_corpus(const struct task_config *config);

/* A part of a document: `count` tokens that are to be predicted, of which the last may be the end token. */
struct language_sequence {
    const int32_t *tokens; /* the first of them; the one before it is read, if the document does not begin */
    int32_t count;
    bool starts, ends;
};

/* Where tokens of the stream are: all documents, with the end token between them. */
struct language_stream {
    int64_t first, count; /* the split's part of it */
    int64_t length;       /* of a window, at most */
};

struct language_split {
    struct document_set set;
    int32_t begin, end;                  /* the tokens */
    int windows;                         /* enum language_windows */
    struct language_sequence *sequences; /* [count] of documents, else NULL */
    int64_t count, capacity;
    struct language_stream stream; /* of windows */
    struct task_counts counts;
};
/* Cuts the documents of a split into sequences of at most sequence_length tokens, so that each of their
 * tokens, and the end of each, is predicted once; or finds the split's part of the stream. Without files of
 * validation its last tenth is held out from training. A stream has windows that follow one another; in
 * training, of windows that begin anywhere, as many of them. */
ROTARY_CHECKED rotary_status language_split_create(struct language_split *split, const struct task *task,
                                                   enum task_split which, rotary_error *error);
void language_split_free(struct language_split *split); /* zeroed ones too */

/* The tokens that sequence `index` reads: so many are predicted. */
int64_t language_split_length(const struct language_split *split, int64_t index);
/* Writes what a sequence reads, and what is predicted of it: [language_split_length] each. */
void language_split_read(const struct language_split *split, const struct task_place *place, int32_t *tokens,
                         int32_t *classes);

#endif
