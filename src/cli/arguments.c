/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/arguments.h"

#include "base/fail.h"
#include "file/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 64 };

/* The option that the first `length` bytes of `name` name, and the member it fills. */
static const struct option *find(const struct option_set *sets, int set_count, const char *name,
                                 size_t length, void **member)
{
    for (int i = 0; i < set_count; i++)
        for (int j = 0; j < sets[i].count; j++) {
            const struct option *option = &sets[i].table[j];
            if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) {
                *member = (char *)sets[i].structure + option->offset;
                return option;
            }
        }
    return NULL;
}

static rotary_status fail_unknown(const struct option_set *sets, int set_count, const char *name,
                                  size_t length, const struct option **about, rotary_error *error)
{
    const char *names[MAX_OPTIONS + 1] = {NULL};
    int known = 0;
    for (int i = 0; i < set_count; i++)
        for (int j = 0; j < sets[i].count && known < MAX_OPTIONS; j++)
            names[known++] = sets[i].table[j].name;
    char asked[80];
    snprintf(asked, sizeof asked, "%.*s", (int)(length < 79 ? length : 79), name);
    const char *nearest = settings_nearest(asked, names);
    void *member;
    *about = nearest ? find(sets, set_count, nearest, strlen(nearest), &member) : NULL;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no option %s%s%s%s", asked,
                       nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static rotary_status take_integer(const struct option *option, const char *text,
                                  struct option_integer *integer, rotary_error *error)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != 0 || errno != 0 || (double)value < option->min || (double)value > option->max)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is \"%.80s\", wanted a whole number from %.0f to %.0f", option->name, text,
                           option->min, option->max);
    *integer = (struct option_integer){.given = true, .value = value};
    return ROTARY_OK;
}

static rotary_status take_real(const struct option *option, const char *text, struct option_real *real,
                               rotary_error *error)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != 0 || !(value >= option->min && value <= option->max))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is \"%.80s\", wanted a number from %g to %g",
                           option->name, text, option->min, option->max);
    *real = (struct option_real){.given = true, .value = value};
    return ROTARY_OK;
}

static rotary_status take_choice(const struct option *option, const char *text, struct option_integer *choice,
                                 rotary_error *error)
{
    for (int i = 0; option->choices[i]; i++)
        if (strcmp(option->choices[i], text) == 0) {
            *choice = (struct option_integer){.given = true, .value = i};
            return ROTARY_OK;
        }
    char names[SETTINGS_NAMES_BYTES], hint[SETTINGS_HINT_BYTES];
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is \"%.80s\", wanted %s%s", option->name, text,
                       settings_names(option->choices, names), settings_hint(text, option->choices, hint));
}

static rotary_status take(const struct option *option, const char *text, void *member, rotary_error *error)
{
    switch (option->type) {
    case OPTION_FLAG:
        *(bool *)member = true;
        return ROTARY_OK;
    case OPTION_TEXT:
        *(const char **)member = text;
        return ROTARY_OK;
    case OPTION_INTEGER:
        return take_integer(option, text, member, error);
    case OPTION_REAL:
        return take_real(option, text, member, error);
    case OPTION_CHOICE:
        return take_choice(option, text, member, error);
    case OPTION_LIST: {
        struct option_list *list = member;
        if (list->count == OPTION_LIST_ITEMS)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is given more than %d times", option->name,
                               OPTION_LIST_ITEMS);
        list->items[list->count++] = text;
        return ROTARY_OK;
    }
    }
    return ROTARY_OK;
}

/* Reads the option at arguments[*at], and its value, which may be the next argument. */
static rotary_status read_option(const struct option_set *sets, int set_count, int count,
                                 const char *const *arguments, int *at, const struct option **about,
                                 rotary_error *error)
{
    const char *argument = strcmp(arguments[*at], "-h") == 0 ? "--help" : arguments[*at];
    const char *equals = strchr(argument, '=');
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    void *member;
    const struct option *option = find(sets, set_count, argument, length, &member);
    if (!option)
        return fail_unknown(sets, set_count, argument, length, about, error);
    *about = option;
    if (option->type == OPTION_FLAG) {
        if (equals)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s takes no value, but got \"%.80s\"",
                               option->name, equals + 1);
        return take(option, NULL, member, error);
    }
    if (equals)
        return take(option, equals + 1, member, error);
    if (*at + 1 == count)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s wants a value: %s %s", option->name,
                           option->name, option->value);
    const char *next = arguments[++*at];
    void *other;
    if (find(sets, set_count, next, strcspn(next, "="), &other))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s wants a value, but is followed by the option %.80s (if that is the value, write %s=%.80s)",
            option->name, next, option->name, next);
    return take(option, next, member, error);
}

rotary_status arguments_parse(const struct option_set *sets, int set_count, int count,
                              const char *const *arguments, struct operands *operands,
                              const struct option **about, rotary_error *error)
{
    *about = NULL;
    operands->count = 0;
    bool options = true;
    for (int i = 0; i < count; i++) {
        if (options && strcmp(arguments[i], "--") == 0) {
            options = false;
            continue;
        }
        if (!options || arguments[i][0] != '-' || arguments[i][1] == 0) {
            operands->items[operands->count++] = arguments[i];
            continue;
        }
        rotary_status status = read_option(sets, set_count, count, arguments, &i, about, error);
        if (status != ROTARY_OK)
            return status;
    }
    return ROTARY_OK;
}
