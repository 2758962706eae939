/* SPDX-License-Identifier: Apache-2.0 */
#include "config/settings.h"

#include "base/fail.h"
#include "config/synonyms.h"
#include "file/file.h"
#include "file/json_numbers.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEAREST_BYTES = 64, /* longer names have no nearest one */
    MAX_NAMES = 256
};

/* ---- the nearest name ---- */

/* Case is ignored, and a dash equals an underscore. */
static int folded(char letter)
{
    return letter == '-' ? '_' : tolower((unsigned char)letter);
}

static int min_of(int a, int b)
{
    return a < b ? a : b;
}

/* The optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours. A
 * prefix of the other name counts as one. */
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

/* The dashes that options begin with are no letters of their names. */
static const char *without_dashes(const char *name)
{
    return name + strspn(name, "-");
}

const char *settings_nearest(const char *name, const char *const *names)
{
    const char *best = NULL;
    for (int i = 0; names[i]; i++)
        if (synonym_same(name, names[i]))
            return names[i];
    for (int i = 0; names[i]; i++)
        if (synonym_of(name, names[i]))
            return names[i];
    name = without_dashes(name);
    /* A third of the letters and one more may be wrong; of equally near names, the one nearer in length. */
    int min = (int)(strnlen(name, NEAREST_BYTES) / 3) + 2, longer = 0;
    for (; *names; names++) {
        const char *other = without_dashes(*names);
        if (strlen(name) > NEAREST_BYTES || strlen(other) > NEAREST_BYTES)
            continue;
        int far = distance(name, other), more = abs((int)strlen(other) - (int)strlen(name));
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

/* ---- one setting ---- */

enum { CHOICES = 64 };

/* The names of choices, and of what `stands_for` takes. */
static const char *const *choice_names(const struct setting *setting, const char *names[CHOICES + 1])
{
    int count = 0;
    for (int i = 0; setting->choices[i] && count < CHOICES; i++)
        names[count++] = setting->choices[i];
    for (int i = 0; setting->standing && setting->standing[i] && count < CHOICES; i++)
        names[count++] = setting->standing[i];
    names[count] = NULL;
    return names;
}

/* "a whole number from 1 to 64", "relu, gelu or swiglu", ... */
static void describe_wanted(const struct setting *setting, char wanted[SETTINGS_NAMES_BYTES])
{
    const char *names[CHOICES + 1];
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
        settings_names(choice_names(setting, names), wanted);
        if (setting->describe)
            snprintf(wanted + strlen(wanted), SETTINGS_NAMES_BYTES - strlen(wanted), "%s",
                     setting->stands_for ? ", an object, or a file NAME.json" : ", or an object");
        return;
    case SETTING_TEXT:
    case SETTING_LIST:
        snprintf(wanted, SETTINGS_NAMES_BYTES, "a text of at most %d bytes", SETTING_TEXT_BYTES - 1);
        return;
    case SETTING_OBJECT:
    case SETTING_ARRAY:
        snprintf(wanted, SETTINGS_NAMES_BYTES, "%s or null",
                 setting->type == SETTING_OBJECT ? "an object" : "a list");
        return;
    }
}

int setting_choice(const struct setting *setting, const char *name)
{
    for (int i = 0; setting->choices[i]; i++)
        if (strcmp(setting->choices[i], name) == 0)
            return i;
    return -1;
}

/* Also the index of a choice that is an object. */
static int64_t choice_count(const struct setting *setting)
{
    int64_t count = 0;
    while (setting->choices[count])
        count++;
    return count;
}

bool setting_allows(const struct setting *setting, const struct setting_value *value)
{
    switch (setting->type) {
    case SETTING_INTEGER:
        return (double)value->integer >= setting->min && (double)value->integer <= setting->max;
    case SETTING_REAL:
        return value->real >= setting->min && value->real <= setting->max; /* a NaN is not */
    case SETTING_BOOLEAN:
        return true;
    case SETTING_CHOICE:
        if (setting->describe && value->integer == choice_count(setting))
            return value->json;
        return value->integer >= 0 && value->integer < choice_count(setting);
    case SETTING_TEXT:
    case SETTING_LIST:
        return value->text && strlen(value->text) < SETTING_TEXT_BYTES;
    case SETTING_OBJECT:
        return !value->json || json_is_object(value->json);
    case SETTING_ARRAY:
        return !value->json || json_is_array(value->json);
    }
    return false;
}

rotary_status setting_refuse(const struct setting *setting, const char *where, const char *got,
                             const char *text, rotary_error *error)
{
    char wanted[SETTINGS_NAMES_BYTES] = "", hint[SETTINGS_HINT_BYTES] = "";
    const char *names[CHOICES + 1];
    describe_wanted(setting, wanted);
    if (setting->type == SETTING_CHOICE && text)
        settings_hint(text, choice_names(setting, names), hint);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s%s%s%s is %.82s, wanted %s%s", where ? where : "",
                       where ? ": \"" : "", setting->name, where ? "\"" : "", got, wanted, hint);
}

/* ---- values in JSON ---- */

/* 1e6 is a whole number too. */
static bool read_integer(const json_t *json, int64_t *integer)
{
    if (json_is_integer(json)) {
        *integer = json_integer_value(json);
        return true;
    }
    double real = json_number_value(json);
    bool whole = json_is_real(json) && fabs(real) <= 0x1p53 && real == floor(real);
    *integer = whole ? (int64_t)real : 0;
    return whole;
}

/* False if it is of another type. */
static bool read_value(const struct setting *setting, const json_t *json, struct setting_value *value)
{
    switch (setting->type) {
    case SETTING_INTEGER:
        return read_integer(json, &value->integer);
    case SETTING_REAL:
        value->real = json_number_value(json);
        return json_is_number(json);
    case SETTING_BOOLEAN:
        value->integer = json_is_true(json);
        return json_is_boolean(json);
    case SETTING_CHOICE:
        value->integer = -1;
        if (setting->describe && json_is_object(json)) {
            value->integer = choice_count(setting);
            value->json = json;
            return true;
        }
        if (json_is_string(json))
            value->integer = setting_choice(setting, json_string_value(json));
        else if (json_is_boolean(json)) /* of the choices "true" and "false" */
            value->integer = setting_choice(setting, json_is_true(json) ? "true" : "false");
        return json_is_string(json) || value->integer >= 0;
    case SETTING_TEXT:
        value->text = json_string_value(json);
        return json_is_string(json);
    case SETTING_LIST:
        return false;
    case SETTING_OBJECT:
    case SETTING_ARRAY:
        value->json = json_is_null(json) ? NULL : json;
        return true; /* setting_allows says which it may be */
    }
    return false;
}

/* ---- what members own ---- */

/* The member of a row that is an object or a list; NULL: it is neither. */
static json_t **json_member(const struct setting *setting, void *member)
{
    return setting->type == SETTING_OBJECT || setting->type == SETTING_ARRAY ? (json_t **)member : NULL;
}

/* The member that has the description of a choice; NULL: it has none. */
static struct setting_description **description_member(const struct setting *setting, void *member)
{
    char *structure = (char *)member - setting->offset;
    return setting->describe ? (struct setting_description **)(void *)(structure + setting->description)
                             : NULL;
}

static void share(const struct setting *setting, void *member)
{
    json_t **json = json_member(setting, member);
    struct setting_description **description = description_member(setting, member);
    if (json)
        json_incref(*json);
    if (description && *description)
        atomic_fetch_add(&(*description)->owners, 1);
}

static void release(const struct setting *setting, void *member)
{
    json_t **json = json_member(setting, member);
    struct setting_description **description = description_member(setting, member);
    if (json) {
        json_decref(*json);
        *json = NULL;
    }
    if (description) {
        if (*description && atomic_fetch_sub(&(*description)->owners, 1) == 1)
            (*description)->destroy(*description);
        *description = NULL;
    }
}

void settings_share(const struct settings *settings, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < settings[i].count; j++)
            share(&settings[i].table[j], (char *)settings[i].structure + settings[i].table[j].offset);
}

void settings_free(const struct settings *settings, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < settings[i].count; j++)
            release(&settings[i].table[j], (char *)settings[i].structure + settings[i].table[j].offset);
}

/* ---- members ---- */

/* Also the description of a choice's object, which the member then owns. */
static void store(const struct setting *setting, const struct setting_value *value,
                  struct setting_description *description, void *member)
{
    release(setting, member);
    switch (setting->type) {
    case SETTING_INTEGER:
        *(int64_t *)member = value->integer;
        return;
    case SETTING_REAL:
        *(double *)member = value->real;
        return;
    case SETTING_BOOLEAN:
        *(bool *)member = value->integer != 0;
        return;
    case SETTING_CHOICE:
        *(int *)member = (int)value->integer;
        if (description)
            *description_member(setting, member) = description;
        return;
    case SETTING_TEXT:
        memcpy(member, value->text, strlen(value->text) + 1);
        return;
    case SETTING_OBJECT:
    case SETTING_ARRAY:
        *(json_t **)member = json_deep_copy(value->json); /* nobody else can change it; NULL of NULL */
        return;
    case SETTING_LIST:
        return;
    }
}

static rotary_status refuse_json(const struct setting *setting, const json_t *json, const char *where,
                                 rotary_error *error)
{
    const char *no_double = json_numbers_float(json);
    char *got = no_double ? strdup(no_double)
                : json    ? file_json_text(json, JSON_ENCODE_ANY | JSON_COMPACT)
                          : NULL;
    rotary_status status =
        setting_refuse(setting, where, got ? got : "not printable", json_string_value(json), error);
    free(got);
    return status;
}

/* Stores the value if the row allows it, in nothing if member is NULL. */
static rotary_status take(const struct setting *setting, const json_t *json, void *member, const char *where,
                          rotary_error *error)
{
    struct setting_value value = {0};
    struct setting_description *description = NULL;
    rotary_status status = ROTARY_OK;
    if (!read_value(setting, json, &value) || !setting_allows(setting, &value))
        return refuse_json(setting, json, where, error);
    if (setting->describe && value.json)
        status = setting->describe(json, &description, error);
    if (status != ROTARY_OK)
        return status;
    if (member)
        store(setting, &value, description, member);
    else if (description)
        description->destroy(description);
    return ROTARY_OK;
}

/* ---- tables ---- */

const struct setting *settings_find(const struct settings *settings, int count, const char *name,
                                    size_t length, void **member)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < settings[i].count; j++) {
            const struct setting *setting = &settings[i].table[j];
            if (strlen(setting->name) == length && strncmp(setting->name, name, length) == 0) {
                *member = (char *)settings[i].structure + setting->offset;
                return setting;
            }
        }
    return NULL;
}

const struct setting *settings_suggest(const struct settings *settings, int count, const char *name)
{
    const char *names[MAX_NAMES + 1] = {NULL};
    int known = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < settings[i].count && known < MAX_NAMES; j++)
            names[known++] = settings[i].table[j].name;
    const char *nearest = settings_nearest(name, names);
    void *member;
    return nearest ? settings_find(settings, count, nearest, strlen(nearest), &member) : NULL;
}

static rotary_status fail_key(const struct settings *settings, int count, const char *key, const char *where,
                              rotary_error *error)
{
    const struct setting *nearest = settings_suggest(settings, count, key);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: there is no key \"%.80s\"%s%s%s", where, key,
                       nearest ? "; did you mean \"" : "", nearest ? nearest->name : "",
                       nearest ? "\"?" : "");
}

rotary_status settings_read(const struct settings *settings, int count, const json_t *object,
                            const char *where, rotary_error *error)
{
    json_t *entries = (json_t *)(uintptr_t)object; /* jansson cannot iterate over a const object */
    const char *key;
    json_t *value;
    /* Everything is checked before anything is set. */
    for (int pass = 0; pass < 2; pass++) {
        json_object_foreach (entries, key, value) {
            void *member;
            const struct setting *setting = settings_find(settings, count, key, strlen(key), &member);
            if (!setting)
                return fail_key(settings, count, key, where, error);
            rotary_status status = take(setting, value, pass == 0 ? NULL : member, where, error);
            if (status != ROTARY_OK)
                return status;
        }
    }
    return ROTARY_OK;
}

/* The JSON that a text stands for, which the caller releases. */
static rotary_status parse(const struct setting *setting, const char *where, const char *text, json_t **value,
                           rotary_error *error)
{
    const bool words = setting->type == SETTING_CHOICE || setting->type == SETTING_TEXT,
               json = !words || text[0] == '"' || (setting->describe && text[0] == '{');
    if (setting->stands_for && !json)
        return setting->stands_for(text, value, error);
    json_t *made = json ? json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (!made && (setting->type == SETTING_REAL || setting->type == SETTING_INTEGER)) {
        char *end;
        double number = strtod(text, &end);
        if (end != text && *end == 0)
            made = json_real(number); /* NULL for infinities and NaN */
    }
    *value = made ? made : json_string(text);
    return *value ? ROTARY_OK
                  : rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: the value of \"%s\" is not UTF-8 text",
                                where, setting->name);
}

rotary_status settings_set(const struct settings *settings, int count, const char *where, const char *key,
                           const char *text, rotary_error *error)
{
    void *member = NULL;
    const struct setting *setting = settings_find(settings, count, key, strlen(key), &member);
    json_t *value = NULL;
    if (!setting)
        return fail_key(settings, count, key, where, error);
    rotary_status status = parse(setting, where, text, &value, error);
    if (status == ROTARY_OK)
        status = take(setting, value, member, where, error);
    json_decref(value);
    return status;
}

rotary_status settings_assign(const struct settings *settings, int count, const char *assignment,
                              rotary_error *error)
{
    const char *equals = strchr(assignment, '=');
    if (equals == assignment)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--set: \"%.80s\" is not key=value", assignment);
    if (!equals)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--set: \"%.80s\" is not key=value, wanted %.*s=%.80s", assignment,
                           (int)strcspn(assignment, ":"), assignment,
                           assignment[strcspn(assignment, ":")] ? strchr(assignment, ':') + 1 : "VALUE");
    char *key = strndup(assignment, (size_t)(equals - assignment));
    if (!key)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "--set: no memory");
    rotary_status status = settings_set(settings, count, "--set", key, equals + 1, error);
    free(key);
    return status;
}

void settings_assigned_key(char key[SETTING_TEXT_BYTES], const char *assignment)
{
    snprintf(key, SETTING_TEXT_BYTES, "%.*s", (int)strcspn(assignment, "="), assignment);
}

/* The object of a choice that is none of the names. */
static json_t *description_json(const struct setting *setting, void *member)
{
    struct setting_description **description = description_member(setting, member);
    return description && *description ? json_deep_copy((*description)->json) : json_null();
}

static json_t *member_value(const struct setting *setting, void *member)
{
    switch (setting->type) {
    case SETTING_INTEGER:
        return json_integer(*(const int64_t *)member);
    case SETTING_REAL:
        return json_real(*(const double *)member);
    case SETTING_BOOLEAN:
        return json_boolean(*(const bool *)member);
    case SETTING_CHOICE:
        if (!setting->choices[*(const int *)member])
            return description_json(setting, member);
        return json_string(setting->choices[*(const int *)member]);
    case SETTING_TEXT:
        return json_string(member);
    case SETTING_LIST:
        return NULL;
    case SETTING_OBJECT:
    case SETTING_ARRAY:
        return *(json_t **)member ? json_deep_copy(*(json_t **)member) : json_null();
    }
    return NULL;
}

rotary_status settings_write(const struct settings *settings, int count, json_t *object, rotary_error *error)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < settings[i].count; j++) {
            const struct setting *setting = &settings[i].table[j];
            json_t *value = member_value(setting, (char *)settings[i].structure + setting->offset);
            if (!value || json_object_set_new(object, setting->name, value) != 0)
                return rotary_fail(error, ROTARY_OUT_OF_MEMORY,
                                   "\"%s\" cannot be written: no memory, or a text that is not UTF-8",
                                   setting->name);
        }
    return ROTARY_OK;
}

static struct setting_value load_choice(const struct setting *setting, void *member)
{
    struct setting_value value = {.integer = *(const int *)member};
    struct setting_description **description = description_member(setting, member);
    if (description && *description)
        value.json = (*description)->json;
    return value;
}

/* The value of a member. The text is NULL if it has no end. */
static struct setting_value load(const struct setting *setting, void *member)
{
    switch (setting->type) {
    case SETTING_INTEGER:
        return (struct setting_value){.integer = *(const int64_t *)member};
    case SETTING_REAL:
        return (struct setting_value){.real = *(const double *)member};
    case SETTING_BOOLEAN:
        return (struct setting_value){.integer = *(const bool *)member};
    case SETTING_CHOICE:
        return load_choice(setting, member);
    case SETTING_TEXT:
        return (struct setting_value){.text = memchr(member, 0, SETTING_TEXT_BYTES) ? member : NULL};
    case SETTING_OBJECT:
    case SETTING_ARRAY:
        return (struct setting_value){.json = *(json_t **)member};
    case SETTING_LIST:
        break;
    }
    return (struct setting_value){0};
}

static rotary_status check_member(const struct setting *setting, void *member, const char *where,
                                  rotary_error *error)
{
    const struct setting_value value = load(setting, member);
    if (setting_allows(setting, &value))
        return ROTARY_OK;
    json_t *json = NULL; /* also of an infinity and a NaN */
    if (setting->type == SETTING_CHOICE)
        json = json_integer(value.integer);
    else if (setting->type != SETTING_TEXT)
        json = member_value(setting, member);
    rotary_status status = refuse_json(setting, json, where, error);
    json_decref(json);
    return status;
}

rotary_status settings_check(const struct settings *settings, int count, const char *where,
                             rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < settings[i].count && status == ROTARY_OK; j++) {
            const struct setting *setting = &settings[i].table[j];
            status = check_member(setting, (char *)settings[i].structure + setting->offset, where, error);
        }
    return status;
}
