/* SPDX-License-Identifier: Apache-2.0
 *
 * English word order: subject, verb, object, goal, manner, place, time; questions and negations with do, is,
 * will or a modal verb.
 */
#include "task/english.h"
#include "task/made_sentence.h"

#include <stdio.h>
#include <string.h>

struct writer {
    struct sentence *sentence;
    const struct meaning *meaning;
    bool plain;
};

static void write_clause(const struct writer *writer, const struct clause *clause);

/* ---- phrases ---- */

static const char *subject_pronoun(enum holder holder)
{
    static const char *const forms[] = {[OF_ME] = "I",  [OF_HIM] = "he",    [OF_HER] = "she",  [OF_IT] = "it",
                                        [OF_US] = "we", [OF_THEM] = "they", [OF_NOBODY] = "it"};
    return forms[holder];
}

static const char *possessive(enum holder holder)
{
    static const char *const forms[] = {
        [OF_ME] = "my",  [OF_HIM] = "his",    [OF_HER] = "her",   [OF_IT] = "its",
        [OF_US] = "our", [OF_THEM] = "their", [OF_NOBODY] = "its"};
    return forms[holder];
}

static void write_determiner(const struct writer *writer, const struct phrase *phrase, const char *next,
                             bool negative)
{
    struct sentence *sentence = writer->sentence;
    const bool one = phrase->determiner == INDEFINITE && !phrase->plural;
    const enum holder holder =
        phrase->possessor ? phrase_english_holder(writer->meaning, phrase->possessor) : phrase->holder;
    if (one)
        sentence_add(sentence, english_article(next));
    else if (negative)
        sentence_add(sentence, "any");
    else if (phrase->determiner == DEFINITE)
        sentence_add(sentence, "the");
    else if (phrase->determiner == POSSESSIVE)
        sentence_add(sentence, possessive(holder));
    else if (phrase->determiner == THIS)
        sentence_add(sentence, phrase->plural ? "these" : "this");
    else if (phrase->determiner == EVERY)
        sentence_add(sentence, "every");
    else if (phrase->determiner == ALL)
        sentence_add(sentence, "all");
    else if (phrase->determiner == MANY)
        sentence_add(sentence, "many");
    else if (phrase->determiner == SOME)
        sentence_add(sentence, "some");
    else if (phrase->determiner == NUMBER)
        sentence_add(sentence, phrase->number->english);
}

/* Adjectives, compound and noun; "the old man's" if it owns something. */
static void write_common(const struct writer *writer, const struct phrase *phrase, bool owns, bool negative)
{
    struct sentence *sentence = writer->sentence;
    char form[FORM_BYTES], owning[FORM_BYTES];
    english_noun(form, phrase->noun, phrase->plural);
    english_possessive(owning, form);
    const char *const words[] = {phrase->adjectives[0] ? phrase->adjectives[0]->english : "",
                                 phrase->adjectives[1] ? phrase->adjectives[1]->english : "",
                                 phrase->compound ? phrase->compound->english : "", owns ? owning : form};
    int first = 0;
    while (!words[first][0])
        first++;
    if (phrase->owner)
        write_common(writer, &writer->meaning->phrases[phrase->owner], true, false);
    else
        write_determiner(writer, phrase, words[first], negative);
    for (int i = first; i < 4; i++)
        sentence_add(sentence, words[i]);
}

static void write_phrase(const struct writer *writer, int index, bool negative)
{
    const struct phrase *phrase = &writer->meaning->phrases[index];
    struct sentence *sentence = writer->sentence;
    if (phrase->kind == COMMON_PHRASE)
        write_common(writer, phrase, false, negative);
    else if (phrase->kind == NAME_PHRASE)
        sentence_add(sentence, phrase->name->english);
    else
        sentence_add(sentence, subject_pronoun(phrase_english_holder(writer->meaning, index)));
    if (phrase->wearing) {
        sentence_add(sentence, "with");
        write_phrase(writer, phrase->wearing, false);
    }
    if (phrase->joined) {
        sentence_add(sentence, "and");
        write_phrase(writer, phrase->joined, false);
    }
    if (phrase->relative)
        write_clause(writer, &writer->meaning->clauses[phrase->relative]);
}

static void write_adjunct(const struct writer *writer, const struct adjunct *adjunct)
{
    if (!adjunct->phrase)
        return;
    sentence_add(writer->sentence, adjunct->english);
    write_phrase(writer, adjunct->phrase, false);
}

/* ---- the verb ---- */

/* With an auxiliary: "is" "reading", "did" "read"; without: "read". `plain` is empty if there is none. */
struct verb_parts {
    char auxiliary[FORM_BYTES], rest[2 * FORM_BYTES], plain[2 * FORM_BYTES];
};

static const char *form_of_be(bool past, enum person person)
{
    static const char *const forms[2][3] = {{"am", "is", "are"}, {"was", "was", "were"}};
    return forms[past][person];
}

static const char *form_of_do(bool past, enum person person)
{
    return past ? "did" : person == THIRD_PERSON ? "does" : "do";
}

static void part_modal(const struct clause *clause, enum person person, bool past, struct verb_parts *parts)
{
    const struct modal *modal = clause->modal;
    char base[FORM_BYTES];
    english_verb(base, clause->verb, BASE_FORM);
    const char *space = modal->middle[0] ? " " : "";
    if (modal->fixed) {
        snprintf(parts->auxiliary, FORM_BYTES, "%s", past ? modal->past : modal->fixed);
        snprintf(parts->rest, sizeof parts->rest, "%s%s%s", modal->middle, space, base);
    } else if (strcmp(modal->verb, "be") == 0) {
        snprintf(parts->auxiliary, FORM_BYTES, "%s", form_of_be(past, person));
        snprintf(parts->rest, sizeof parts->rest, "%s %s", modal->middle, base);
    } else {
        const bool have = strcmp(modal->verb, "have") == 0;
        const char *finite = past                     ? (have ? "had" : "wanted")
                             : person == THIRD_PERSON ? (have ? "has" : "wants")
                                                      : modal->verb;
        snprintf(parts->auxiliary, FORM_BYTES, "%s", form_of_do(past, person));
        snprintf(parts->rest, sizeof parts->rest, "%s %s %s", modal->verb, modal->middle, base);
        snprintf(parts->plain, sizeof parts->plain, "%s %s %s", finite, modal->middle, base);
    }
}

static void part_verb(const struct meaning *meaning, const struct clause *clause, struct verb_parts *parts)
{
    const enum person person = phrase_person(meaning, clause->subject);
    const bool past = clause->tense == PERFECT || clause->tense == PRETERITE;
    char form[FORM_BYTES];
    *parts = (struct verb_parts){0};
    if (!clause->verb) {
        snprintf(parts->auxiliary, FORM_BYTES, "%s", form_of_be(past, person));
    } else if (clause->modal) {
        part_modal(clause, person, past, parts);
    } else if (clause->tense == FUTURE) {
        english_verb(form, clause->verb, BASE_FORM);
        snprintf(parts->auxiliary, FORM_BYTES, "will");
        snprintf(parts->rest, sizeof parts->rest, "%s", form);
    } else if (past ? clause->ongoing : !clause->simple && !clause->verb->stative) {
        english_verb(form, clause->verb, GERUND_FORM);
        snprintf(parts->auxiliary, FORM_BYTES, "%s", form_of_be(past, person));
        snprintf(parts->rest, sizeof parts->rest, "%s", form);
    } else {
        english_verb(form, clause->verb, BASE_FORM);
        snprintf(parts->auxiliary, FORM_BYTES, "%s", form_of_do(past, person));
        snprintf(parts->rest, sizeof parts->rest, "%s", form);
        english_verb(form, clause->verb, past ? PAST_FORM : person == THIRD_PERSON ? THIRD_FORM : BASE_FORM);
        snprintf(parts->plain, sizeof parts->plain, "%s", form);
    }
}

static void write_negated(struct sentence *sentence, const char *auxiliary)
{
    if (strcmp(auxiliary, "can") == 0) {
        sentence_add(sentence, "cannot");
        return;
    }
    sentence_add(sentence, auxiliary);
    sentence_add(sentence, "not");
}

/* ---- clauses ---- */

static void write_subject(const struct writer *writer, const struct clause *clause)
{
    if (clause->subject)
        write_phrase(writer, clause->subject, false);
    else
        sentence_add(writer->sentence, "it");
}

static void write_verb(const struct writer *writer, const struct clause *clause)
{
    struct sentence *sentence = writer->sentence;
    struct verb_parts parts;
    part_verb(writer->meaning, clause, &parts);
    const char *often = clause->frequency ? clause->frequency->english : "";
    if (parts.plain[0] && !clause->negated) {
        sentence_add(sentence, often);
        sentence_add(sentence, parts.plain);
        return;
    }
    if (clause->negated)
        write_negated(sentence, parts.auxiliary);
    else
        sentence_add(sentence, parts.auxiliary);
    sentence_add(sentence, often);
    sentence_add(sentence, parts.rest);
}

static void write_question(const struct writer *writer, const struct clause *clause)
{
    struct sentence *sentence = writer->sentence;
    struct verb_parts parts;
    part_verb(writer->meaning, clause, &parts);
    if (clause->question)
        sentence_add(sentence, clause->question->english);
    sentence_add(sentence, parts.auxiliary);
    write_subject(writer, clause);
    if (clause->negated)
        sentence_add(sentence, "not");
    if (clause->frequency)
        sentence_add(sentence, clause->frequency->english);
    sentence_add(sentence, parts.rest);
}

static void write_predicate(const struct writer *writer, const struct clause *clause)
{
    if (!clause->predicate)
        return;
    if (clause->very)
        sentence_add(writer->sentence, "very");
    sentence_add(writer->sentence,
                 clause->than ? clause->predicate->english_comparative : clause->predicate->english);
    if (clause->than) {
        sentence_add(writer->sentence, "than");
        write_phrase(writer, clause->than, false);
    }
}

/* What follows the verb. */
static void write_rest(const struct writer *writer, const struct clause *clause)
{
    struct sentence *sentence = writer->sentence;
    const bool plain = writer->plain,
               is_relative = clause->form == RELATIVE_CLAUSE && clause->object_is_relative;
    const struct phrase *object = &writer->meaning->phrases[clause->object];
    if (clause->object && !is_relative)
        write_phrase(writer, clause->object,
                     clause->negated && (object->determiner == BARE || object->determiner == INDEFINITE));
    if (clause->recipient) {
        if (clause->verb->frame == DITRANSITIVE)
            sentence_add(sentence, "to");
        write_phrase(writer, clause->recipient, false);
    }
    write_adjunct(writer, &clause->prepositional);
    write_adjunct(writer, &clause->goal);
    write_predicate(writer, clause);
    if (clause->manner)
        sentence_add(sentence, clause->manner->english);
    write_adjunct(writer, &clause->companion);
    if (clause->front != FRONT_PLACE || plain)
        write_adjunct(writer, &clause->place);
    if (clause->time && (clause->front != FRONT_TIME || plain))
        sentence_add(sentence, clause->time->english);
}

static void write_front(const struct writer *writer, const struct clause *clause)
{
    if (writer->plain)
        return;
    if (clause->front == FRONT_TIME)
        sentence_add(writer->sentence, clause->time->english);
    if (clause->front == FRONT_PLACE)
        write_adjunct(writer, &clause->place);
    writer->sentence->comma |= clause->front == FRONT_TIME || clause->front == FRONT_PLACE;
}

static void write_relative(const struct writer *writer, const struct clause *clause)
{
    const int about = clause->object_is_relative ? clause->object : clause->subject;
    const struct phrase *phrase = &writer->meaning->phrases[about];
    const bool person = (phrase->noun->classes & PERSON) != 0 && !clause->object_is_relative;
    sentence_add(writer->sentence, person ? "who" : "that");
    if (clause->object_is_relative)
        write_subject(writer, clause);
    write_verb(writer, clause);
    write_rest(writer, clause);
}

static void write_clause(const struct writer *writer, const struct clause *clause)
{
    struct sentence *sentence = writer->sentence;
    if (clause->form == RELATIVE_CLAUSE) {
        write_relative(writer, clause);
    } else if (clause->form == PURPOSE_CLAUSE) {
        char form[FORM_BYTES];
        english_verb(form, clause->verb, BASE_FORM);
        sentence_add(sentence, "to");
        sentence_add(sentence, form);
        write_rest(writer, clause);
    } else if (clause->form == QUESTION_CLAUSE) {
        write_question(writer, clause);
        write_rest(writer, clause);
    } else {
        if (clause->form == SUBORDINATE_CLAUSE)
            sentence_add(sentence, clause->conjunction.english);
        else
            write_front(writer, clause);
        write_subject(writer, clause);
        write_verb(writer, clause);
        write_rest(writer, clause);
    }
}

void english_sentence(struct sentence *sentence, const struct meaning *meaning, bool plain)
{
    const struct writer writer = {sentence, meaning, plain};
    const struct clause *main = &meaning->clauses[0], *second = &meaning->clauses[1];
    *sentence = (struct sentence){0};
    if (meaning->connection == BEFORE_MAIN) {
        write_clause(&writer, second);
        sentence->comma = true;
    }
    write_clause(&writer, main);
    if (meaning->connection == BUT)
        sentence->comma = true;
    if (meaning->connection == AND || meaning->connection == BUT)
        sentence_add(sentence, meaning->connection == AND ? "and" : "but");
    if (meaning->connection != ALONE && meaning->connection != BEFORE_MAIN)
        write_clause(&writer, second);
    sentence_end(sentence, main->form == QUESTION_CLAUSE ? '?' : '.');
}
