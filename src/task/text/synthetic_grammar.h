/* SPDX-License-Identifier: Apache-2.0
 *
 * A small grammar of German and English: words in tables (synthetic_lexicon.c), random meanings
 * (synthetic_meaning.c), and how a meaning is said in each language (german_grammar.c, english_grammar.c).
 */
#ifndef ROTARY_TASK_TEXT_SYNTHETIC_GRAMMAR_H
#define ROTARY_TASK_TEXT_SYNTHETIC_GRAMMAR_H

#include "base/random.h"
#include "task/text/synthetic_sentences.h"

/* ---- words ---- */

enum gender { MASCULINE, FEMININE, NEUTER };
enum grammatical_case { NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE };
enum person { FIRST_PERSON, THIRD_PERSON, PLURAL_PERSON }; /* ich, er, wir or sie */

/* Classes of nouns say which verbs, adjectives and prepositions they go with. */
enum { PERSON = 1, ANIMAL = 2, THING = 4, VEHICLE = 8, FOOD = 16, PLACE = 32 };
enum { BEING = PERSON | ANIMAL, OBJECT = THING | VEHICLE | FOOD, ANYTHING = BEING | OBJECT | PLACE };

/* A masculine noun whose genitive ends with -n has that form in the accusative and the dative too: den Bären.
 */
struct noun {
    const char *german, *genitive, *plural;
    enum gender gender;
    unsigned classes;
    const char *english, *english_plural;
};
struct adjective {
    const char *german, *english;
    unsigned classes;
};

enum declension { AS_D, AS_DIES, AS_EIN, NO_ENDINGS };
enum { SINGULAR = 1, PLURAL = 2 };
struct determiner {
    const char *german; /* without its ending */
    enum declension declension;
    unsigned numbers;
    const char *english, *english_plural;
};
struct pronoun {
    const char *german, *english;
    enum person person;
};

/* What a verb wants besides its subject. */
enum frame { INTRANSITIVE, TRANSITIVE, DATIVE_ONLY, DITRANSITIVE, MOTION };
struct verb {
    const char *prefix, *infinitive, *third, *participle; /* auf, stehen, steht, gestanden; prefix "": none */
    bool sein;                                            /* ist aufgestanden, not hat */
    const char *english, *past, *particle;                /* get, got, up; particle "": none */
    enum frame frame;
    unsigned subjects, objects; /* classes; of DITRANSITIVE the accusative's */
};
struct auxiliary {
    const char *german[3]; /* by person */
    const char *english;   /* of a modal, in every person */
};

enum tense { PRESENT = 1, PAST = 2, MODAL = 4 };
struct time {
    const char *german, *english;
    unsigned tenses;
};
struct preposition {
    const char *german, *contracted[3], *english; /* in; im and ins, by gender, or "" */
    enum grammatical_case inflected;
    unsigned classes;
    bool goal; /* says where to */
};
struct conjunction {
    const char *german, *english;
    bool subordinate; /* the verb of its clause is last */
};

/* The first determiner is der; auxiliaries from FIRST_MODAL on are modals. */
enum { NOUNS = 60, ADJECTIVES = 26, DETERMINERS = 11, PRONOUNS = 5, VERBS = 44 };
enum {
    HABEN,
    SEIN,
    FIRST_MODAL,
    AUXILIARIES = FIRST_MODAL + 3,
    TIMES = 8,
    PREPOSITIONS = 9,
    CONJUNCTIONS = 5
};
extern const struct noun synthetic_nouns[NOUNS];
extern const struct adjective synthetic_adjectives[ADJECTIVES];
extern const struct determiner synthetic_determiners[DETERMINERS];
extern const struct pronoun synthetic_pronouns[PRONOUNS];
extern const struct verb synthetic_verbs[VERBS];
extern const struct auxiliary synthetic_auxiliaries[AUXILIARIES];
extern const struct time synthetic_times[TIMES];
extern const struct preposition synthetic_prepositions[PREPOSITIONS];
extern const struct conjunction synthetic_conjunctions[CONJUNCTIONS];

/* ---- meanings ---- */

/* A noun with what belongs to it, or a pronoun. Both are NULL if there is no phrase. */
struct phrase {
    const struct pronoun *pronoun;
    const struct noun *noun;
    const struct determiner *determiner;
    const struct adjective *adjective; /* NULL: none */
    const struct noun *owner;          /* der Hund des Mannes; NULL: none */
    bool plural;
};
/* The parts of a clause but its verb, in German order; phrases stand in the cases of the comments. */
enum part {
    SUBJECT /* nominative */,
    TIME,
    RECIPIENT /* dative */,
    DIRECT_OBJECT /* accusative */,
    PLACE_PART,
    PARTS
};
struct clause {
    const struct verb *verb;
    const struct auxiliary *modal;         /* NULL: none */
    const struct time *time;               /* NULL: none */
    const struct preposition *preposition; /* of the place; NULL: there is none */
    struct phrase phrases[PARTS];
    bool past;
    enum part front; /* what stands before the verb of a main clause */
};
struct meaning {
    struct clause main, second;            /* second: behind the conjunction */
    const struct conjunction *conjunction; /* NULL: there is no second clause */
    bool second_leads;
};

void synthetic_meaning(struct meaning *meaning, struct rotary_random *random);
enum person phrase_person(const struct phrase *phrase);

/* ---- sentences ---- */

/* Adds a word after a space, or after a comma and a space if one is due. `ending` follows it without a space.
 */
void sentence_add(struct sentence *sentence, const char *word, const char *ending);
/* Adds the full stop, and makes the first letter a capital. */
void sentence_end(struct sentence *sentence);

void german_sentence(struct sentence *sentence, const struct meaning *meaning);
/* `plain`: the main clause and its subject first, whatever stands first in German. */
void english_sentence(struct sentence *sentence, const struct meaning *meaning, bool plain);

#endif
