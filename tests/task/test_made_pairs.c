/* SPDX-License-Identifier: Apache-2.0
 *
 * A thousand pairs of the made-up corpus, parsed: articles, adjectives and nouns agree, and verbs are where
 * they belong.
 */
#include "support/check.h"
#include "task/made_corpus.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMS = 1 << 15, PAIRS = 1000, WORDS = 64 };

/* A form of a noun with what it may be. */
struct noun_form {
    char form[FORM_BYTES];
    struct agreement agreement;
};
static struct noun_form noun_forms[FORMS];
static int noun_form_count;

static int compare_forms(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void list_noun(const struct noun *noun, const struct compound *compound)
{
    for (int plural = 0; plural < (noun->plural ? 2 : 1); plural++)
        for (int inflected = 0; inflected < 4; inflected++) {
            struct noun_form *form = &noun_forms[noun_form_count++];
            form->agreement = (struct agreement){noun->gender, (enum grammatical_case)inflected, plural == 1};
            german_noun(form->form, noun, compound, &form->agreement);
        }
}

static void list_nouns(void)
{
    for (const struct noun *noun = lexicon_nouns; noun->german; noun++) {
        list_noun(noun, NULL);
        for (const struct compound *part = lexicon_compounds; part->german; part++)
            if (part->classes & noun->classes)
                list_noun(noun, part);
    }
    qsort(noun_forms, (size_t)noun_form_count, sizeof *noun_forms, compare_forms);
}

/* The sets of finite verbs and of participles, from the tables of forms. */
static bool is_finite(const char *word)
{
    for (const struct verb *verb = lexicon_verbs; verb->german; verb++)
        for (int form = 0; form < 6; form++) {
            char made[FORM_BYTES], prefix[FORM_BYTES], joined[2 * FORM_BYTES];
            german_finite(made, verb, form >= 3, (enum person)(form % 3));
            german_prefix(prefix, verb);
            snprintf(joined, sizeof joined, "%s%s", prefix, made);
            if (strcmp(made, word) == 0 || strcmp(joined, word) == 0)
                return true;
        }
    for (int auxiliary = HABEN; auxiliary <= MOECHTEN; auxiliary++)
        for (int form = 0; form < 6; form++)
            if (strcmp(german_auxiliary((enum german_auxiliary)auxiliary, form >= 3, (enum person)(form % 3)),
                       word) == 0)
                return true;
    return false;
}

static bool is_participle(const char *word)
{
    for (const struct verb *verb = lexicon_verbs; verb->german; verb++) {
        char made[FORM_BYTES];
        german_participle(made, verb);
        if (strcmp(made, word) == 0)
            return true;
    }
    return false;
}

/* The ending that an adjective has after this determiner, by a table of its own: "e" only where the article
 * shows gender and case, or in the nominative and accusative; NULL: the determiner cannot stand here. */
static bool agrees(const char *determiner, const char *adjective, const struct agreement *agreement)
{
    static const char *const strong[4][4] = {
        {"er", "en", "em", "es"}, {"e", "e", "er", "er"}, {"es", "es", "em", "es"}, {"e", "e", "en", "er"}};
    static const char *const definite[4][4] = {{"der", "den", "dem", "des"},
                                               {"die", "die", "der", "der"},
                                               {"das", "das", "dem", "des"},
                                               {"die", "die", "den", "der"}};
    static const struct {
        const char *stem;
        bool of_ein;
    } stems[] = {{"ein", true},   {"kein", true},  {"mein", true}, {"sein", true}, {"ihr", true},
                 {"unser", true}, {"dies", false}, {"jed", false}, {"all", false}};
    const int row = agreement->plural ? 3 : (int)agreement->gender, column = (int)agreement->inflected;
    const bool direct = agreement->inflected == NOMINATIVE_CASE || agreement->inflected == ACCUSATIVE_CASE;
    bool weak = false, mixed = false, bare = false;
    if (strcmp(determiner, definite[row][column]) == 0)
        weak = true;
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        char form[FORM_BYTES];
        snprintf(form, sizeof form, "%s%s", stems[i].stem, strong[row][column]);
        if (strcmp(form, determiner) == 0)
            *(stems[i].of_ein ? &mixed : &weak) = true;
        if (stems[i].of_ein && strcmp(stems[i].stem, determiner) == 0 && !agreement->plural &&
            agreement->gender != FEMININE &&
            (agreement->inflected == NOMINATIVE_CASE ||
             (agreement->inflected == ACCUSATIVE_CASE && agreement->gender == NEUTER)))
            mixed = bare = true;
    }
    const char *ending = NULL;
    if (weak || mixed) {
        const bool e = direct && !agreement->plural &&
                       !(agreement->gender == MASCULINE && agreement->inflected == ACCUSATIVE_CASE);
        ending = bare ? strong[row][column] : e ? "e" : "en";
    }
    if (!ending)
        return false;
    const size_t length = strlen(adjective), count = strlen(ending);
    return length == 0 || (length > count && strcmp(adjective + length - count, ending) == 0 &&
                           /* "alten" does not end in "e" nor "alter" in "e" */
                           (strcmp(ending, "e") != 0 || adjective[length - 1] == 'e'));
}

static int split_words(char *text, char *words[WORDS])
{
    int count = 0;
    for (char *word = strtok(text, " "); word && count < WORDS; word = strtok(NULL, " "))
        words[count++] = word;
    return count;
}

static bool is_determiner(const char *word)
{
    static const char *const starts[] = {"der", "die", "das", "den", "dem", "des"};
    static const char *const stems[] = {"ein", "kein", "mein", "sein", "ihr", "unser", "dies", "jed", "alle"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strcmp(word, starts[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (strncmp(word, stems[i], strlen(stems[i])) == 0 && strlen(word) <= strlen(stems[i]) + 2 &&
            strcmp(word, "einig") != 0 && strcmp(word, "allein") != 0)
            return true;
    return false;
}

/* Some reading of the noun agrees with determiner and adjective. */
static bool noun_agrees(const char *determiner, const char *adjective, const char *noun, bool *known)
{
    *known = false;
    for (int i = 0; i < noun_form_count; i++) {
        if (strcmp(noun_forms[i].form, noun) != 0)
            continue;
        *known = true;
        if (agrees(determiner, adjective, &noun_forms[i].agreement))
            return true;
    }
    return false;
}

static bool is_capital(const char *word)
{
    return isupper((unsigned char)word[0]) ||
           ((unsigned char)word[0] == 0xc3 && (unsigned char)word[1] < 0x9f);
}

/* Removes the mark at the end of a word and returns it, or 0. */
static char cut_mark(char *word)
{
    const size_t length = strlen(word);
    const char last = word[length - 1];
    if (!strchr(".,?", last))
        return '\0';
    word[length - 1] = '\0';
    return last;
}

/* Counts the noun phrases with a determiner that are found, and checks them. */
static int check_agreement(char *words[WORDS], const char marks[WORDS], int count)
{
    int found = 0;
    for (int i = 0; i + 1 < count; i++) {
        char determiner[FORM_BYTES];
        snprintf(determiner, sizeof determiner, "%s", words[i]);
        if (i == 0)
            determiner[0] = (char)tolower((unsigned char)determiner[0]);
        if (!is_determiner(determiner) || marks[i] ||
            (i > 0 && marks[i - 1] == ',')) /* a prefix, a pronoun */
            continue;
        int at = i + 1;
        while (at < count && at < i + 3 && !is_capital(words[at]))
            at++;
        bool known = false;
        if (at == count || !is_capital(words[at]) || (at > i + 1 && is_determiner(words[i + 1])))
            continue;
        const bool good = noun_agrees(determiner, at > i + 1 ? words[at - 1] : "", words[at], &known);
        found += known;
        if (known)
            CHECK(good);
    }
    return found;
}

/* The verb is last in a clause that a conjunction begins, and a participle after haben is last. */
static int check_verbs(char *words[WORDS], const char marks[WORDS], int count)
{
    static const char *const conjunctions[] = {"weil", "obwohl", "während", "wenn", "als", "bevor", "dass"};
    int found = 0, begin = 0;
    for (int i = 0; i < count; i++) {
        if (!marks[i])
            continue;
        char first[FORM_BYTES];
        snprintf(first, sizeof first, "%s", words[begin]);
        first[0] = (char)tolower((unsigned char)first[0]);
        for (size_t k = 0; k < sizeof conjunctions / sizeof *conjunctions; k++)
            if (strcmp(first, conjunctions[k]) == 0 && marks[i] != ',') {
                CHECK(is_finite(words[i]));
                found++;
            }
        for (int at = begin; at < i && marks[i] != ','; at++)
            if (begin == 0 && (strcmp(words[at], "hat") == 0 || strcmp(words[at], "haben") == 0) &&
                strcmp(first, "weil") != 0) {
                bool joined = false;
                for (int k = at; k <= i; k++)
                    joined |= strcmp(words[k], "und") == 0;
                CHECK(joined || is_participle(words[i]));
                found++;
            }
        begin = i + 1;
    }
    return found;
}

/* he walks, they walk; a garden, an apple */
static int check_english(char *words[WORDS], int count)
{
    static const struct {
        const char *pronoun, *wrong;
    } wrong[] = {{"he", "are"},    {"she", "are"}, {"he", "do"},   {"they", "is"}, {"they", "was"},
                 {"they", "does"}, {"we", "is"},   {"we", "was"},  {"I", "is"},    {"I", "are"},
                 {"I", "were"},    {"it", "are"},  {"they", "has"}};
    for (int i = 0; i + 1 < count; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
            CHECK(strcmp(words[i], wrong[k].pronoun) != 0 || strcmp(words[i + 1], wrong[k].wrong) != 0);
        static const char *const consonants[] = {"university", "universities", "uniform", "useful",
                                                 "useless"};
        bool vowel = strchr("aeiou", tolower((unsigned char)words[i + 1][0])) != NULL ||
                     strcmp(words[i + 1], "honest") == 0 || strcmp(words[i + 1], "hour") == 0;
        for (size_t k = 0; k < sizeof consonants / sizeof *consonants; k++)
            vowel = vowel && strcmp(words[i + 1], consonants[k]) != 0;
        if (strcmp(words[i], "a") == 0 || strcmp(words[i], "A") == 0)
            CHECK(!vowel);
        if (strcmp(words[i], "an") == 0 || strcmp(words[i], "An") == 0)
            CHECK(vowel);
    }
    return count;
}

static void test_parsed(void)
{
    int phrases_found = 0, verbs_found = 0;
    list_nouns();
    for (int64_t index = 0; index < PAIRS; index++) {
        struct sentence german, english;
        made_pair(TASK_TRAINING, index, &german, &english);
        check_about("%s = %s", german.text, english.text);
        CHECK(german.words >= MADE_MIN_WORDS && german.words <= MADE_MAX_WORDS);
        CHECK(strchr(".?", german.text[german.length - 1]) &&
              german.text[german.length - 1] == english.text[english.length - 1]);
        CHECK(strstr(german.text, "  ") == NULL && strstr(english.text, "  ") == NULL);
        char *words[WORDS], marks[WORDS];
        int count = split_words(german.text, words);
        CHECK_INT(count, german.words);
        for (int i = 0; i < count; i++)
            marks[i] = cut_mark(words[i]);
        phrases_found += check_agreement(words, marks, count);
        verbs_found += check_verbs(words, marks, count);
        count = split_words(english.text, words);
        CHECK_INT(count, english.words);
        check_english(words, count);
    }
    check_about("%s", "");
    printf("%d noun phrases and %d verbs at the end in %d pairs\n", phrases_found, verbs_found, PAIRS);
    CHECK(phrases_found > PAIRS && verbs_found > PAIRS / 5);
}

int main(void)
{
    test_parsed();
    return check_report();
}
