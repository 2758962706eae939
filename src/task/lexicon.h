/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of the German-English corpus that the task translation makes up (task/made_corpus.h): each with
 * its translation, its irregular forms, and what it can be said of. Regular forms are made by task/german.h
 * and task/english.h. Tables end with an entry whose first member is NULL.
 */
#ifndef ROTARY_TASK_LEXICON_H
#define ROTARY_TASK_LEXICON_H

#include <stdbool.h>
#include <stdint.h>

/* What a noun names: verbs, adjectives and compounds choose their nouns by a mask of these. */
enum {
    ADULT = 1 << 0,
    CHILD = 1 << 1,
    ANIMAL = 1 << 2,
    BIRD = 1 << 3,
    MOUNT = 1 << 4,
    VEHICLE = 1 << 5, /* on wheels, with a driver */
    CRAFT = 1 << 6,   /* other vehicles */
    FOOD = 1 << 7,
    BAKED = 1 << 8,
    DRINK = 1 << 9,
    READING = 1 << 10,
    WRITING = 1 << 11, /* that one person writes */
    CLOTHES = 1 << 12,
    FURNITURE = 1 << 13,
    OPENING = 1 << 14,
    VESSEL = 1 << 15, /* may break */
    TOOL = 1 << 16,
    TOY = 1 << 17,
    GOODS = 1 << 18, /* other things that are bought, carried and forgotten */
    SURFACE = 1 << 19,
    PICTURE = 1 << 20,
    MUSIC = 1 << 21,
    DEVICE = 1 << 22,
    PLANT = 1 << 23,
    BUILDING = 1 << 24,
    PLACE = 1 << 25,
    LANDSCAPE = 1 << 26,
    TOPIC = 1 << 27,
    EXERCISE = 1 << 28,
    JEWEL = 1 << 29,
    WEATHER = 1 << 30, /* of verbs alone: the subject is "es" */
    PERSON = ADULT | CHILD,
    BEING = PERSON | ANIMAL | BIRD | MOUNT,
    CREATURE = ANIMAL | BIRD | MOUNT,
    THING = READING | CLOTHES | VESSEL | TOOL | TOY | GOODS | PICTURE | JEWEL,
};

enum gender { MASCULINE, FEMININE, NEUTER };

struct noun {
    const char *german, *plural; /* nominative; plural NULL: there is none (bread) */
    enum gender gender;
    const char *english, *english_plural; /* plural NULL: regular */
    uint32_t classes;
    const char *oblique;  /* of the other cases of the singular, of weak nouns (den Jungen); NULL: strong */
    const char *genitive; /* irregular; NULL: regular */
    char pronoun;         /* he, she, it by its first letter; '-': none is used */
};
extern const struct noun lexicon_nouns[];

/* Where one is at a noun, and where one goes. */
struct place {
    const char *noun;                   /* German singular of an entry of lexicon_nouns */
    const char *preposition;            /* in, auf: dative where one is, accusative where one goes; an: zu */
    const char *english, *english_goal; /* at the market, to the market */
};
extern const struct place lexicon_places[];

/* First parts of compounds: "Holz" and "Tisch" are "Holztisch", "wooden table". */
struct compound {
    const char *german, *english;
    uint32_t classes; /* of the nouns it goes with */
};
extern const struct compound lexicon_compounds[];

enum frame {
    INTRANSITIVE,  /* schlafen */
    TRANSITIVE,    /* accusative */
    DATIVE,        /* helfen */
    DITRANSITIVE,  /* dative and accusative; to in English */
    PREPOSITIONAL, /* warten auf */
    MOTION,        /* gehen, with a goal */
    POSITION,      /* liegen, with a place */
    PUTTING,       /* accusative and a goal */
    SAYING,        /* a clause with dass */
};

struct verb {
    /* "auf|stehen": the part before the bar is separable. third: er steht; preterite: er stand; NULL: weak.
     */
    const char *german, *third, *preterite, *participle;
    const char *english, *past, *english_participle,
        *gerund; /* NULL: regular; "look for": look is inflected */
    enum frame frame;
    uint32_t subjects, objects;
    bool sein;              /* the perfect's auxiliary */
    bool stative;           /* no progressive form in English */
    const char *complement; /* a word that stays at the end: "Klavier" spielen */
    const char *preposition;
    bool accusative; /* of the preposition */
};
extern const struct verb lexicon_verbs[];

struct adjective {
    const char *german, *stem; /* before endings: teuer, teur-; NULL: the same */
    const char *comparative;   /* NULL: none is used */
    const char *english, *english_comparative;
    uint32_t classes;
};
extern const struct adjective lexicon_adjectives[];

struct word_pair {
    const char *german, *english;
};
extern const struct word_pair lexicon_manners[];              /* langsam, slowly */
extern const struct word_pair lexicon_numbers[];              /* zwei, two */
extern const struct word_pair lexicon_frequencies[];          /* oft, often: before the English verb */
extern const struct word_pair lexicon_men[], lexicon_women[]; /* names */

/* When: what tense a time wants. */
enum when {
    ANYTIME,   /* am Abend */
    NOW,       /* gerade */
    REGULARLY, /* jeden Tag: no progressive form in English */
    RECENTLY,  /* gestern: German's perfect */
    LONG_AGO,  /* damals: German's preterite */
    SOON,      /* morgen: future */
};
struct time {
    const char *german, *english;
    enum when when;
};
extern const struct time lexicon_times[];

#endif
