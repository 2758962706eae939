/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/arguments.h"

#include "base/fail.h"
#include "cli/hint/unknown_option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 80 };

/* ---- values ---- */

/* False if the text is of another type. */
static bool read_value(const struct setting *option, const char *text, struct setting_value *value)
{
    char *end = NULL;
    errno = 0;
    switch (option->type) {
    case SETTING_INTEGER:
        value->integer = strtoll(text, &end, 10);
        return end != text && *end == 0 && errno == 0;
    case SETTING_REAL:
        value->real = strtod(text, &end);
        return end != text && *end == 0;
    case SETTING_CHOICE:
        value->integer = setting_choice(option, text);
        return value->integer >= 0;
    case SETTING_BOOLEAN:
    case SETTING_TEXT:
    case SETTING_LIST:
    case SETTING_OBJECT:
    case SETTING_ARRAY:
        break;
    }
    return false;
}

static rotary_status take_number(const struct setting *option, const char *text, void *member,
                                 rotary_error *error)
{
    struct setting_value value = {0};
    if (!read_value(option, text, &value) || !setting_allows(option, &value)) {
        char got[NAME_BYTES + 3];
        snprintf(got, sizeof got, "\"%.80s\"", text);
        return setting_refuse(option, NULL, got, text, error);
    }
    if (option->type == SETTING_REAL)
        *(struct option_real *)member = (struct option_real){.given = true, .value = value.real};
    else
        *(struct option_integer *)member = (struct option_integer){.given = true, .value = value.integer};
    return ROTARY_OK;
}

/* Whether an option that has one value has it already. */
static bool is_taken(const struct setting *option, const void *member)
{
    switch (option->type) {
    case SETTING_TEXT:
        return *(const char *const *)member;
    case SETTING_INTEGER:
    case SETTING_CHOICE:
        return ((const struct option_integer *)member)->given;
    case SETTING_REAL:
        return ((const struct option_real *)member)->given;
    case SETTING_BOOLEAN: /* twice is once */
    case SETTING_LIST:
    case SETTING_OBJECT:
    case SETTING_ARRAY:
        break;
    }
    return false;
}

static rotary_status take(const struct setting *option, const char *text, void *member, rotary_error *error)
{
    if (is_taken(option, member))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is given twice, the second time as \"%.80s\": wanted one value", option->name,
                           text);
    switch (option->type) {
    case SETTING_BOOLEAN:
        *(bool *)member = true;
        return ROTARY_OK;
    case SETTING_TEXT:
        *(const char **)member = text;
        return ROTARY_OK;
    case SETTING_INTEGER:
    case SETTING_REAL:
    case SETTING_CHOICE:
        return take_number(option, text, member, error);
    case SETTING_LIST: {
        struct option_list *list = member;
        if (list->count == OPTION_LIST_ITEMS)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is given more than %d times", option->name,
                               OPTION_LIST_ITEMS);
        list->items[list->count++] = text;
        return ROTARY_OK;
    }
    case SETTING_OBJECT: /* of configurations only */
    case SETTING_ARRAY:
        break;
    }
    return ROTARY_OK;
}

/* ---- the line ---- */

/* Other programs have --out or --output, so whoever types the one that a command has not means the other. */
static const char *other_name(const char *name, size_t length)
{
    static const char out[] = "--out", output[] = "--output";
    return length == strlen(out) && strncmp(name, out, length) == 0         ? output
           : length == strlen(output) && strncmp(name, output, length) == 0 ? out
                                                                            : NULL;
}

static const struct setting *find(const struct command_line *line, const char *name, size_t length,
                                  void **member)
{
    const struct setting *option = settings_find(line->settings, line->setting_count, name, length, member);
    const char *other = option ? NULL : other_name(name, length);
    return other ? settings_find(line->settings, line->setting_count, other, strlen(other), member) : option;
}

static rotary_status fail_unknown(const struct command_line *line, int at, size_t length,
                                  const struct setting **about, rotary_error *error)
{
    char asked[NAME_BYTES];
    const char *argument = line->arguments[at], *next = at + 1 < line->count ? line->arguments[at + 1] : "-";
    snprintf(asked, sizeof asked, "%.*s", (int)(length < NAME_BYTES ? length : NAME_BYTES - 1), argument);
    const struct unknown_option unknown = {.line = line,
                                           .name = asked,
                                           .value = argument[length] == '=' ? argument + length + 1
                                                    : next[0] != '-'        ? next
                                                                            : NULL};
    return unknown_option_fail(&unknown, about, error);
}

/* Reads the option at arguments[*at], and its value, which may be the next argument. */
static rotary_status read_option(const struct command_line *line, int *at, const struct setting **about,
                                 rotary_error *error)
{
    const char *argument = strcmp(line->arguments[*at], "-h") == 0 ? "--help" : line->arguments[*at];
    const char *equals = strchr(argument, '=');
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    void *member;
    const struct setting *option = find(line, argument, length, &member);
    *about = option;
    if (!option)
        return fail_unknown(line, *at, length, about, error);
    if (option->type == SETTING_BOOLEAN) {
        if (equals)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s takes no value, but got \"%.80s\"",
                               option->name, equals + 1);
        return take(option, NULL, member, error);
    }
    if (equals)
        return take(option, equals + 1, member, error);
    if (*at + 1 == line->count)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s wants a value: %s %s", option->name,
                           option->name, option->metavar);
    const char *next = line->arguments[++*at];
    void *other;
    if (find(line, next, strcspn(next, "="), &other))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s wants a value, but is followed by the option %.80s (if that is the value, write %s=%.80s)",
            option->name, next, option->name, next);
    return take(option, next, member, error);
}

rotary_status arguments_parse(const struct command_line *line, struct operands *operands,
                              const struct setting **about, rotary_error *error)
{
    *about = NULL;
    operands->count = 0;
    bool options = true;
    for (int i = 0; i < line->count; i++) {
        const char *argument = line->arguments[i];
        if (options && strcmp(argument, "--") == 0) {
            options = false;
            continue;
        }
        if (!options || argument[0] != '-' || argument[1] == 0) {
            operands->items[operands->count++] = argument;
            continue;
        }
        rotary_status status = read_option(line, &i, about, error);
        if (status != ROTARY_OK)
            return status;
    }
    return ROTARY_OK;
}
