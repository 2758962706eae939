/* SPDX-License-Identifier: Apache-2.0 */
#include "task/english.h"

#include <stdio.h>
#include <string.h>

enum { ENDING_BYTES = 4 };

static bool is_vowel(char letter)
{
    return letter != '\0' && strchr("aeiou", letter) != NULL;
}

static bool hisses(const char *word, size_t length)
{
    const char last = word[length - 1], before = length > 1 ? word[length - 2] : '\0';
    return last == 's' || last == 'x' || last == 'z' || (last == 'h' && (before == 'c' || before == 's'));
}

/* With the s of plurals and of the third person. */
static void add_s(char form[FORM_BYTES], const char *word)
{
    const size_t length = strlen(word);
    const char last = word[length - 1], before = length > 1 ? word[length - 2] : '\0';
    if (last == 'y' && !is_vowel(before))
        snprintf(form, FORM_BYTES, "%.*sies", (int)length - 1, word);
    else
        snprintf(form, FORM_BYTES, "%.*s%s", FORM_BYTES - ENDING_BYTES, word,
                 hisses(word, length) || (last == 'o' && !is_vowel(before)) ? "es" : "s");
}

void english_noun(char form[FORM_BYTES], const struct noun *noun, bool plural)
{
    if (plural && !noun->english_plural)
        /* "photo", "piano" and other short forms have no e. */
        if (noun->english[strlen(noun->english) - 1] == 'o')
            snprintf(form, FORM_BYTES, "%ss", noun->english);
        else
            add_s(form, noun->english);
    else
        snprintf(form, FORM_BYTES, "%s", plural ? noun->english_plural : noun->english);
}

void english_possessive(char form[FORM_BYTES], const char *noun)
{
    const size_t length = strlen(noun);
    snprintf(form, FORM_BYTES, "%.*s%s", FORM_BYTES - ENDING_BYTES, noun,
             noun[length - 1] == 's' ? "'" : "'s");
}

const char *english_article(const char *next)
{
    const bool silent = strncmp(next, "hon", 3) == 0;                                    /* honest */
    const bool consonant = strncmp(next, "uni", 3) == 0 || strncmp(next, "use", 3) == 0; /* uniform, useful */
    return (is_vowel(next[0]) || silent) && !consonant ? "an" : "a";
}

/* ---- verbs ---- */

static int vowel_groups(const char *word)
{
    int count = 0;
    for (size_t i = 0; word[i]; i++)
        count += is_vowel(word[i]) && (i == 0 || !is_vowel(word[i - 1]));
    return count;
}

/* Whether the last consonant is doubled: stopped, jogging, but looked, opened, showed. */
static bool doubles(const char *word)
{
    const size_t length = strlen(word);
    return length >= 3 && vowel_groups(word) == 1 && !is_vowel(word[length - 1]) &&
           strchr("wxyh", word[length - 1]) == NULL && is_vowel(word[length - 2]) &&
           !is_vowel(word[length - 3]);
}

static void add_ed(char form[FORM_BYTES], const char *word)
{
    const size_t length = strlen(word);
    const char last = word[length - 1];
    if (last == 'e')
        snprintf(form, FORM_BYTES, "%sd", word);
    else if (last == 'y' && !is_vowel(word[length - 2]))
        snprintf(form, FORM_BYTES, "%.*sied", (int)length - 1, word);
    else if (doubles(word))
        snprintf(form, FORM_BYTES, "%s%ced", word, last);
    else
        snprintf(form, FORM_BYTES, "%sed", word);
}

static void add_ing(char form[FORM_BYTES], const char *word)
{
    const size_t length = strlen(word);
    const char last = word[length - 1];
    /* "forget" and "begin" are the only longer ones that double. */
    if (last == 'e' && word[length - 2] != 'e')
        snprintf(form, FORM_BYTES, "%.*sing", (int)length - 1, word);
    else if (doubles(word) || strcmp(word, "forget") == 0)
        snprintf(form, FORM_BYTES, "%s%cing", word, last);
    else
        snprintf(form, FORM_BYTES, "%sing", word);
}

void english_verb(char form[FORM_BYTES], const struct verb *verb, enum english_form wanted)
{
    char first[FORM_BYTES / 2], made[FORM_BYTES];
    const size_t length = strcspn(verb->english, " ");
    snprintf(first, sizeof first, "%.*s", (int)length, verb->english);
    if (wanted == THIRD_FORM)
        add_s(made, first);
    else if (wanted == GERUND_FORM && verb->gerund)
        snprintf(made, sizeof made, "%s", verb->gerund);
    else if (wanted == GERUND_FORM)
        add_ing(made, first);
    else if (wanted == BASE_FORM)
        snprintf(made, sizeof made, "%s", first);
    else if (verb->past)
        snprintf(made, sizeof made, "%s", wanted == PAST_FORM ? verb->past : verb->english_participle);
    else
        add_ed(made, first);
    snprintf(form, FORM_BYTES, "%.*s%s", FORM_BYTES / 2, made, verb->english + length);
}
