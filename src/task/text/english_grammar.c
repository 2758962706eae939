/* SPDX-License-Identifier: Apache-2.0
 *
 * English: articles, the third person, and the order subject, verb, objects, place, time.
 */
#include "task/text/synthetic_grammar.h"

#include <stdio.h>
#include <string.h>

/* a dog, an old dog; the man's dog */
static void add_phrase(struct sentence *sentence, const struct phrase *phrase)
{
    if (phrase->pronoun)
        sentence_add(sentence, phrase->pronoun->english, "");
    if (!phrase->noun)
        return;
    const char *noun = phrase->plural ? phrase->noun->english_plural : phrase->noun->english,
               *next = phrase->adjective ? phrase->adjective->english : noun,
               *article = phrase->plural ? phrase->determiner->english_plural : phrase->determiner->english;
    sentence_add(sentence, article, strcmp(article, "a") == 0 && strchr("aeiou", next[0]) ? "n" : "");
    if (phrase->owner)
        sentence_add(sentence, phrase->owner->english, "'s");
    if (phrase->adjective)
        sentence_add(sentence, phrase->adjective->english, "");
    sentence_add(sentence, noun, "");
}

/* Adds runs, carries, catches. */
static void add_third_person(struct sentence *sentence, const char *verb)
{
    char stem[64];
    const size_t length = strlen(verb);
    const char last = verb[length - 1], before = verb[length - 2];
    const bool y = last == 'y' && !strchr("aeiou", before),
               es = last == 's' || last == 'x' || last == 'o' || (last == 'h' && strchr("cs", before));
    snprintf(stem, sizeof stem, "%.*s", (int)length - y, verb);
    sentence_add(sentence, stem, y ? "ies" : es ? "es" : "s");
}

static void add_verb(struct sentence *sentence, const struct clause *clause)
{
    const bool third = phrase_person(&clause->phrases[SUBJECT]) == THIRD_PERSON;
    sentence_add(sentence, clause->modal ? clause->modal->english : "", "");
    if (third && !clause->past && !clause->modal)
        add_third_person(sentence, clause->verb->english);
    else
        sentence_add(sentence, clause->past ? clause->verb->past : clause->verb->english, "");
    sentence_add(sentence, clause->verb->particle, "");
}

static void add_part(struct sentence *sentence, const struct clause *clause, enum part part)
{
    if (part == TIME)
        sentence_add(sentence, clause->time ? clause->time->english : "", "");
    if (part == PLACE_PART && clause->preposition)
        sentence_add(sentence, clause->preposition->english, "");
    add_phrase(sentence, &clause->phrases[part]);
    if (part == SUBJECT)
        add_verb(sentence, clause);
}

/* Today, the woman gives the child a ball in the garden. An object never stands first. */
static void add_clause(struct sentence *sentence, const struct clause *clause, bool plain)
{
    static const enum part order[PARTS] = {SUBJECT, RECIPIENT, DIRECT_OBJECT, PLACE_PART, TIME};
    const bool fronted = !plain && (clause->front == TIME || clause->front == PLACE_PART);
    if (fronted) {
        add_part(sentence, clause, clause->front);
        sentence->comma = true;
    }
    for (int i = 0; i < PARTS; i++)
        if (!fronted || order[i] != clause->front)
            add_part(sentence, clause, order[i]);
}

void english_sentence(struct sentence *sentence, const struct meaning *meaning, bool plain)
{
    const bool second_leads = meaning->second_leads && !plain;
    *sentence = (struct sentence){.length = 0};
    if (!second_leads)
        add_clause(sentence, &meaning->main, plain);
    if (meaning->conjunction) {
        sentence->comma = !meaning->conjunction->subordinate;
        sentence_add(sentence, meaning->conjunction->english, "");
        add_clause(sentence, &meaning->second, plain);
    }
    if (second_leads) {
        sentence->comma = true;
        add_clause(sentence, &meaning->main, plain);
    }
    sentence_end(sentence);
}
