/* SPDX-License-Identifier: Apache-2.0
 *
 * German word order: the verb is second in a main clause and last in a subordinate one; its second part, a
 * participle, an infinitive or a separable prefix, is last in both. Between them: subject, time, dative,
 * definite accusative, negation, manner, place, indefinite accusative, goal.
 */
#include "task/made_sentence.h"

#include <stdio.h>
#include <string.h>

struct writer {
    struct sentence *sentence;
    const struct meaning *meaning;
};

static void write_clause(const struct writer *writer, const struct clause *clause);

/* ---- phrases ---- */

static const char *pronoun(enum holder holder, enum grammatical_case inflected)
{
    static const char *const forms[][3] = {
        [OF_ME] = {"ich", "mich", "mir"},  [OF_HIM] = {"er", "ihn", "ihm"},
        [OF_HER] = {"sie", "sie", "ihr"},  [OF_IT] = {"es", "es", "ihm"},
        [OF_US] = {"wir", "uns", "uns"},   [OF_THEM] = {"sie", "sie", "ihnen"},
        [OF_NOBODY] = {"es", "es", "ihm"},
    };
    return forms[holder][inflected];
}

static const char *possessive_stem(enum holder holder)
{
    static const char *const stems[] = {
        [OF_ME] = "mein",  [OF_HIM] = "sein", [OF_HER] = "ihr",    [OF_IT] = "sein",
        [OF_US] = "unser", [OF_THEM] = "ihr", [OF_NOBODY] = "sein"};
    return stems[holder];
}

/* Writes the word before the noun and says how adjectives after it are inflected. `negative`: kein. */
static enum declension write_determiner(const struct phrase *phrase, const struct agreement *agreement,
                                        bool negative, char form[FORM_BYTES])
{
    form[0] = '\0';
    if (negative || (phrase->determiner == INDEFINITE && !phrase->plural)) {
        german_ein(form, negative ? "kein" : "ein", agreement);
        return MIXED_DECLENSION;
    }
    switch (phrase->determiner) {
    case DEFINITE:
        snprintf(form, FORM_BYTES, "%s", german_definite(agreement));
        return WEAK_DECLENSION;
    case POSSESSIVE:
        german_ein(form, possessive_stem(phrase->holder), agreement);
        return MIXED_DECLENSION;
    case THIS:
        german_dieser(form, "dies", agreement);
        return WEAK_DECLENSION;
    case EVERY:
        german_dieser(form, "jed", agreement);
        return WEAK_DECLENSION;
    case ALL:
        german_dieser(form, "all", agreement);
        return WEAK_DECLENSION;
    case MANY:
        german_dieser(form, "viel", agreement);
        return STRONG_DECLENSION;
    case SOME:
        german_dieser(form, "einig", agreement);
        return STRONG_DECLENSION;
    case NUMBER:
        snprintf(form, FORM_BYTES, "%s", phrase->number->german);
        return STRONG_DECLENSION;
    default:
        return STRONG_DECLENSION;
    }
}

static void write_phrase(const struct writer *writer, int index, enum grammatical_case inflected,
                         const char *preposition, bool negative);

static void write_common(const struct writer *writer, const struct phrase *phrase,
                         enum grammatical_case inflected, const char *preposition, bool negative)
{
    struct sentence *sentence = writer->sentence;
    const struct agreement agreement = {phrase->noun->gender, inflected, phrase->plural};
    char form[FORM_BYTES];
    const enum declension declension = write_determiner(phrase, &agreement, negative, form);
    const char *contraction = preposition && phrase->determiner == DEFINITE && !negative
                                  ? german_contraction(preposition, form)
                                  : NULL;
    sentence_add(sentence, contraction ? contraction : preposition ? preposition : "");
    if (!contraction)
        sentence_add(sentence, form);
    for (int i = 0; i < 2; i++)
        if (phrase->adjectives[i]) {
            german_adjective(form, phrase->adjectives[i], declension, &agreement);
            sentence_add(sentence, form);
        }
    german_noun(form, phrase->noun, phrase->compound, &agreement);
    sentence_add(sentence, form);
    if (phrase->owner)
        write_phrase(writer, phrase->owner, GENITIVE_CASE, NULL, false);
    if (phrase->wearing)
        write_phrase(writer, phrase->wearing, DATIVE_CASE, "mit", false);
}

static void write_phrase(const struct writer *writer, int index, enum grammatical_case inflected,
                         const char *preposition, bool negative)
{
    const struct phrase *phrase = &writer->meaning->phrases[index];
    struct sentence *sentence = writer->sentence;
    if (phrase->kind == COMMON_PHRASE) {
        write_common(writer, phrase, inflected, preposition, negative);
    } else {
        sentence_add(sentence, preposition ? preposition : "");
        sentence_add(sentence,
                     phrase->kind == NAME_PHRASE ? phrase->name->german : pronoun(phrase->holder, inflected));
    }
    if (phrase->joined) {
        sentence_add(sentence, "und");
        write_phrase(writer, phrase->joined, inflected, NULL, false);
    }
    if (phrase->relative) {
        sentence->comma = true;
        write_clause(writer, &writer->meaning->clauses[phrase->relative]);
        sentence->comma = true;
    }
}

static void write_subject(const struct writer *writer, const struct clause *clause)
{
    if (clause->subject)
        write_phrase(writer, clause->subject, NOMINATIVE_CASE, NULL, false);
    else
        sentence_add(writer->sentence, "es");
}

static void write_adjunct(const struct writer *writer, const struct adjunct *adjunct)
{
    if (adjunct->phrase)
        write_phrase(writer, adjunct->phrase, adjunct->inflected, adjunct->german, false);
}

/* ---- the verb ---- */

/* Its finite part, and the part at the end. */
struct verb_parts {
    char finite[FORM_BYTES], last[FORM_BYTES];
    bool separated; /* the last part is the prefix of the finite one */
};

static void part_verb(const struct meaning *meaning, const struct clause *clause, struct verb_parts *parts)
{
    const enum person person = phrase_person(meaning, clause->subject);
    const struct verb *verb = clause->verb;
    const bool past = clause->tense == PERFECT || clause->tense == PRETERITE;
    const char *finite = NULL;
    *parts = (struct verb_parts){0};
    if (!verb) {
        finite = german_auxiliary(SEIN, past, person);
    } else if (clause->modal || clause->tense == FUTURE) {
        finite = german_auxiliary(clause->modal ? clause->modal->german : WERDEN, past, person);
        german_infinitive(parts->last, verb, false);
    } else if (clause->tense == PERFECT) {
        finite = german_auxiliary(verb->sein ? SEIN : HABEN, false, person);
        german_participle(parts->last, verb);
    } else {
        german_finite(parts->finite, verb, past, person);
        german_prefix(parts->last, verb);
        parts->separated = true;
    }
    if (finite)
        snprintf(parts->finite, FORM_BYTES, "%s", finite);
}

/* At the end of a subordinate clause: aufsteht, gelesen hat. */
static void write_last(struct sentence *sentence, const struct verb_parts *parts)
{
    char joined[2 * FORM_BYTES];
    snprintf(joined, sizeof joined, "%s%s%s", parts->last, parts->separated || !parts->last[0] ? "" : " ",
             parts->finite);
    sentence_add(sentence, joined);
}

/* ---- clauses ---- */

static bool object_is_negative(const struct meaning *meaning, const struct clause *clause)
{
    const struct phrase *object = &meaning->phrases[clause->object];
    return clause->negated && clause->object && object->kind == COMMON_PHRASE &&
           ((object->determiner == INDEFINITE) || object->determiner == BARE);
}

static void write_object(const struct writer *writer, const struct clause *clause, bool definite)
{
    const struct phrase *object = &writer->meaning->phrases[clause->object];
    const bool is_relative = clause->form == RELATIVE_CLAUSE && clause->object_is_relative;
    if (clause->object && !is_relative && clause->front != FRONT_OBJECT &&
        phrase_is_definite(object) == definite)
        write_phrase(writer, clause->object, ACCUSATIVE_CASE, NULL,
                     object_is_negative(writer->meaning, clause));
}

static void write_predicate(const struct writer *writer, const struct clause *clause)
{
    if (!clause->predicate)
        return;
    if (clause->very)
        sentence_add(writer->sentence, "sehr");
    sentence_add(writer->sentence, clause->than ? clause->predicate->comparative : clause->predicate->german);
    if (clause->than) {
        sentence_add(writer->sentence, "als");
        write_phrase(writer, clause->than, NOMINATIVE_CASE, NULL, false);
    }
}

/* What stands between the two parts of the verb, but for the subject. */
static void write_middle(const struct writer *writer, const struct clause *clause)
{
    struct sentence *sentence = writer->sentence;
    if (clause->time && clause->front != FRONT_TIME)
        sentence_add(sentence, clause->time->german);
    if (clause->frequency)
        sentence_add(sentence, clause->frequency->german);
    if (clause->recipient)
        write_phrase(writer, clause->recipient, DATIVE_CASE, NULL, false);
    write_object(writer, clause, true);
    if (clause->negated && !object_is_negative(writer->meaning, clause))
        sentence_add(sentence, "nicht");
    if (clause->manner)
        sentence_add(sentence, clause->manner->german);
    write_adjunct(writer, &clause->companion);
    if (clause->front != FRONT_PLACE)
        write_adjunct(writer, &clause->place);
    write_object(writer, clause, false);
    write_adjunct(writer, &clause->prepositional);
    write_adjunct(writer, &clause->goal);
    write_predicate(writer, clause);
    if (clause->verb && clause->verb->complement)
        sentence_add(sentence, clause->verb->complement);
}

static void write_main(const struct writer *writer, const struct clause *clause, bool inverted)
{
    struct sentence *sentence = writer->sentence;
    struct verb_parts parts;
    part_verb(writer->meaning, clause, &parts);
    const bool question = clause->form == QUESTION_CLAUSE;
    if (question && clause->question)
        sentence_add(sentence, clause->question->german);
    else if (clause->front == FRONT_TIME)
        sentence_add(sentence, clause->time->german);
    else if (clause->front == FRONT_PLACE)
        write_adjunct(writer, &clause->place);
    else if (clause->front == FRONT_OBJECT)
        write_phrase(writer, clause->object, ACCUSATIVE_CASE, NULL, false);
    const bool first = !question && !inverted && clause->front == FRONT_SUBJECT;
    if (first)
        write_subject(writer, clause);
    sentence_add(sentence, parts.finite);
    if (!first)
        write_subject(writer, clause);
    write_middle(writer, clause);
    sentence_add(sentence, parts.last);
}

/* der, dem, den ... of the noun that the clause is about. */
static void write_relative_pronoun(const struct writer *writer, const struct clause *clause)
{
    const int about = clause->object_is_relative ? clause->object : clause->subject;
    const struct phrase *phrase = &writer->meaning->phrases[about];
    const struct agreement agreement = {
        phrase->noun->gender, clause->object_is_relative ? ACCUSATIVE_CASE : NOMINATIVE_CASE, phrase->plural};
    sentence_add(writer->sentence, german_definite(&agreement));
    if (clause->object_is_relative)
        write_subject(writer, clause);
}

static void write_clause(const struct writer *writer, const struct clause *clause)
{
    struct sentence *sentence = writer->sentence;
    if (clause->form == MAIN_CLAUSE || clause->form == QUESTION_CLAUSE) {
        write_main(writer, clause, writer->meaning->connection == BEFORE_MAIN);
        return;
    }
    if (clause->form == PURPOSE_CLAUSE) {
        char form[FORM_BYTES];
        german_infinitive(form, clause->verb, true);
        sentence_add(sentence, "um");
        write_middle(writer, clause);
        sentence_add(sentence, form);
        return;
    }
    struct verb_parts parts;
    part_verb(writer->meaning, clause, &parts);
    if (clause->form == RELATIVE_CLAUSE) {
        write_relative_pronoun(writer, clause);
    } else {
        sentence_add(sentence, clause->conjunction.german);
        write_subject(writer, clause);
    }
    write_middle(writer, clause);
    write_last(sentence, &parts);
}

void german_sentence(struct sentence *sentence, const struct meaning *meaning)
{
    const struct writer writer = {sentence, meaning};
    const struct clause *main = &meaning->clauses[0], *second = &meaning->clauses[1];
    *sentence = (struct sentence){0};
    if (meaning->connection == BEFORE_MAIN) {
        write_clause(&writer, second);
        sentence->comma = true;
    }
    write_clause(&writer, main);
    if (meaning->connection == AFTER_MAIN || meaning->connection == BUT)
        sentence->comma = true;
    if (meaning->connection == AND || meaning->connection == BUT)
        sentence_add(sentence, meaning->connection == AND ? "und" : "aber");
    if (meaning->connection != ALONE && meaning->connection != BEFORE_MAIN)
        write_clause(&writer, second);
    sentence_end(sentence, main->form == QUESTION_CLAUSE ? '?' : '.');
}
