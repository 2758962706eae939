/* SPDX-License-Identifier: Apache-2.0 */
#include "file/settings.h"

#include "base/fail.h"
#include "file/file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEAREST_BYTES = 64, /* longer names have no nearest one */
    MAX_KEYS = 256
};

/* ---- the nearest name ------------------------------------------------------------------------------------
 */

/* Capitals and dashes are no mistakes worth counting. */
static int folded(char letter)
{
    return letter == '-' ? '_' : tolower((unsigned char)letter);
}

static int min_of(int a, int b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that lead from one name to the other (the
 * optimal string alignment distance); a name that merely was not written to its end counts as one. */
static int distance(const char *name, const char *other)
{
    int length = (int)strlen(name), other_length = (int)strlen(other);
    int rows[3][NEAREST_BYTES + 1];
    int common = 0;
    while (common < length && common < other_length && folded(name[common]) == folded(other[common]))
        common++;
    if (common == length && length >= 2 && other_length > length)
        return 1;
    for (int j = 0; j <= other_length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= length; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *above_that = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= other_length; j++) {
            bool same = folded(name[i - 1]) == folded(other[j - 1]);
            row[j] = min_of(min_of(row[j - 1], above[j]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && folded(name[i - 1]) == folded(other[j - 2]) &&
                folded(name[i - 2]) == folded(other[j - 1]))
                row[j] = min_of(row[j], above_that[j - 2] + 1);
        }
    }
    return rows[length % 3][other_length];
}

const char *settings_nearest(const char *name, const char *const *names)
{
    const char *best = NULL;
    /* A third of the letters may be wrong, and one more; of equally near names, the one more alike in length.
     */
    int min = (int)(strnlen(name, NEAREST_BYTES) / 3) + 2, longer = 0;
    for (; *names; names++) {
        if (strlen(name) > NEAREST_BYTES || strlen(*names) > NEAREST_BYTES)
            continue;
        int far = distance(name, *names), more = abs((int)strlen(*names) - (int)strlen(name));
        if (far < min || (best && far == min && more < longer)) {
            longer = more;
            min = far;
            best = *names;
        }
    }
    return best;
}

const char *settings_names(const char *const *names, char text[SETTINGS_NAMES_BYTES])
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; names[i] && used < SETTINGS_NAMES_BYTES; i++) {
        const char *between = i == 0 ? "" : names[i + 1] ? ", " : " or ";
        int added = snprintf(text + used, SETTINGS_NAMES_BYTES - used, "%s%s", between, names[i]);
        used += added > 0 ? (size_t)added : 0;
    }
    return text;
}

const char *settings_hint(const char *name, const char *const *names, char text[SETTINGS_HINT_BYTES])
{
    const char *nearest = settings_nearest(name, names);
    snprintf(text, SETTINGS_HINT_BYTES, "%s%s%s", nearest ? "; did you mean \"" : "", nearest ? nearest : "",
             nearest ? "\"?" : "");
    return text;
}

/* ---- one setting ------------------------------------------------------------------------------------------
 */

/* "a whole number from 1 to 64", "relu, gelu or swiglu", ... */
static void describe_wanted(const struct setting *setting, char wanted[SETTINGS_NAMES_BYTES])
{
    switch (setting->type) {
    case SETTING_INTEGER:
        snprintf(wanted, SETTINGS_NAMES_BYTES, "a whole number from %.0f to %.0f", setting->min,
                 setting->max);
        return;
    case SETTING_REAL:
        snprintf(wanted, SETTINGS_NAMES_BYTES, "a number from %.10g to %.10g", setting->min, setting->max);
        return;
    case SETTING_BOOLEAN:
        snprintf(wanted, SETTINGS_NAMES_BYTES, "true or false");
        return;
    case SETTING_CHOICE:
        settings_names(setting->choices, wanted);
        return;
    case SETTING_TEXT:
        snprintf(wanted, SETTINGS_NAMES_BYTES, "a text of at most %d bytes", SETTING_TEXT_BYTES - 1);
        return;
    }
}

static bool parse_integer(const struct setting *setting, const json_t *value, int64_t *result)
{
    if (json_is_integer(value))
        *result = json_integer_value(value);
    else if (json_is_real(value) && fabs(json_real_value(value)) <= 0x1p53 &&
             json_real_value(value) == floor(json_real_value(value)))
        *result = (int64_t)json_real_value(value); /* 1e6 is a whole number too */
    else
        return false;
    return (double)*result >= setting->min && (double)*result <= setting->max;
}

static int choice_index(const struct setting *setting, const json_t *value)
{
    for (int i = 0; json_is_string(value) && setting->choices[i]; i++)
        if (strcmp(setting->choices[i], json_string_value(value)) == 0)
            return i;
    return -1;
}

/* Whether `value` fits; writes it to `member` if that is not NULL. */
static bool take(const struct setting *setting, const json_t *value, void *member)
{
    switch (setting->type) {
    case SETTING_INTEGER: {
        int64_t integer;
        if (!parse_integer(setting, value, &integer))
            return false;
        if (member)
            memcpy(member, &integer, sizeof integer);
        return true;
    }
    case SETTING_REAL: {
        double real = json_number_value(value);
        if (!json_is_number(value) || !(real >= setting->min && real <= setting->max))
            return false;
        if (member)
            memcpy(member, &real, sizeof real);
        return true;
    }
    case SETTING_BOOLEAN:
        if (!json_is_boolean(value))
            return false;
        if (member)
            *(bool *)member = json_is_true(value);
        return true;
    case SETTING_CHOICE: {
        int choice = choice_index(setting, value);
        if (choice >= 0 && member)
            memcpy(member, &choice, sizeof choice);
        return choice >= 0;
    }
    case SETTING_TEXT:
        if (!json_is_string(value) || json_string_length(value) >= SETTING_TEXT_BYTES)
            return false;
        if (member)
            memcpy(member, json_string_value(value), json_string_length(value) + 1);
        return true;
    }
    return false;
}

static rotary_status fail_value(const struct setting *setting, const json_t *value, const char *where,
                                rotary_error *error)
{
    char wanted[SETTINGS_NAMES_BYTES] = "", hint[SETTINGS_HINT_BYTES] = "";
    describe_wanted(setting, wanted);
    char *got = file_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (setting->type == SETTING_CHOICE && json_is_string(value))
        settings_hint(json_string_value(value), setting->choices, hint);
    rotary_status status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: \"%s\" is %.80s, wanted %s%s",
                                       where, setting->key, got ? got : "not printable", wanted, hint);
    free(got);
    return status;
}

/* ---- tables -----------------------------------------------------------------------------------------------
 */

static const struct setting *find(const struct settings *settings, int count, const char *key, void **member)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < settings[i].count; j++)
            if (strcmp(settings[i].table[j].key, key) == 0) {
                *member = (char *)settings[i].structure + settings[i].table[j].offset;
                return &settings[i].table[j];
            }
    return NULL;
}

static rotary_status fail_key(const struct settings *settings, int count, const char *key, const char *where,
                              rotary_error *error)
{
    const char *keys[MAX_KEYS + 1] = {NULL};
    int known = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < settings[i].count && known < MAX_KEYS; j++)
            keys[known++] = settings[i].table[j].key;
    char hint[SETTINGS_HINT_BYTES];
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: there is no key \"%.80s\"%s", where, key,
                       settings_hint(key, keys, hint));
}

rotary_status settings_read(const struct settings *settings, int count, const json_t *object,
                            const char *where, rotary_error *error)
{
    json_t *entries = (json_t *)(uintptr_t)object; /* jansson goes through none that is const */
    const char *key;
    json_t *value;
    /* Everything is checked before anything is set. */
    for (int pass = 0; pass < 2; pass++) {
        json_object_foreach (entries, key, value) {
            void *member;
            const struct setting *setting = find(settings, count, key, &member);
            if (!setting)
                return fail_key(settings, count, key, where, error);
            if (!take(setting, value, pass == 0 ? NULL : member))
                return fail_value(setting, value, where, error);
        }
    }
    return ROTARY_OK;
}

/* The value of an assignment. A name or a text needs no quotes; a number may be written as C would read it
 * (.5). */
static json_t *parse_value(const struct setting *setting, const char *text)
{
    bool words = setting->type == SETTING_CHOICE || setting->type == SETTING_TEXT;
    json_t *value =
        words && text[0] != '"' ? NULL : json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    if (!value && (setting->type == SETTING_REAL || setting->type == SETTING_INTEGER)) {
        char *end;
        double number = strtod(text, &end);
        if (end != text && *end == 0)
            value = json_real(number); /* NULL for infinities and NaN */
    }
    return value ? value : json_string(text);
}

rotary_status settings_assign(const struct settings *settings, int count, const char *assignment,
                              rotary_error *error)
{
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--set: \"%.80s\" is not key=value", assignment);
    char *key = strndup(assignment, (size_t)(equals - assignment));
    if (!key)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "--set: no memory");
    void *member;
    const struct setting *setting = find(settings, count, key, &member);
    rotary_status status = ROTARY_OK;
    if (!setting)
        status = fail_key(settings, count, key, "--set", error);
    free(key);
    if (status != ROTARY_OK)
        return status;
    json_t *value = parse_value(setting, equals + 1);
    if (!value)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--set: the value of \"%s\" is not UTF-8 text",
                           setting->key);
    if (!take(setting, value, member))
        status = fail_value(setting, value, "--set", error);
    json_decref(value);
    return status;
}

static json_t *member_value(const struct setting *setting, const void *member)
{
    switch (setting->type) {
    case SETTING_INTEGER:
        return json_integer(*(const int64_t *)member);
    case SETTING_REAL:
        return json_real(*(const double *)member);
    case SETTING_BOOLEAN:
        return json_boolean(*(const bool *)member);
    case SETTING_CHOICE:
        return json_string(setting->choices[*(const int *)member]);
    case SETTING_TEXT:
        return json_string(member);
    }
    return NULL;
}

rotary_status settings_write(const struct settings *settings, int count, json_t *object, rotary_error *error)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < settings[i].count; j++) {
            const struct setting *setting = &settings[i].table[j];
            json_t *value = member_value(setting, (const char *)settings[i].structure + setting->offset);
            if (!value || json_object_set_new(object, setting->key, value) != 0)
                return rotary_fail(error, ROTARY_OUT_OF_MEMORY,
                                   "\"%s\" cannot be written: no memory, or a text that is not UTF-8",
                                   setting->key);
        }
    return ROTARY_OK;
}

/* Whether the member has a value that reading could have given it. */
static bool in_range(const struct setting *setting, const void *member)
{
    switch (setting->type) {
    case SETTING_INTEGER: {
        double integer = (double)*(const int64_t *)member;
        return integer >= setting->min && integer <= setting->max;
    }
    case SETTING_REAL: {
        double real = *(const double *)member;
        return real >= setting->min && real <= setting->max; /* false for NaN */
    }
    case SETTING_BOOLEAN:
        return true;
    case SETTING_CHOICE: {
        int choices = 0;
        while (setting->choices[choices])
            choices++;
        return *(const int *)member >= 0 && *(const int *)member < choices;
    }
    case SETTING_TEXT:
        return memchr(member, 0, SETTING_TEXT_BYTES) != NULL;
    }
    return false;
}

rotary_status settings_check(const struct settings *settings, int count, const char *where,
                             rotary_error *error)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < settings[i].count; j++) {
            const struct setting *setting = &settings[i].table[j];
            const void *member = (const char *)settings[i].structure + setting->offset;
            if (in_range(setting, member))
                continue;
            json_t *value = NULL; /* an infinity, NaN or an endless text stays NULL */
            if (setting->type == SETTING_CHOICE)
                value = json_integer(*(const int *)member);
            else if (setting->type != SETTING_TEXT)
                value = member_value(setting, member);
            rotary_status status = fail_value(setting, value, where, error);
            json_decref(value);
            return status;
        }
    return ROTARY_OK;
}
