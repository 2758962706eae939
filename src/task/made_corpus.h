/* SPDX-License-Identifier: Apache-2.0
 *
 * A German-English corpus that is made up: sentences of a grammar with some thousand words, which need cases,
 * verbs at the second and at the last place, separable verbs and compounds to be translated. A pair is one
 * random meaning said in both languages, a pure function of split and index.
 *
 * What a split has follows from a hash of the meaning, so that nothing of validation and test is trained on,
 * not even in another order of words.
 */
#ifndef ROTARY_TASK_MADE_CORPUS_H
#define ROTARY_TASK_MADE_CORPUS_H

#include "task/made_sentence.h"
#include "task/task.h"
#include "text/text_lines.h"

/* Sentences have so many words in both languages. */
enum { MADE_MIN_WORDS = 4, MADE_MAX_WORDS = 25 };

/* Pair `index`, counted from 0, of a split. */
void made_pair(enum task_split split, int64_t index, struct sentence *german, struct sentence *english);
/* Pairs 0 ... count - 1, which the caller frees by text_lines_free. */
ROTARY_CHECKED rotary_status made_corpus(enum task_split split, int64_t count, struct text_lines *german,
                                         struct text_lines *english, rotary_error *error);

#endif
