/* SPDX-License-Identifier: Apache-2.0
 *
 * Drawing phrases.
 */
#include "task/meaning_draw.h"

#include <stddef.h>
#include <string.h>

bool chance(struct rotary_random *random, uint32_t percent)
{
    return rotary_random_below(random, 100) < percent;
}

uint32_t below(struct rotary_random *random, uint32_t bound)
{
    return rotary_random_below(random, bound);
}

/* ---- choosing words ---- */

static const struct noun *draw_noun(struct rotary_random *random, uint32_t classes, bool countable)
{
    uint32_t count = 0;
    for (const struct noun *noun = lexicon_nouns; noun->german; noun++)
        count += (noun->classes & classes) != 0 && (noun->plural || !countable);
    uint32_t chosen = below(random, count);
    for (const struct noun *noun = lexicon_nouns;; noun++)
        if ((noun->classes & classes) != 0 && (noun->plural || !countable) && chosen-- == 0)
            return noun;
}

static const struct compound *draw_compound(struct rotary_random *random, const struct noun *noun)
{
    uint32_t count = 0;
    for (const struct compound *part = lexicon_compounds; part->german; part++)
        count += (part->classes & noun->classes) != 0 && strcmp(part->german, noun->german) != 0;
    if (count == 0)
        return NULL;
    uint32_t chosen = below(random, count);
    for (const struct compound *part = lexicon_compounds;; part++)
        if ((part->classes & noun->classes) != 0 && strcmp(part->german, noun->german) != 0 && chosen-- == 0)
            return part;
}

const struct adjective *draw_adjective(struct rotary_random *random, uint32_t classes, bool comparable)
{
    uint32_t count = 0;
    for (const struct adjective *adjective = lexicon_adjectives; adjective->german; adjective++)
        count += (adjective->classes & classes) != 0 && (adjective->comparative || !comparable);
    if (count == 0)
        return NULL;
    uint32_t chosen = below(random, count);
    for (const struct adjective *adjective = lexicon_adjectives;; adjective++)
        if ((adjective->classes & classes) != 0 && (adjective->comparative || !comparable) && chosen-- == 0)
            return adjective;
}

const struct word_pair *draw_pair(struct rotary_random *random, const struct word_pair *table)
{
    uint32_t count = 0;
    while (table[count].german)
        count++;
    return &table[below(random, count)];
}

/* ---- properties ---- */

enum person phrase_person(const struct meaning *meaning, int index)
{
    if (index == 0)
        return THIRD_PERSON; /* es regnet */
    const struct phrase *phrase = &meaning->phrases[index];
    if (phrase->kind == PRONOUN_PHRASE)
        return phrase->holder == OF_ME                                ? FIRST_PERSON
               : phrase->holder == OF_US || phrase->holder == OF_THEM ? PLURAL_PERSON
                                                                      : THIRD_PERSON;
    return phrase->plural || phrase->joined ? PLURAL_PERSON : THIRD_PERSON;
}

enum holder phrase_holder(const struct meaning *meaning, int index)
{
    const struct phrase *phrase = &meaning->phrases[index];
    if (phrase->kind == PRONOUN_PHRASE)
        return phrase->holder;
    if (phrase_person(meaning, index) == PLURAL_PERSON)
        return OF_THEM;
    if (phrase->kind == NAME_PHRASE)
        return phrase->feminine ? OF_HER : OF_HIM;
    if (phrase->noun->pronoun == '-' || phrase->determiner == EVERY)
        return OF_NOBODY;
    return phrase->noun->gender == MASCULINE ? OF_HIM : phrase->noun->gender == FEMININE ? OF_HER : OF_IT;
}

enum holder phrase_english_holder(const struct meaning *meaning, int index)
{
    const struct phrase *phrase = &meaning->phrases[index];
    if (phrase->kind == PRONOUN_PHRASE && phrase->possessor) /* it stands for that */
        return phrase_english_holder(meaning, phrase->possessor);
    const enum holder holder = phrase_holder(meaning, index);
    const bool thing = phrase->kind == COMMON_PHRASE && phrase->noun->pronoun == 'i';
    return thing && (holder == OF_HIM || holder == OF_HER) ? OF_IT : holder;
}

bool phrase_is_definite(const struct phrase *phrase)
{
    return phrase->kind != COMMON_PHRASE || phrase->determiner == DEFINITE ||
           phrase->determiner == POSSESSIVE || phrase->determiner == THIS;
}

/* ---- phrases ---- */

static int add_phrase(struct meaning *meaning)
{
    meaning->phrases[meaning->phrase_count] = (struct phrase){0};
    return meaning->phrase_count++;
}

static enum determiner draw_determiner(struct rotary_random *random, const struct phrase *phrase)
{
    static const enum determiner one[] = {INDEFINITE, INDEFINITE, INDEFINITE, INDEFINITE, INDEFINITE,
                                          DEFINITE,   DEFINITE,   DEFINITE,   DEFINITE,   DEFINITE,
                                          POSSESSIVE, THIS,       EVERY};
    static const enum determiner many[] = {BARE,   BARE, DEFINITE, DEFINITE, DEFINITE, NUMBER,
                                           NUMBER, MANY, SOME,     ALL,      THIS,     POSSESSIVE};
    if (!phrase->noun->plural)
        return chance(random, 50) ? BARE : DEFINITE;
    return phrase->plural ? many[below(random, sizeof many / sizeof *many)]
                          : one[below(random, sizeof one / sizeof *one)];
}

static void draw_adjectives(struct rotary_random *random, struct phrase *phrase)
{
    const uint32_t kind = below(random, 100);
    if (kind >= 38)
        return;
    phrase->adjectives[0] = draw_adjective(random, phrase->noun->classes, false);
    if (kind < 6 && phrase->adjectives[0])
        phrase->adjectives[1] = draw_adjective(random, phrase->noun->classes, false);
    const struct adjective *first = phrase->adjectives[0], *second = phrase->adjectives[1];
    if (!second)
        return;
    if (second == first || (!first->comparative && !second->comparative)) { /* one color is enough */
        phrase->adjectives[1] = NULL;
    } else if (!first->comparative) { /* ein großer roter Ball */
        phrase->adjectives[0] = second;
        phrase->adjectives[1] = first;
    }
}

/* Whose a thing is: the subject's, if it is known, or mine or ours. */
static enum holder draw_holder(struct rotary_random *random, const struct meaning *meaning, int subject)
{
    if (subject > 0 && phrase_holder(meaning, subject) != OF_NOBODY && chance(random, 80))
        return phrase_holder(meaning, subject);
    return chance(random, 60) ? OF_ME : OF_US;
}

/* "Sein Mann" is a husband. */
static bool means_spouse(const struct noun *noun)
{
    return strcmp(noun->german, "Mann") == 0 || strcmp(noun->german, "Frau") == 0;
}

int draw_common(struct meaning *meaning, struct rotary_random *random, uint32_t classes, int subject)
{
    const int index = add_phrase(meaning);
    struct phrase *phrase = &meaning->phrases[index];
    phrase->noun = draw_noun(random, classes, false);
    if (chance(random, 25))
        phrase->compound = draw_compound(random, phrase->noun);
    phrase->plural = phrase->noun->plural && chance(random, 27);
    phrase->determiner = draw_determiner(random, phrase);
    draw_adjectives(random, phrase);
    if (phrase->determiner == POSSESSIVE && means_spouse(phrase->noun))
        phrase->determiner = DEFINITE;
    if (phrase->determiner == NUMBER)
        phrase->number = draw_pair(random, lexicon_numbers);
    if (phrase->determiner == POSSESSIVE) {
        phrase->holder = draw_holder(random, meaning, subject);
        phrase->possessor = phrase->holder == OF_ME || phrase->holder == OF_US ? 0 : subject;
    }
    return index;
}

/* A person who owns a definite thing, or what a person wears. */
void draw_attribute(struct meaning *meaning, struct rotary_random *random, int index)
{
    struct phrase *phrase = &meaning->phrases[index];
    if (phrase->kind != COMMON_PHRASE || meaning->phrase_count + 2 > MAX_PHRASES)
        return;
    const bool owned = phrase->determiner == DEFINITE &&
                       (phrase->noun->classes & (THING | FURNITURE | VEHICLE | ANIMAL | TOPIC)) != 0;
    const bool person =
        (phrase->noun->classes & PERSON) != 0 && phrase->determiner != EVERY && !phrase->plural;
    if (owned && chance(random, 15)) {
        const int owner = draw_common(meaning, random, PERSON, 0);
        struct phrase *made = &meaning->phrases[owner];
        made->plural = made->plural && made->determiner == DEFINITE;
        made->determiner = DEFINITE;
        made->adjectives[1] = NULL;
        phrase->owner = owner;
    } else if (person && chance(random, 14)) {
        const int worn = draw_common(meaning, random, CLOTHES, 0);
        struct phrase *made = &meaning->phrases[worn];
        made->plural = false;
        made->determiner = INDEFINITE;
        phrase->wearing = worn;
    }
}

int draw_definite(struct meaning *meaning, struct rotary_random *random, const struct noun *noun,
                  uint32_t classes)
{
    const int index = add_phrase(meaning);
    struct phrase *phrase = &meaning->phrases[index];
    phrase->noun = noun ? noun : draw_noun(random, classes, true);
    phrase->determiner = chance(random, 75) ? DEFINITE : INDEFINITE;
    if (chance(random, 20))
        phrase->adjectives[0] = draw_adjective(random, phrase->noun->classes, false);
    return index;
}

int draw_pronoun(struct meaning *meaning, enum holder holder)
{
    const int index = add_phrase(meaning);
    meaning->phrases[index].kind = PRONOUN_PHRASE;
    meaning->phrases[index].holder = holder;
    return index;
}

static int draw_name(struct meaning *meaning, struct rotary_random *random)
{
    const int index = add_phrase(meaning);
    struct phrase *phrase = &meaning->phrases[index];
    phrase->kind = NAME_PHRASE;
    phrase->feminine = chance(random, 50);
    phrase->name = draw_pair(random, phrase->feminine ? lexicon_women : lexicon_men);
    return index;
}

int draw_subject(struct meaning *meaning, struct rotary_random *random, uint32_t classes)
{
    static const enum holder pronouns[] = {OF_ME, OF_HIM, OF_HER, OF_US, OF_THEM};
    const bool adult = (classes & ADULT) != 0;
    const uint32_t kind = below(random, 100);
    if (adult && kind < 12)
        return draw_pronoun(meaning, pronouns[below(random, 5)]);
    if (adult && kind < 22)
        return draw_name(meaning, random);
    const int index = draw_common(meaning, random, classes, 0);
    draw_attribute(meaning, random, index);
    struct phrase *phrase = &meaning->phrases[index];
    if (chance(random, 5) && !phrase->wearing && !phrase->owner && !phrase->plural && phrase->noun->plural &&
        (phrase->determiner == DEFINITE || phrase->determiner == INDEFINITE)) {
        const int joined = draw_common(meaning, random, classes, 0);
        struct phrase *other = &meaning->phrases[joined];
        other->plural = false;
        other->determiner = phrase->determiner;
        if (other->noun->plural)
            phrase->joined = joined;
    }
    return index;
}
