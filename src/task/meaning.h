/* SPDX-License-Identifier: Apache-2.0
 *
 * What a sentence of the made-up corpus says, before it is said in a language: clauses and the phrases in
 * them. Both languages are written from it (task/made_sentence.h).
 */
#ifndef ROTARY_TASK_MEANING_H
#define ROTARY_TASK_MEANING_H

#include "base/random.h"
#include "task/german.h"

enum { MAX_PHRASES = 24, MAX_CLAUSES = 4 };

enum phrase_kind { COMMON_PHRASE, NAME_PHRASE, PRONOUN_PHRASE };
enum determiner {
    INDEFINITE, /* ein; a */
    DEFINITE,   /* der; the */
    BARE,       /* Kinder, Wasser */
    POSSESSIVE, /* sein; his */
    THIS,       /* dieser; this */
    EVERY,      /* jeder; every */
    ALL,        /* alle; all */
    MANY,       /* viele; many */
    SOME,       /* einige; some */
    NUMBER,     /* drei; three */
};
/* Whose pronouns and possessives: ich, er, sie, es, wir, sie. */
enum holder { OF_ME, OF_HIM, OF_HER, OF_IT, OF_US, OF_THEM, OF_NOBODY };

/* Indices of phrases and clauses are 0 where there is none: phrase 0 is not used, and clause 0 is the main
 * one.
 */
struct phrase {
    enum phrase_kind kind;
    const struct noun *noun;         /* of a common phrase */
    const struct compound *compound; /* before it, or NULL */
    const struct adjective *adjectives[2];
    const struct word_pair *name, *number;
    enum determiner determiner;
    enum holder holder; /* of a possessive, or the pronoun itself */
    int possessor;      /* the phrase whose a possessive is, or that a pronoun stands for; 0: none */
    bool plural;
    bool feminine; /* of a name */
    int owner;     /* das Auto des Mannes, the man's car */
    int wearing;   /* ein Mann mit einem Hut, a man with a hat */
    int joined;    /* ein Mann und eine Frau, a man and a woman */
    int relative;  /* a clause */
};

/* A phrase with a preposition. */
struct adjunct {
    int phrase; /* 0: there is none */
    const char *german, *english;
    enum grammatical_case inflected;
};

enum tense { PRESENT, PERFECT, PRETERITE, FUTURE };
enum clause_form { MAIN_CLAUSE, QUESTION_CLAUSE, SUBORDINATE_CLAUSE, RELATIVE_CLAUSE, PURPOSE_CLAUSE };
enum front { FRONT_SUBJECT, FRONT_TIME, FRONT_PLACE, FRONT_OBJECT };

/* can, has to, wants to, should, is allowed to, would like to */
struct modal {
    enum german_auxiliary german;
    const char *fixed;  /* an auxiliary in every person: can, should, would */
    const char *past;   /* its past; NULL: it has none */
    const char *verb;   /* or a verb: have, want, be */
    const char *middle; /* what follows: "", "to", "allowed to", "like to" */
};
extern const struct modal modals[];

struct clause {
    enum clause_form form;
    const struct verb *verb; /* NULL: sein, with a predicate */
    const struct adjective *predicate;
    bool very;
    int than;              /* der Hund ist größer als die Katze */
    int subject;           /* 0: es, of the weather */
    int object, recipient; /* accusative, dative */
    struct adjunct place, goal, companion, prepositional;
    const struct word_pair *manner, *frequency, *question; /* question: warum, why */
    const struct time *time;
    const struct modal *modal;
    enum tense tense;
    bool simple;  /* English present without progressive: regularly, if, before */
    bool ongoing; /* English past with progressive: while */
    bool negated;
    enum front front;
    bool object_is_relative;      /* of a relative clause: the noun is its object */
    struct word_pair conjunction; /* of a subordinate clause: weil, because */
};

/* How clause 1 is connected with clause 0. */
enum connection { ALONE, AFTER_MAIN, BEFORE_MAIN, AND, BUT };

struct meaning {
    struct phrase phrases[MAX_PHRASES];
    struct clause clauses[MAX_CLAUSES];
    int phrase_count, clause_count;
    enum connection connection;
};

/* A random meaning. */
void meaning_draw(struct meaning *meaning, struct rotary_random *random);

/* Properties of a phrase that both languages ask. */
enum person phrase_person(const struct meaning *meaning, int phrase);
/* The pronoun for a phrase named before, and its possessive: OF_NOBODY if none is used. In English the two
 * may differ from German: der Hund is "it". */
enum holder phrase_holder(const struct meaning *meaning, int phrase);
enum holder phrase_english_holder(const struct meaning *meaning, int phrase);
bool phrase_is_definite(const struct phrase *phrase);

#endif
