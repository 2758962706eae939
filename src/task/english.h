/* SPDX-License-Identifier: Apache-2.0
 *
 * English forms of words, each shorter than FORM_BYTES. Of verbs with a second word ("look for") the first is
 * inflected.
 */
#ifndef ROTARY_TASK_ENGLISH_H
#define ROTARY_TASK_ENGLISH_H

#include "task/german.h"

void english_noun(char form[FORM_BYTES], const struct noun *noun, bool plural);
/* "man's", "boys'", "men's" of the noun's form. */
void english_possessive(char form[FORM_BYTES], const char *noun);
/* "a" or "an", by the word that follows. */
const char *english_article(const char *next);

enum english_form { BASE_FORM, THIRD_FORM, PAST_FORM, PARTICIPLE_FORM, GERUND_FORM };
void english_verb(char form[FORM_BYTES], const struct verb *verb, enum english_form wanted);

#endif
