/* SPDX-License-Identifier: Apache-2.0
 *
 * The definitions are substitutions of regular expressions, one after another over the whole text. Each is a
 * pass here: matches do not overlap and are looked for from the left, and what a pass inserts it does not
 * look at.
 */
#include "score/translation/bleu_tokenizer.h"

#include "text/unicode.h"

#include <string.h>

const char *const bleu_tokenizer_names[] = {"13a", "intl", "char", "none", NULL};

typedef bool has_property(uint32_t point);

static void swap(struct points *a, struct points *b)
{
    struct points kept = *a;
    *a = *b;
    *b = kept;
}

/* Puts spaces around every character that has the property. */
static rotary_status separate(struct points *text, struct points *scratch, has_property *property,
                              rotary_error *error)
{
    rotary_status status = points_reserve(scratch, 3 * text->count, error);
    if (status != ROTARY_OK)
        return status;
    uint32_t *to = scratch->at;
    for (int64_t i = 0; i < text->count; i++) {
        bool apart = property(text->at[i]);
        if (apart)
            *to++ = ' ';
        *to++ = text->at[i];
        if (apart)
            *to++ = ' ';
    }
    scratch->count = to - scratch->at;
    swap(text, scratch);
    return ROTARY_OK;
}

/* Two characters next to each other, and which of them gets spaces around it. */
struct pair {
    has_property *first, *second;
    enum { FIRST_APART, SECOND_APART } apart;
};

static rotary_status separate_pairs(struct points *text, struct points *scratch, struct pair pair,
                                    rotary_error *error)
{
    rotary_status status = points_reserve(scratch, 2 * text->count, error);
    if (status != ROTARY_OK)
        return status;
    uint32_t *to = scratch->at;
    for (int64_t i = 0; i < text->count; i++) {
        const uint32_t *at = text->at + i;
        if (i + 1 == text->count || !pair.first(at[0]) || !pair.second(at[1])) {
            *to++ = at[0];
            continue;
        }
        if (pair.apart == FIRST_APART)
            *to++ = ' ';
        *to++ = at[0];
        *to++ = ' ';
        *to++ = at[1];
        if (pair.apart == SECOND_APART)
            *to++ = ' ';
        i++; /* the second character is spent */
    }
    scratch->count = to - scratch->at;
    swap(text, scratch);
    return ROTARY_OK;
}

/* Replaces every `word` by the characters of `by`, which are not more. */
static void replace(struct points *text, const char *word, const char *by)
{
    int64_t length = (int64_t)strlen(word), kept = 0;
    for (int64_t i = 0; i < text->count;) {
        int64_t same = 0;
        while (same < length && i + same < text->count && text->at[i + same] == (unsigned char)word[same])
            same++;
        if (same < length) {
            text->at[kept++] = text->at[i++];
            continue;
        }
        for (const char *c = by; *c; c++)
            text->at[kept++] = (unsigned char)*c;
        i += length;
    }
    text->count = kept;
}

/* ---- 13a ---- */

static bool is_digit(uint32_t point)
{
    return point >= '0' && point <= '9';
}

static bool is_no_digit(uint32_t point)
{
    return !is_digit(point);
}

static bool is_hyphen(uint32_t point)
{
    return point == '-';
}

static bool is_period_or_comma(uint32_t point)
{
    return point == '.' || point == ',';
}

/* ASCII's punctuation and symbols but for ' , - and the period. */
static bool is_always_apart(uint32_t point)
{
    return (point >= '!' && point <= '/' && point != '\'' && !is_hyphen(point) &&
            !is_period_or_comma(point)) ||
           (point >= ':' && point <= '@') || (point >= '[' && point <= '`') || (point >= '{' && point <= '~');
}

static rotary_status tokenize_13a(struct points *text, struct points *scratch, rotary_error *error)
{
    static const struct pair pairs[] = {{is_no_digit, is_period_or_comma, SECOND_APART},
                                        {is_period_or_comma, is_no_digit, FIRST_APART},
                                        {is_digit, is_hyphen, SECOND_APART}};
    replace(text, "<skipped>", "");
    replace(text, "-\n", "");
    replace(text, "\n", " ");
    replace(text, "&quot;", "\"");
    replace(text, "&amp;", "&");
    replace(text, "&lt;", "<");
    replace(text, "&gt;", ">");
    /* A space before and after the text, so that its first and last character have neighbours. */
    rotary_status status = points_reserve(text, text->count + 2, error);
    if (status != ROTARY_OK)
        return status;
    memmove(text->at + 1, text->at, sizeof *text->at * (size_t)text->count);
    text->at[0] = text->at[text->count + 1] = ' ';
    text->count += 2;
    status = separate(text, scratch, is_always_apart, error);
    for (int i = 0; i < 3 && status == ROTARY_OK; i++)
        status = separate_pairs(text, scratch, pairs[i], error);
    return status;
}

/* ---- intl ---- */

static bool is_no_number(uint32_t point)
{
    return !unicode_is_number(point);
}

static rotary_status tokenize_intl(struct points *text, struct points *scratch, rotary_error *error)
{
    static const struct pair pairs[] = {{is_no_number, unicode_is_punctuation, SECOND_APART},
                                        {unicode_is_punctuation, is_no_number, FIRST_APART}};
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < 2 && status == ROTARY_OK; i++)
        status = separate_pairs(text, scratch, pairs[i], error);
    return status == ROTARY_OK ? separate(text, scratch, unicode_is_symbol, error) : status;
}

static bool is_any(uint32_t point)
{
    (void)point;
    return true;
}

rotary_status bleu_tokenize(enum bleu_tokenizer tokenizer, struct points *text, struct points *scratch,
                            rotary_error *error)
{
    switch (tokenizer) {
    case BLEU_13A:
        return tokenize_13a(text, scratch, error);
    case BLEU_INTL:
        return tokenize_intl(text, scratch, error);
    case BLEU_CHAR:
        return separate(text, scratch, is_any, error);
    default:
        return ROTARY_OK;
    }
}
