/* SPDX-License-Identifier: Apache-2.0
 *
 * Drawing clauses, and how they are connected.
 */
#include "task/meaning.h"

#include "task/meaning_draw.h"

#include <stddef.h>
#include <string.h>

const struct modal modals[] = {
    {KOENNEN, "can", "could", NULL, ""},       {MUESSEN, NULL, NULL, "have", "to"},
    {WOLLEN, NULL, NULL, "want", "to"},        {SOLLEN, "should", NULL, NULL, ""},
    {DUERFEN, NULL, NULL, "be", "allowed to"}, {MOECHTEN, "would", NULL, NULL, "like to"},
};
enum { MODALS = sizeof modals / sizeof *modals };

/* ---- verbs ---- */

static const struct verb *draw_verb(struct rotary_random *random, enum frame frame, uint32_t subjects)
{
    uint32_t count = 0;
    for (const struct verb *verb = lexicon_verbs; verb->german; verb++)
        count += verb->frame == frame && (verb->subjects & subjects) != 0;
    if (count == 0)
        return NULL;
    uint32_t chosen = below(random, count);
    for (const struct verb *verb = lexicon_verbs;; verb++)
        if (verb->frame == frame && (verb->subjects & subjects) != 0 && chosen-- == 0)
            return verb;
}

static enum frame draw_frame(struct rotary_random *random)
{
    static const struct {
        enum frame frame;
        uint32_t weight;
    } weights[] = {{TRANSITIVE, 36}, {INTRANSITIVE, 20}, {DITRANSITIVE, 9}, {PREPOSITIONAL, 9},
                   {MOTION, 10},     {POSITION, 7},      {PUTTING, 6},      {DATIVE, 3}};
    uint32_t chosen = below(random, 100);
    int i = 0;
    while (chosen >= weights[i].weight)
        chosen -= weights[i++].weight;
    return weights[i].frame;
}

/* ---- adjuncts ---- */

static const struct noun *find_noun(const char *german)
{
    const struct noun *noun = lexicon_nouns;
    while (strcmp(noun->german, german) != 0)
        noun++;
    return noun;
}

static const struct place *draw_place(struct rotary_random *random)
{
    uint32_t count = 0;
    while (lexicon_places[count].noun)
        count++;
    return &lexicon_places[below(random, count)];
}

/* im Garten, in the garden; zum Bahnhof, to the station; ins Dorf, into the village */
static struct adjunct draw_location(struct meaning *meaning, struct rotary_random *random, bool goal)
{
    const struct place *place = draw_place(random);
    const bool to = goal && strcmp(place->preposition, "an") == 0;
    return (struct adjunct){
        .phrase = draw_definite(meaning, random, find_noun(place->noun), 0),
        .german = to ? "zu" : place->preposition,
        .english = goal ? place->english_goal : place->english,
        .inflected = goal && !to ? ACCUSATIVE_CASE : DATIVE_CASE,
    };
}

/* vor dem Baum, in front of the tree; unter dem Tisch, under the table */
static struct adjunct draw_near(struct meaning *meaning, struct rotary_random *random, uint32_t classes)
{
    static const struct word_pair near[] = {{"vor", "in front of"},
                                            {"hinter", "behind"},
                                            {"neben", "next to"},
                                            {"auf", "on"},
                                            {"unter", "under"}};
    const bool surface = (classes & SURFACE) != 0;
    const struct word_pair *chosen = &near[surface ? 2 + below(random, 3) : below(random, 3)];
    return (struct adjunct){.phrase = draw_definite(meaning, random, NULL, classes),
                            .german = chosen->german,
                            .english = chosen->english,
                            .inflected = DATIVE_CASE};
}

/* auf den Tisch, onto the table */
static struct adjunct draw_onto(struct meaning *meaning, struct rotary_random *random)
{
    static const struct word_pair goals[] = {
        {"auf", "onto"}, {"auf", "onto"}, {"unter", "under"}, {"neben", "next to"}};
    const struct word_pair *chosen = &goals[below(random, 4)];
    return (struct adjunct){.phrase = draw_definite(meaning, random, NULL, SURFACE),
                            .german = chosen->german,
                            .english = chosen->english,
                            .inflected = ACCUSATIVE_CASE};
}

/* What is put somewhere is put on furniture as well; what is carried goes to a place. */
static struct adjunct draw_goal(struct meaning *meaning, struct rotary_random *random,
                                const struct verb *verb)
{
    const bool put = strcmp(verb->german, "legen") == 0 || strcmp(verb->german, "stellen") == 0;
    if (put || (strcmp(verb->german, "springen") == 0 && chance(random, 60)))
        return draw_onto(meaning, random);
    return draw_location(meaning, random, true);
}

static struct adjunct draw_where(struct meaning *meaning, struct rotary_random *random, bool thing)
{
    if (thing && chance(random, 70))
        return draw_near(meaning, random, SURFACE);
    return chance(random, 22) ? draw_near(meaning, random, BUILDING | PLANT)
                              : draw_location(meaning, random, false);
}

static const struct time *draw_time(struct rotary_random *random, enum when first, enum when second)
{
    uint32_t count = 0;
    for (const struct time *time = lexicon_times; time->german; time++)
        count += time->when == first || time->when == second;
    uint32_t chosen = below(random, count);
    for (const struct time *time = lexicon_times;; time++)
        if ((time->when == first || time->when == second) && chosen-- == 0)
            return time;
}

/* Sets the time that the tense wants, or perhaps one that it allows. */
static void draw_when(struct clause *clause, struct rotary_random *random)
{
    if (clause->tense == PRETERITE && clause->form == MAIN_CLAUSE && !clause->simple)
        clause->time = draw_time(random, LONG_AGO, LONG_AGO);
    else if (!chance(random, clause->simple && !clause->frequency ? 100 : 40))
        return;
    else if (clause->tense == PERFECT)
        clause->time = draw_time(random, RECENTLY, ANYTIME);
    else if (clause->tense == FUTURE || (clause->modal && clause->tense == PRESENT))
        clause->time = draw_time(random, SOON, ANYTIME);
    else if (clause->tense == PRESENT && clause->simple)
        clause->time = draw_time(random, REGULARLY, clause->frequency ? ANYTIME : REGULARLY);
    else if (clause->tense == PRESENT)
        clause->time = draw_time(random, NOW, ANYTIME);
    else
        clause->time = draw_time(random, ANYTIME, ANYTIME);
}

/* ---- a clause ---- */

static uint32_t classes_of(const struct meaning *meaning, int index)
{
    const struct phrase *phrase = &meaning->phrases[index];
    return phrase->kind == COMMON_PHRASE ? phrase->noun->classes : ADULT;
}

static void draw_tense(struct clause *clause, struct rotary_random *random)
{
    const uint32_t kind = below(random, 100);
    clause->tense = kind < 56 ? PRESENT : kind < 74 ? PERFECT : kind < 86 ? PRETERITE : FUTURE;
    if (!clause->verb) {
        clause->tense = kind < 65 ? PRESENT : PRETERITE;
        return;
    }
    if (clause->tense != FUTURE && clause->verb->subjects != WEATHER && chance(random, 11) &&
        (clause->verb->subjects & PERSON) != 0) {
        clause->modal = &modals[below(random, MODALS)];
        const bool has_past = clause->modal->past || clause->modal->verb;
        clause->tense = clause->tense != PRESENT && has_past ? PERFECT : PRESENT;
    }
    if (clause->tense == PRESENT && !clause->modal && !clause->verb->stative && chance(random, 17)) {
        clause->simple = true;
        if (chance(random, 60))
            clause->frequency = draw_pair(random, lexicon_frequencies);
    }
}

/* Objects and what else the verb wants, given its subject. */
static void draw_objects(struct meaning *meaning, struct clause *clause, struct rotary_random *random)
{
    const struct verb *verb = clause->verb;
    if (verb->frame == TRANSITIVE || verb->frame == DITRANSITIVE || verb->frame == PUTTING) {
        clause->object = draw_common(meaning, random, verb->objects, clause->subject);
        if (verb->frame == TRANSITIVE)
            draw_attribute(meaning, random, clause->object);
    }
    if (verb->frame == DITRANSITIVE)
        clause->recipient = draw_common(meaning, random, PERSON, clause->subject);
    if (verb->frame == DATIVE)
        clause->recipient = draw_common(meaning, random, verb->objects, clause->subject);
    if (verb->frame == PREPOSITIONAL)
        clause->prepositional =
            (struct adjunct){.phrase = draw_common(meaning, random, verb->objects, clause->subject),
                             .german = verb->preposition,
                             .english = "",
                             .inflected = verb->accusative ? ACCUSATIVE_CASE : DATIVE_CASE};
    if (verb->frame == MOTION || verb->frame == PUTTING)
        clause->goal = draw_goal(meaning, random, verb);
    if (verb->frame == POSITION)
        clause->place = draw_where(meaning, random, (verb->subjects & THING) != 0);
}

static void draw_adjuncts(struct meaning *meaning, struct clause *clause, struct rotary_random *random)
{
    const struct verb *verb = clause->verb;
    const bool weather = verb->subjects == WEATHER, busy = !verb->stative && (verb->subjects & BEING) != 0;
    const struct phrase *subject = &meaning->phrases[clause->subject];
    draw_when(clause, random);
    if (weather) {
        if (chance(random, 50))
            clause->place = draw_location(meaning, random, false);
        return;
    }
    if (phrase_is_definite(subject) && !clause->frequency && !subject->joined && chance(random, 12)) {
        clause->negated = true;
        return;
    }
    if (busy && (verb->frame == INTRANSITIVE || verb->frame == TRANSITIVE || verb->frame == DATIVE) &&
        chance(random, 36))
        clause->place = draw_where(meaning, random, false);
    if (busy && verb->frame == INTRANSITIVE && (verb->subjects & ADULT) != 0 && chance(random, 12)) {
        clause->companion = (struct adjunct){.phrase = draw_common(meaning, random, PERSON, clause->subject),
                                             .german = "mit",
                                             .english = "with",
                                             .inflected = DATIVE_CASE};
    } else if (busy && (verb->frame == INTRANSITIVE || verb->frame == TRANSITIVE || verb->frame == MOTION) &&
               (verb->subjects & ADULT) != 0 && chance(random, 14)) {
        clause->manner = draw_pair(random, lexicon_manners);
    }
}

/* What stands before the verb. An object does only where its case shows that it is no subject. */
static void draw_front(const struct meaning *meaning, struct clause *clause, struct rotary_random *random)
{
    const uint32_t kind = below(random, 100);
    const struct phrase *object = &meaning->phrases[clause->object];
    const bool shown = clause->object && clause->verb->frame == TRANSITIVE && !object->plural &&
                       object->noun->gender == MASCULINE && !clause->negated &&
                       (object->determiner == DEFINITE || object->determiner == THIS);
    if (clause->time && kind < 50)
        clause->front = FRONT_TIME;
    else if (clause->place.phrase && kind < 22)
        clause->front = FRONT_PLACE;
    else if (shown && kind >= 82)
        clause->front = FRONT_OBJECT;
}

/* A clause about `subject`, or a new one if it is 0; `wanted` is what a new one may be. */
static void draw_action(struct meaning *meaning, struct clause *clause, struct rotary_random *random,
                        int subject)
{
    do
        clause->verb = draw_verb(random, draw_frame(random),
                                 subject ? classes_of(meaning, subject) : ~(uint32_t)WEATHER);
    while (!clause->verb);
    clause->subject = subject ? subject : draw_subject(meaning, random, clause->verb->subjects);
}

static void draw_description(struct meaning *meaning, struct clause *clause, struct rotary_random *random,
                             int subject)
{
    const uint32_t described = BEING | THING | FURNITURE | VEHICLE | CRAFT | BUILDING | PLACE | TOPIC | FOOD;
    clause->subject = subject ? subject : draw_subject(meaning, random, described);
    const bool compared = chance(random, 25);
    clause->predicate = draw_adjective(random, classes_of(meaning, clause->subject), compared);
    if (!clause->predicate)
        clause->predicate = &lexicon_adjectives[0];
    if (compared && clause->predicate->comparative)
        clause->than = draw_common(meaning, random,
                                   clause->predicate->classes & classes_of(meaning, clause->subject)
                                       ? clause->predicate->classes & classes_of(meaning, clause->subject)
                                       : BUILDING,
                                   0);
    else
        clause->very = chance(random, 30);
}

/* Time, adverbs and negation of a description. */
static void draw_circumstances(struct meaning *meaning, struct clause *clause, struct rotary_random *random)
{
    if (clause->tense == PRETERITE && chance(random, 50))
        clause->time = draw_time(random, RECENTLY, LONG_AGO);
    else if (chance(random, 15))
        clause->time = draw_time(random, clause->tense == PRESENT ? NOW : RECENTLY, ANYTIME);
    if (phrase_is_definite(&meaning->phrases[clause->subject]) && !clause->than && chance(random, 12))
        clause->negated = true;
}

static void draw_clause(struct meaning *meaning, struct clause *clause, struct rotary_random *random,
                        int subject)
{
    if (chance(random, 16)) {
        draw_description(meaning, clause, random, subject);
        draw_tense(clause, random);
        draw_circumstances(meaning, clause, random);
    } else {
        draw_action(meaning, clause, random, subject);
        draw_tense(clause, random);
        draw_objects(meaning, clause, random);
        draw_adjuncts(meaning, clause, random);
    }
}

/* ---- relative clauses ---- */

/* Adds a clause about the noun of a phrase: der Mann, der schläft; das Buch, das die Frau liest. */
static void draw_relative(struct meaning *meaning, struct rotary_random *random, int index)
{
    struct phrase *phrase = &meaning->phrases[index];
    if (phrase->kind != COMMON_PHRASE || phrase->owner || phrase->wearing || phrase->joined ||
        phrase->determiner == POSSESSIVE || phrase->determiner == EVERY || phrase->determiner == BARE ||
        meaning->phrase_count + 6 > MAX_PHRASES)
        return;
    struct clause *clause = &meaning->clauses[meaning->clause_count];
    *clause = (struct clause){.form = RELATIVE_CLAUSE};
    if (chance(random, 40)) {
        clause->object_is_relative = true;
        uint32_t count = 0;
        for (const struct verb *verb = lexicon_verbs; verb->german; verb++)
            count += verb->frame == TRANSITIVE && (verb->objects & phrase->noun->classes) != 0;
        if (count == 0)
            return;
        uint32_t chosen = below(random, count);
        clause->verb = lexicon_verbs;
        while (clause->verb->frame != TRANSITIVE || (clause->verb->objects & phrase->noun->classes) == 0 ||
               chosen-- != 0)
            clause->verb++;
        clause->object = index;
        clause->subject = draw_common(meaning, random, clause->verb->subjects, 0);
    } else {
        clause->verb = draw_verb(random, chance(random, 50) ? TRANSITIVE : POSITION, phrase->noun->classes);
        if (!clause->verb)
            return;
        clause->subject = index;
        draw_objects(meaning, clause, random);
    }
    clause->tense = chance(random, 70) ? PRESENT : PERFECT;
    phrase->relative = meaning->clause_count++;
}

/* ---- connected clauses ---- */

/* The subject of a second clause: a pronoun for that of the first, the weather, or another. */
static int draw_second_subject(struct meaning *meaning, struct rotary_random *random, int first)
{
    const enum holder holder = phrase_holder(meaning, first);
    if (holder == OF_NOBODY || !chance(random, 55))
        return 0;
    const int index = draw_pronoun(meaning, holder);
    meaning->phrases[index].possessor = meaning->phrases[first].kind == PRONOUN_PHRASE ? 0 : first;
    return index;
}

static uint32_t referred_classes(const struct meaning *meaning, int index)
{
    const int possessor = meaning->phrases[index].possessor;
    return classes_of(meaning, possessor ? possessor : index);
}

/* Draws the second clause about a pronoun, whose verb must suit what the pronoun stands for. */
static void draw_second(struct meaning *meaning, struct clause *clause, struct rotary_random *random,
                        int first)
{
    const int subject = draw_second_subject(meaning, random, first);
    if (!subject && clause->form == SUBORDINATE_CLAUSE && chance(random, 20)) {
        clause->verb = draw_verb(random, INTRANSITIVE, WEATHER);
        return;
    }
    if (subject && chance(random, 35)) {
        clause->subject = subject;
        clause->predicate = draw_adjective(random, referred_classes(meaning, subject), false);
        clause->very = chance(random, 30);
        if (clause->predicate)
            return;
    }
    do
        clause->verb = draw_verb(random, draw_frame(random),
                                 subject ? referred_classes(meaning, subject) : ~(uint32_t)WEATHER);
    while (!clause->verb);
    clause->subject = subject ? subject : draw_subject(meaning, random, clause->verb->subjects);
}

/* Objects and adverbs of a second clause. */
static void complete_second(struct meaning *meaning, struct clause *clause, struct rotary_random *random)
{
    if (!clause->verb)
        return;
    draw_objects(meaning, clause, random);
    if (clause->verb->frame == INTRANSITIVE && clause->verb->subjects != WEATHER && chance(random, 30))
        clause->place = draw_where(meaning, random, false);
}

static void draw_subordinate(struct meaning *meaning, struct rotary_random *random)
{
    static const struct word_pair because = {"weil", "because"}, although = {"obwohl", "although"},
                                  during = {"während", "while"}, whenever = {"wenn", "when"},
                                  once = {"als", "when"}, before = {"bevor", "before"};
    static const struct word_pair *const kinds[] = {&because,  &because, &although, &during,
                                                    &whenever, &once,    &before};
    const struct word_pair *kind = kinds[below(random, sizeof kinds / sizeof *kinds)];
    const bool leads = chance(random, 40);
    struct clause *main = &meaning->clauses[0], *sub = &meaning->clauses[1];
    *sub = (struct clause){.form = SUBORDINATE_CLAUSE, .conjunction = *kind};
    meaning->clause_count = 2;
    meaning->connection = leads ? BEFORE_MAIN : AFTER_MAIN;
    struct clause *first = leads ? sub : main, *second = leads ? main : sub;
    draw_action(meaning, first, random, 0);
    draw_second(meaning, second, random, first->subject);
    complete_second(meaning, first, random);
    complete_second(meaning, second, random);
    const bool past = kind == &once || (kind != &whenever && chance(random, 45));
    if (kind == &whenever || (kind == &before && !past))
        main->simple = sub->simple = true;
    main->tense = sub->tense = !past ? PRESENT : kind == &once ? PRETERITE : PERFECT;
    if (past && kind == &during) {
        sub->tense = PRETERITE;
        sub->ongoing = sub->verb && !sub->verb->stative;
    }
    for (int i = 0; i < 2; i++)
        if (!meaning->clauses[i].verb && meaning->clauses[i].tense == PERFECT)
            meaning->clauses[i].tense = PRETERITE;
}

static void draw_coordinated(struct meaning *meaning, struct rotary_random *random)
{
    struct clause *first = &meaning->clauses[0], *second = &meaning->clauses[1];
    *second = (struct clause){.form = MAIN_CLAUSE};
    meaning->clause_count = 2;
    meaning->connection = chance(random, 60) ? AND : BUT;
    draw_action(meaning, first, random, 0);
    draw_second(meaning, second, random, first->subject);
    complete_second(meaning, first, random);
    complete_second(meaning, second, random);
    first->tense = second->tense = chance(random, 60) ? PRESENT : PERFECT;
    if (!second->verb && second->tense == PERFECT)
        second->tense = PRETERITE;
    first->negated = meaning->connection == BUT && phrase_is_definite(&meaning->phrases[first->subject]) &&
                     first->verb->frame != DITRANSITIVE && first->verb->frame != PUTTING &&
                     chance(random, 50);
}

static void draw_reported(struct meaning *meaning, struct rotary_random *random)
{
    struct clause *main = &meaning->clauses[0], *said = &meaning->clauses[1];
    *said = (struct clause){.form = SUBORDINATE_CLAUSE, .conjunction = {"dass", "that"}};
    meaning->clause_count = 2;
    meaning->connection = AFTER_MAIN;
    main->verb = draw_verb(random, SAYING, PERSON);
    main->subject = draw_subject(meaning, random, PERSON);
    main->tense = chance(random, 70) ? PRESENT : PERFECT;
    draw_second(meaning, said, random, main->subject);
    complete_second(meaning, said, random);
    const uint32_t kind = below(random, 100);
    said->tense = kind < 60 ? PRESENT : !said->verb ? PRETERITE : kind < 85 ? PERFECT : FUTURE;
}

/* Er geht in die Stadt, um ein Buch zu kaufen. */
static void draw_purpose(struct meaning *meaning, struct rotary_random *random)
{
    struct clause *main = &meaning->clauses[0], *purpose = &meaning->clauses[1];
    *purpose = (struct clause){.form = PURPOSE_CLAUSE};
    meaning->clause_count = 2;
    meaning->connection = AFTER_MAIN;
    main->verb = draw_verb(random, MOTION, ADULT);
    main->subject = draw_subject(meaning, random, ADULT);
    draw_tense(main, random);
    if (main->tense == PRETERITE)
        main->tense = PERFECT;
    draw_objects(meaning, main, random);
    draw_when(main, random);
    do
        purpose->verb = draw_verb(random, chance(random, 80) ? TRANSITIVE : INTRANSITIVE, ADULT);
    while (purpose->verb->stative);
    purpose->subject = main->subject;
    draw_objects(meaning, purpose, random);
}

static void draw_question(struct meaning *meaning, struct rotary_random *random)
{
    static const struct word_pair why = {"warum", "why"}, when = {"wann", "when"}, where = {"wo", "where"};
    struct clause *clause = &meaning->clauses[0];
    clause->form = QUESTION_CLAUSE;
    draw_clause(meaning, clause, random, 0);
    const uint32_t kind = below(random, 100);
    const bool action = clause->verb && clause->verb->frame != POSITION && clause->verb->frame != MOTION;
    if (kind < 20)
        clause->question = &why;
    else if (kind < 30 && !clause->time && clause->verb && !clause->frequency)
        clause->question = &when;
    else if (kind < 40 && action && !clause->place.phrase && !clause->goal.phrase && !clause->verb->stative)
        clause->question = &where;
    if (clause->tense == PRETERITE && clause->verb)
        clause->tense = PERFECT;
    if (clause->time && clause->time->when == LONG_AGO)
        clause->time = NULL;
}

static void draw_single(struct meaning *meaning, struct rotary_random *random)
{
    struct clause *clause = &meaning->clauses[0];
    draw_clause(meaning, clause, random, 0);
    if (chance(random, 12) && !clause->negated)
        draw_relative(meaning, random, clause->subject);
    else if (clause->object && clause->verb->frame == TRANSITIVE && clause->tense == PRESENT &&
             !clause->modal && !strchr(clause->verb->german, '|') && chance(random, 12))
        draw_relative(meaning, random, clause->object);
}

void meaning_draw(struct meaning *meaning, struct rotary_random *random)
{
    *meaning = (struct meaning){.phrase_count = 1, .clause_count = 1};
    const uint32_t kind = below(random, 100);
    if (kind < 55)
        draw_single(meaning, random);
    else if (kind < 72)
        draw_subordinate(meaning, random);
    else if (kind < 79)
        draw_coordinated(meaning, random);
    else if (kind < 87)
        draw_reported(meaning, random);
    else if (kind < 92)
        draw_purpose(meaning, random);
    else
        draw_question(meaning, random);
    for (int i = 0; i < meaning->clause_count; i++)
        if (meaning->clauses[i].form == MAIN_CLAUSE && meaning->connection != BEFORE_MAIN)
            draw_front(meaning, &meaning->clauses[i], random);
}
