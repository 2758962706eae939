/* SPDX-License-Identifier: Apache-2.0
 *
 * German: declension, contractions, and where the parts of a verb stand.
 */
#include "task/text/synthetic_grammar.h"

#include <stdio.h>
#include <string.h>

/* Rows are cases but the genitive, which only owners have; columns are genders, and the plural. */
enum { PLURAL_COLUMN = 3, COLUMNS };
static const char *const endings[NO_ENDINGS][GENITIVE][COLUMNS] = {
    [AS_D] = {{"er", "ie", "as", "ie"}, {"en", "ie", "as", "ie"}, {"em", "er", "em", "en"}},
    [AS_DIES] = {{"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}},
    [AS_EIN] = {{"", "e", "", "e"}, {"en", "e", "", "e"}, {"em", "er", "em", "en"}},
};

static const char *ending_of(enum declension declension, enum grammatical_case inflected,
                             const struct phrase *phrase)
{
    const int column = phrase->plural ? PLURAL_COLUMN : (int)phrase->noun->gender;
    return declension == NO_ENDINGS ? "" : endings[declension][inflected][column];
}

/* An adjective is strong where its determiner has no ending: ein alter Hund, but der alte Hund. Weak, it ends
 * with -e in the nominative, and in the accusative but for the masculine; else with -en. */
static const char *adjective_ending(const struct phrase *phrase, enum grammatical_case inflected)
{
    if (ending_of(phrase->determiner->declension, inflected, phrase)[0] == '\0')
        return ending_of(AS_DIES, inflected, phrase);
    const bool masculine = phrase->noun->gender == MASCULINE;
    return !phrase->plural && (inflected == NOMINATIVE || (inflected == ACCUSATIVE && !masculine)) ? "e"
                                                                                                   : "en";
}

/* A noun has its ending in des Hundes, den Bären and den Hunden, but none in den Frauen and den Autos. */
static void add_noun(struct sentence *sentence, const struct noun *noun, bool plural,
                     enum grammatical_case inflected)
{
    const size_t genitive_length = strlen(noun->genitive);
    const bool weak = noun->gender == MASCULINE && noun->genitive[genitive_length - 1] == 'n';
    const char *form =
        inflected == GENITIVE || (weak && inflected != NOMINATIVE) ? noun->genitive : noun->german;
    if (plural)
        form = noun->plural;
    const char last = form[strlen(form) - 1];
    sentence_add(sentence, form, plural && inflected == DATIVE && last != 'n' && last != 's' ? "n" : "");
}

static void add_determiner(struct sentence *sentence, const struct phrase *phrase,
                           enum grammatical_case inflected)
{
    const struct determiner *determiner = phrase->determiner;
    sentence_add(sentence, determiner->german, ending_of(determiner->declension, inflected, phrase));
}

/* Adds what follows the determiner: alte Hund des Mannes. */
static void add_described(struct sentence *sentence, const struct phrase *phrase,
                          enum grammatical_case inflected)
{
    if (phrase->adjective)
        sentence_add(sentence, phrase->adjective->german, adjective_ending(phrase, inflected));
    add_noun(sentence, phrase->noun, phrase->plural, inflected);
    if (phrase->owner) {
        sentence_add(sentence, phrase->owner->gender == FEMININE ? "der" : "des", "");
        add_noun(sentence, phrase->owner, false, GENITIVE);
    }
}

static void add_phrase(struct sentence *sentence, const struct phrase *phrase,
                       enum grammatical_case inflected)
{
    if (phrase->pronoun)
        sentence_add(sentence, phrase->pronoun->german, "");
    if (!phrase->noun)
        return;
    add_determiner(sentence, phrase, inflected);
    add_described(sentence, phrase, inflected);
}

/* Adds in einem Garten, or im Garten. */
static void add_place(struct sentence *sentence, const struct preposition *preposition,
                      const struct phrase *place)
{
    const bool definite = place->determiner->declension == AS_D && !place->plural;
    const char *contracted = definite ? preposition->contracted[place->noun->gender] : "";
    sentence_add(sentence, contracted[0] ? contracted : preposition->german, "");
    if (!contracted[0])
        add_determiner(sentence, place, preposition->inflected);
    add_described(sentence, place, preposition->inflected);
}

/* ---- verbs ---- */

static const struct auxiliary *auxiliary_of(const struct clause *clause)
{
    if (clause->modal || !clause->past)
        return clause->modal;
    return &synthetic_auxiliaries[clause->verb->sein ? SEIN : HABEN];
}

/* Adds the verb that agrees with the subject. The first person is the infinitive without its -n. */
static void add_finite(struct sentence *sentence, const struct clause *clause, const char *prefix)
{
    const enum person person = phrase_person(&clause->phrases[SUBJECT]);
    const struct auxiliary *auxiliary = auxiliary_of(clause);
    const char *verb = person == THIRD_PERSON ? clause->verb->third : clause->verb->infinitive;
    char form[64];
    snprintf(form, sizeof form, "%s%.*s", prefix, (int)strlen(verb) - (person == FIRST_PERSON), verb);
    sentence_add(sentence, auxiliary ? auxiliary->german[person] : form, "");
}

/* Adds the part of a verb that stands at the end: abgeholt, abholen. */
static void add_nonfinite(struct sentence *sentence, const struct clause *clause)
{
    const char *form = clause->modal ? clause->verb->infinitive : clause->verb->participle,
               *prefix = clause->verb->prefix;
    sentence_add(sentence, prefix[0] ? prefix : form, prefix[0] ? form : "");
}

/* ---- clauses ---- */

static void add_part(struct sentence *sentence, const struct clause *clause, enum part part)
{
    static const enum grammatical_case cases[] = {
        [SUBJECT] = NOMINATIVE, [RECIPIENT] = DATIVE, [DIRECT_OBJECT] = ACCUSATIVE};
    if (part == TIME)
        sentence_add(sentence, clause->time ? clause->time->german : "", "");
    else if (part != PLACE_PART)
        add_phrase(sentence, &clause->phrases[part], cases[part]);
    else if (clause->preposition)
        add_place(sentence, clause->preposition, &clause->phrases[part]);
}

/* Den Ball holt der Junge heute ab; ..., holt der Junge heute den Ball ab; weil der Junge heute den Ball
 * abholt */
enum verb_place { VERB_SECOND, VERB_FIRST, VERB_LAST };
static void add_clause(struct sentence *sentence, const struct clause *clause, enum verb_place place)
{
    if (place == VERB_SECOND)
        add_part(sentence, clause, clause->front);
    if (place != VERB_LAST)
        add_finite(sentence, clause, "");
    for (enum part part = SUBJECT; part < PARTS; part++)
        if (place != VERB_SECOND || part != clause->front)
            add_part(sentence, clause, part);
    if (auxiliary_of(clause))
        add_nonfinite(sentence, clause);
    else if (place != VERB_LAST)
        sentence_add(sentence, clause->verb->prefix, "");
    if (place == VERB_LAST)
        add_finite(sentence, clause, clause->verb->prefix);
}

void german_sentence(struct sentence *sentence, const struct meaning *meaning)
{
    *sentence = (struct sentence){.length = 0};
    if (!meaning->second_leads)
        add_clause(sentence, &meaning->main, VERB_SECOND);
    if (meaning->conjunction) {
        sentence->comma = !meaning->second_leads;
        sentence_add(sentence, meaning->conjunction->german, "");
        add_clause(sentence, &meaning->second, meaning->conjunction->subordinate ? VERB_LAST : VERB_SECOND);
    }
    if (meaning->second_leads) {
        sentence->comma = true;
        add_clause(sentence, &meaning->main, VERB_FIRST);
    }
    sentence_end(sentence);
}
