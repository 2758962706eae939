/* SPDX-License-Identifier: Apache-2.0
 *
 * Random meanings: what is said, before it is said in a language.
 */
#include "task/text/synthetic_grammar.h"

enum person phrase_person(const struct phrase *phrase)
{
    return phrase->pronoun ? phrase->pronoun->person : phrase->plural ? PLURAL_PERSON : THIRD_PERSON;
}

static bool chance(struct rotary_random *random, uint32_t percent)
{
    return rotary_random_below(random, 100) < percent;
}

/* ---- phrases ---- */

static const struct noun *draw_noun(struct rotary_random *random, unsigned classes)
{
    const struct noun *noun;
    do
        noun = &synthetic_nouns[rotary_random_below(random, NOUNS)];
    while (!(noun->classes & classes));
    return noun;
}

static struct phrase draw_phrase(struct rotary_random *random, unsigned classes)
{
    struct phrase phrase = {.noun = draw_noun(random, classes)};
    phrase.determiner =
        &synthetic_determiners[chance(random, 40) ? 0 : rotary_random_below(random, DETERMINERS)];
    phrase.plural =
        phrase.determiner->numbers == PLURAL || (phrase.determiner->numbers & PLURAL && chance(random, 35));
    if (chance(random, 35))
        do
            phrase.adjective = &synthetic_adjectives[rotary_random_below(random, ADJECTIVES)];
        while (!(phrase.adjective->classes & phrase.noun->classes));
    return phrase;
}

/* A phrase that a person may own. No dative does, as die Frau is the same in dative and genitive: der Frau.
 */
static struct phrase draw_owned(struct rotary_random *random, unsigned classes)
{
    struct phrase phrase = draw_phrase(random, classes);
    if (phrase.determiner == &synthetic_determiners[0] && chance(random, 25))
        do
            phrase.owner = draw_noun(random, PERSON);
        while (phrase.owner == phrase.noun);
    return phrase;
}

/* ---- clauses ---- */

static struct phrase draw_subject(struct rotary_random *random, unsigned classes)
{
    if (classes & PERSON && chance(random, 20))
        return (struct phrase){.pronoun = &synthetic_pronouns[rotary_random_below(random, PRONOUNS)]};
    return draw_owned(random, classes);
}

static void draw_tense(struct rotary_random *random, struct clause *clause)
{
    const uint32_t kind = rotary_random_below(random, 10);
    if (kind < 3)
        clause->modal =
            &synthetic_auxiliaries[FIRST_MODAL + rotary_random_below(random, AUXILIARIES - FIRST_MODAL)];
    clause->past = kind >= 3 && kind < 6;
    const unsigned tense = clause->modal ? MODAL : clause->past ? PAST : PRESENT;
    if (chance(random, 50))
        do
            clause->time = &synthetic_times[rotary_random_below(random, TIMES)];
        while (!(clause->time->tenses & tense));
}

static void draw_place(struct rotary_random *random, struct clause *clause, bool goal)
{
    do
        clause->preposition = &synthetic_prepositions[rotary_random_below(random, PREPOSITIONS)];
    while (clause->preposition->goal != goal);
    clause->phrases[PLACE_PART] = draw_phrase(random, clause->preposition->classes);
}

static struct clause draw_clause(struct rotary_random *random)
{
    const struct verb *verb = &synthetic_verbs[rotary_random_below(random, VERBS)];
    const enum frame frame = verb->frame;
    struct clause clause = {.verb = verb};
    clause.phrases[SUBJECT] = draw_subject(random, verb->subjects);
    if (frame == TRANSITIVE || frame == DITRANSITIVE)
        clause.phrases[DIRECT_OBJECT] = draw_owned(random, verb->objects);
    if (frame == DATIVE_ONLY || frame == DITRANSITIVE)
        clause.phrases[RECIPIENT] = draw_phrase(random, frame == DITRANSITIVE ? PERSON : verb->objects);
    if (frame == MOTION || (frame != DITRANSITIVE && chance(random, 35)))
        draw_place(random, &clause, frame == MOTION);
    draw_tense(random, &clause);
    return clause;
}

/* Draws what stands first: an object only where its case shows that it is no subject, as in den Hund sieht
 * die Katze. */
static enum part draw_front(struct rotary_random *random, const struct clause *clause)
{
    const struct phrase *object = &clause->phrases[DIRECT_OBJECT];
    const uint32_t kind = rotary_random_below(random, 10);
    if (kind < 4 && clause->time)
        return TIME;
    if (kind < 6 && clause->preposition && !clause->preposition->goal)
        return PLACE_PART;
    if (kind < 8 && object->noun && object->noun->gender == MASCULINE && !object->plural)
        return DIRECT_OBJECT;
    return SUBJECT;
}

void synthetic_meaning(struct meaning *meaning, struct rotary_random *random)
{
    *meaning = (struct meaning){.main = draw_clause(random)};
    if (chance(random, 35)) {
        meaning->conjunction = &synthetic_conjunctions[rotary_random_below(random, CONJUNCTIONS)];
        meaning->second = draw_clause(random);
        meaning->second_leads = meaning->conjunction->subordinate && chance(random, 50);
    }
    if (!meaning->second_leads)
        meaning->main.front = draw_front(random, &meaning->main);
}
