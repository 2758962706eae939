/* SPDX-License-Identifier: Apache-2.0
 *
 * From Oniguruma's syntax to PCRE2's. Both understand most of it alike. \s, \w and \d are written as the
 * properties of Unicode that Oniguruma means: PCRE2's \s also has U+180E, and its \w neither marks nor all
 * connectors. The name of a script is its Script in Oniguruma, and Script_Extensions in PCRE2, where marks and
 * punctuation of several scripts are in each. What else differs is refused.
 */
#include "base/fail.h"
#include "text/text_buffer.h"
#include "text/tokenizer_json/pattern.h"

#include <ctype.h>
#include <string.h>

struct translation {
    const char *expression, *at, *script;
    struct text_buffer to;
    bool in_class;
};

static rotary_status refuse(const struct translation *translation, const char *what, rotary_error *error)
{
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "the regular expression \"%.80s\" has %s at byte %lld, which is not supported",
                       translation->expression, what,
                       (long long)(translation->at - translation->expression) + 1);
}

/* Appends `text` for the next `taken` bytes of the expression. */
static rotary_status put(struct translation *translation, const char *text, int64_t taken,
                         rotary_error *error)
{
    translation->at += taken;
    return text_buffer_append(&translation->to, text, (int64_t)strlen(text), error);
}

/* Copies the next `count` bytes. */
static rotary_status copy(struct translation *translation, int64_t count, rotary_error *error)
{
    const char *from = translation->at;
    translation->at += count;
    return text_buffer_append(&translation->to, from, count, error);
}

#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"

/* The bytes of \p{Name} or \x{...}, with the braces; 0: there are none. */
static int64_t braced_bytes(const char *at)
{
    const char *end = at[2] == '{' ? strchr(at, '}') : NULL;
    return end ? end + 1 - at : 0;
}

/* Properties that are no scripts, which both libraries have by these names; spaces stand between them. */
static const char properties[] =
    "Any C Cc Cf Cn Co Cs L L& LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps "
    "S Sc Sk Sm So Z Zl Zp Zs Alphabetic ASCII_Hex_Digit Dash Emoji Emoji_Modifier "
    "Emoji_Presentation Extended_Pictographic Hex_Digit ID_Continue ID_Start Ideographic "
    "Lowercase Math Uppercase White_Space XID_Continue XID_Start";

/* Whether two names are one to Unicode: case, spaces, hyphens and underscores are not looked at. `other` ends at its end
 * or before a space. */
static bool same_name(const char *name, int64_t bytes, const char *other)
{
    static const char ignored[] = " -_";
    for (int64_t i = 0; i < bytes; i++) {
        if (strchr(ignored, name[i]))
            continue;
        other += strspn(other, "-_");
        if (tolower((unsigned char)name[i]) != tolower((unsigned char)*other))
            return false;
        other++;
    }
    return *other == 0 || *other == ' ';
}

/* \p{Name} or \p{^Name}, in `bytes`. A script gets what says that it is one. */
static rotary_status translate_property(struct translation *translation, int64_t bytes, rotary_error *error)
{
    const int64_t before = translation->at[3] == '^' ? 4 : 3, length = bytes - before - 1;
    const char *name = translation->at + before;
    if (memchr(name, '=', (size_t)length) || memchr(name, ':', (size_t)length))
        return refuse(translation, "a property with a value", error);
    bool script = true;
    for (const char *word = properties; word; word = strchr(word + 1, ' '))
        script = script && !same_name(name, length, word + (*word == ' '));
    rotary_status status = copy(translation, before, error);
    if (status == ROTARY_OK && script)
        status = put(translation, translation->script, 0, error);
    return status == ROTARY_OK ? copy(translation, length + 1, error) : status;
}

static rotary_status translate_escape(struct translation *translation, rotary_error *error)
{
    static const char *const alike = "rntfe", *const marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ";
    const char *at = translation->at;
    const bool in_class = translation->in_class;
    switch (at[1]) {
    case 's':
        return put(translation, "\\p{White_Space}", 2, error);
    case 'S':
        return put(translation, "\\P{White_Space}", 2, error);
    case 'd':
        return put(translation, "\\p{Nd}", 2, error);
    case 'D':
        return put(translation, "\\P{Nd}", 2, error);
    case 'w':
        return put(translation, in_class ? WORD : "[" WORD "]", 2, error);
    case 'v':
        return put(translation, "\\x{0b}", 2, error);
    case 'W':
        if (!in_class)
            return put(translation, "[^" WORD "]", 2, error);
        break;
    case 'p':
    case 'P':
        if (braced_bytes(at) > 0)
            return translate_property(translation, braced_bytes(at), error);
        break;
    case 'x':
        if (strspn(at + 2, "0123456789abcdefABCDEF") >= 2)
            return copy(translation, 4, error);
        if (braced_bytes(at) > 0)
            return copy(translation, braced_bytes(at), error);
        break;
    case 'A':
    case 'z':
        if (!in_class)
            return copy(translation, 2, error);
        break;
    case '\0':
        break;
    default:
        if (strchr(alike, at[1]) || strchr(marks, at[1]))
            return copy(translation, 2, error);
    }
    return refuse(translation, "an escape", error);
}

/* What follows "(?" of the groups that both libraries have. */
static rotary_status translate_group(struct translation *translation, rotary_error *error)
{
    static const char *const groups[] = {":", "i:", "-i:", "=", "!", "<=", "<!", ">"};
    const char *at = translation->at;
    if (at[1] != '?')
        return at[1] == '*' ? refuse(translation, "a verb", error) : copy(translation, 1, error);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (strncmp(at + 2, groups[i], strlen(groups[i])) == 0)
            return copy(translation, 2 + (int64_t)strlen(groups[i]), error);
    return refuse(translation, "a group", error);
}

/* {n}, {n,} or {n,m}. Behind it a plus sign repeats it in Ruby, and makes it possessive in PCRE2; behind {n} a question
 * mark makes it optional in Ruby, and means nothing in PCRE2. */
static rotary_status translate_count(struct translation *translation, rotary_error *error)
{
    static const char digits[] = "0123456789";
    const char *at = translation->at;
    size_t count = 1 + strspn(at + 1, digits);
    const bool fixed = at[count] == '}';
    if (count > 1 && at[count] == ',')
        count += 1 + strspn(at + count + 1, digits);
    if (count < 2 || at[count] != '}' || at[count + 1] == '+' || (fixed && at[count + 1] == '?'))
        return refuse(translation, "a brace", error);
    return copy(translation, (int64_t)count + 1, error);
}

static rotary_status translate_outside(struct translation *translation, rotary_error *error)
{
    const char *at = translation->at;
    switch (*at) {
    case '(':
        return translate_group(translation, error);
    case '{':
        return translate_count(translation, error);
    case '[':
        if (at[1] == ']' || (at[1] == '^' && at[2] == ']'))
            return refuse(translation, "an empty class", error);
        translation->in_class = true;
        return copy(translation, at[1] == '^' ? 2 : 1, error);
    default:
        return copy(translation, 1, error);
    }
}

static rotary_status translate_inside(struct translation *translation, rotary_error *error)
{
    const char *at = translation->at;
    if (*at == '[')
        return refuse(translation, "a class in a class", error);
    if (at[0] == '&' && at[1] == '&')
        return refuse(translation, "an intersection", error);
    translation->in_class = *at != ']';
    return copy(translation, 1, error);
}

rotary_status pattern_translate(const char *expression, const char *script, char **translated,
                                rotary_error *error)
{
    struct translation translation = {.expression = expression, .at = expression, .script = script};
    rotary_status status = ROTARY_OK;
    while (*translation.at && status == ROTARY_OK) {
        if (*translation.at == '\\')
            status = translate_escape(&translation, error);
        else if (translation.in_class)
            status = translate_inside(&translation, error);
        else
            status = translate_outside(&translation, error);
    }
    if (status == ROTARY_OK)
        status = text_buffer_append(&translation.to, "", 1, error);
    if (status == ROTARY_OK)
        *translated = translation.to.bytes;
    else
        text_buffer_free(&translation.to);
    return status;
}
