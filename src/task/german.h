/* SPDX-License-Identifier: Apache-2.0
 *
 * German forms of words. Each function writes a word, in UTF-8, that is shorter than FORM_BYTES.
 */
#ifndef ROTARY_TASK_GERMAN_H
#define ROTARY_TASK_GERMAN_H

#include "task/lexicon.h"

enum { FORM_BYTES = 64 };

enum grammatical_case { NOMINATIVE_CASE, ACCUSATIVE_CASE, DATIVE_CASE, GENITIVE_CASE };
/* Persons as verbs have them: the first and the third person plural are alike. */
enum person { FIRST_PERSON, THIRD_PERSON, PLURAL_PERSON };

/* What a word agrees with. */
struct agreement {
    enum gender gender;
    enum grammatical_case inflected;
    bool plural;
};

/* The noun, or its compound with a first part, which may be NULL. */
void german_noun(char form[FORM_BYTES], const struct noun *noun, const struct compound *compound,
                 const struct agreement *agreement);
/* der, die, das; also the relative pronoun, but for denen. */
const char *german_definite(const struct agreement *agreement);
/* ein, kein, mein, sein, ihr, unser: without an ending in three places. */
void german_ein(char form[FORM_BYTES], const char *stem, const struct agreement *agreement);
/* dies-, jed-, all-, viel-, einig-, mehrer-: with the endings of der. */
void german_dieser(char form[FORM_BYTES], const char *stem, const struct agreement *agreement);
/* Endings of adjectives: after der, dieser, alle; after ein, kein, mein; after viele, zwei and nothing. */
enum declension { WEAK_DECLENSION, MIXED_DECLENSION, STRONG_DECLENSION };
void german_adjective(char form[FORM_BYTES], const struct adjective *adjective, enum declension declension,
                      const struct agreement *agreement);

/* Without a separable prefix: "steht", of "auf|stehen". */
void german_finite(char form[FORM_BYTES], const struct verb *verb, bool preterite, enum person person);
/* With it: "aufstehen", "aufzustehen", "aufgestanden", and the prefix alone, "auf" or "". */
void german_infinitive(char form[FORM_BYTES], const struct verb *verb, bool zu);
void german_participle(char form[FORM_BYTES], const struct verb *verb);
void german_prefix(char form[FORM_BYTES], const struct verb *verb);

enum german_auxiliary { HABEN, SEIN, WERDEN, KOENNEN, MUESSEN, WOLLEN, SOLLEN, DUERFEN, MOECHTEN };
/* möchten and werden have no preterite here. */
const char *german_auxiliary(enum german_auxiliary auxiliary, bool preterite, enum person person);

/* "im" of "in" and "dem"; NULL: the two stay apart. */
const char *german_contraction(const char *preposition, const char *article);

#endif
