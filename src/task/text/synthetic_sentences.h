/* SPDX-License-Identifier: Apache-2.0
 *
 * A synthetic German-English corpus: sentences of a small grammar with some 200 words. To translate them one
 * needs cases, verbs in second and in last place, and separable verbs. A pair is one random meaning said in
 * both languages, a pure function of split and index.
 *
 * A hash of the meaning says which split has it. Nothing of validation and test is trained on, therefore, not
 * even in another order of words.
 */
#ifndef ROTARY_TASK_TEXT_SYNTHETIC_SENTENCES_H
#define ROTARY_TASK_TEXT_SYNTHETIC_SENTENCES_H

#include "task/task.h"
#include "text/text_lines.h"

/* Sentences have so many words in both languages. */
enum { SYNTHETIC_MIN_WORDS = 4, SYNTHETIC_MAX_WORDS = 24 };

enum { SENTENCE_BYTES = 512 };
struct sentence {
    char text[SENTENCE_BYTES];
    int length, words;
    bool comma; /* due before the next word */
};

/* Pair `index`, counted from 0, of a split. */
void synthetic_pair(enum task_split split, int64_t index, struct sentence *german, struct sentence *english);
/* Pairs 0 ... count - 1, which the caller frees by text_lines_free. */
ROTARY_CHECKED rotary_status synthetic_corpus(enum task_split split, int64_t count, struct text_lines *german,
                                              struct text_lines *english, rotary_error *error);

#endif
