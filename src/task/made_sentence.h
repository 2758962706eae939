/* SPDX-License-Identifier: Apache-2.0
 *
 * A meaning said in German and in English.
 */
#ifndef ROTARY_TASK_MADE_SENTENCE_H
#define ROTARY_TASK_MADE_SENTENCE_H

#include "task/meaning.h"

/* A sentence that is being written. */
enum { SENTENCE_BYTES = 1024 };
struct sentence {
    char text[SENTENCE_BYTES];
    int length, words;
    bool comma; /* due before the next word */
};
/* Adds words after a space, "" adds nothing. Words that do not fit are left out, and counted. */
void sentence_add(struct sentence *sentence, const char *words);
/* Adds the mark that ends the sentence, and makes its first letter a capital. */
void sentence_end(struct sentence *sentence, char mark);

void german_sentence(struct sentence *sentence, const struct meaning *meaning);
/* `plain`: as if nothing stood before the subject. Meanings that differ in order alone are then alike. */
void english_sentence(struct sentence *sentence, const struct meaning *meaning, bool plain);

#endif
