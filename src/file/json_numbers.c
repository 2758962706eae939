/* SPDX-License-Identifier: Apache-2.0 */
#include "file/json_numbers.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An object takes a hundred times the bytes of "NaN": a text with more of them stays one that is refused. */
enum { NUMBER_BYTES = 64, MAX_OBJECTS = 1 << 16 };
static const char integer_key[] = "__integer__", float_key[] = "__float__";

/* A text, and its copy with other numbers; `out` is NULL while its bytes are counted. */
struct rewriting {
    const char *text;
    size_t count, at;
    char *out;
    size_t used;
    int objects;
    bool exact, changed;
};

static void put(struct rewriting *rewriting, const char *bytes, size_t count)
{
    if (rewriting->out)
        memcpy(rewriting->out + rewriting->used, bytes, count);
    rewriting->used += count;
}

static void put_text(struct rewriting *rewriting, const char *text)
{
    put(rewriting, text, strlen(text));
}

static void put_object(struct rewriting *rewriting, const char *key, const char *bytes, size_t count)
{
    if (rewriting->objects == MAX_OBJECTS) {
        put(rewriting, bytes, count);
        return;
    }
    rewriting->objects++;
    put_text(rewriting, "{\"");
    put_text(rewriting, key);
    put_text(rewriting, "\":\"");
    put(rewriting, bytes, count);
    put_text(rewriting, "\"}");
    rewriting->changed = true;
}

/* The end of a string that begins at `at`, or of the text. */
static size_t string_end(const struct rewriting *rewriting, size_t at)
{
    for (at++; at < rewriting->count && rewriting->text[at] != '"'; at++)
        at += rewriting->text[at] == '\\';
    return at < rewriting->count ? at + 1 : rewriting->count;
}

/* The end of a word of letters, digits and signs, of which numbers and names of values are made. */
static size_t word_end(const struct rewriting *rewriting, size_t at)
{
    while (at < rewriting->count &&
           (isalnum((unsigned char)rewriting->text[at]) || strchr("+-._", rewriting->text[at])) &&
           rewriting->text[at] != 0)
        at++;
    return at;
}

static bool is_word(const char *bytes, size_t count, const char *word)
{
    return strlen(word) == count && memcmp(bytes, word, count) == 0;
}

/* Whether the word is a number as JSON has them; *whole: without a fraction and an exponent. */
static bool is_number(const char *bytes, size_t count, bool *whole)
{
    size_t at = count > 0 && bytes[0] == '-', digits = at;
    while (at < count && isdigit((unsigned char)bytes[at]))
        at++;
    *whole = at == count;
    if (at == digits || (bytes[digits] == '0' && at > digits + 1))
        return false;
    if (at < count && bytes[at] == '.') {
        digits = ++at;
        while (at < count && isdigit((unsigned char)bytes[at]))
            at++;
        if (at == digits)
            return false;
    }
    if (at < count && (bytes[at] == 'e' || bytes[at] == 'E')) {
        at++;
        at += at < count && (bytes[at] == '+' || bytes[at] == '-');
        digits = at;
        while (at < count && isdigit((unsigned char)bytes[at]))
            at++;
        if (at == digits)
            return false;
    }
    return at == count;
}

/* The value of a number, which may be infinite. Its bytes are not followed by a 0. */
static double value_of(const char *bytes, size_t count, bool *fits_integer)
{
    char room[NUMBER_BYTES], *copy = count < sizeof room ? room : malloc(count + 1);
    double value = INFINITY;
    *fits_integer = false;
    if (copy) {
        memcpy(copy, bytes, count);
        copy[count] = 0;
        errno = 0;
        (void)strtoll(copy, NULL, 10);
        *fits_integer = errno == 0;
        value = strtod(copy, NULL);
    }
    if (copy != room)
        free(copy);
    return value;
}

static void put_word(struct rewriting *rewriting, size_t end)
{
    const char *bytes = rewriting->text + rewriting->at;
    const size_t count = end - rewriting->at;
    bool whole, fits;
    if (is_word(bytes, count, "NaN") || is_word(bytes, count, "Infinity") ||
        is_word(bytes, count, "-Infinity")) {
        put_object(rewriting, float_key, bytes, count);
    } else if (is_number(bytes, count, &whole)) {
        const double value = value_of(bytes, count, &fits);
        if (whole && !fits && rewriting->exact)
            put_object(rewriting, integer_key, bytes, count);
        else if (!isfinite(value))
            put_object(rewriting, float_key, bytes, count);
        else {
            put(rewriting, bytes, count);
            if (whole && !fits) {
                put_text(rewriting, ".0");
                rewriting->changed = true;
            }
        }
    } else {
        put(rewriting, bytes, count);
    }
}

/* Strings are copied, and words between them looked at. */
static void rewrite(struct rewriting *rewriting)
{
    rewriting->at = rewriting->used = 0;
    rewriting->objects = 0;
    while (rewriting->at < rewriting->count) {
        const char *here = rewriting->text + rewriting->at;
        size_t end = *here == '"' ? string_end(rewriting, rewriting->at) : word_end(rewriting, rewriting->at);
        if (*here == '"' || end == rewriting->at) {
            end = end > rewriting->at ? end : rewriting->at + 1;
            put(rewriting, here, end - rewriting->at);
        } else {
            put_word(rewriting, end);
        }
        rewriting->at = end;
    }
}

json_t *json_numbers_load(const char *text, size_t count, size_t flags, bool exact, json_error_t *wrong)
{
    json_t *value = json_loadb(text, count, flags, wrong);
    if (value)
        return value;
    /* Only now, so that other files are parsed once. */
    struct rewriting rewriting = {.text = text, .count = count, .exact = exact};
    rewrite(&rewriting);
    if (!rewriting.changed)
        return NULL;
    rewriting.out = malloc(rewriting.used);
    if (!rewriting.out)
        return NULL;
    rewrite(&rewriting);
    value = json_loadb(rewriting.out, rewriting.used, flags, wrong);
    free(rewriting.out);
    return value;
}

static const char *only_text(const json_t *value, const char *key)
{
    return json_object_size(value) == 1 ? json_string_value(json_object_get(value, key)) : NULL;
}

const char *json_numbers_integer(const json_t *value)
{
    return only_text(value, integer_key);
}

const char *json_numbers_float(const json_t *value)
{
    return only_text(value, float_key);
}
