/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines. The options of a command are a struct and a table of settings, as a configuration is; the
 * table is used to read the command line and to print the help.
 */
#ifndef ROTARY_CLI_ARGUMENTS_H
#define ROTARY_CLI_ARGUMENTS_H

#include "config/settings.h"

/* Members for options, which record whether the option was given. A row's member is, by its type:
 * SETTING_INTEGER and SETTING_CHOICE (the index), struct option_integer; SETTING_REAL, struct option_real;
 * SETTING_BOOLEAN, a flag without a value, bool; SETTING_TEXT, const char *, NULL if not given; SETTING_LIST,
 * which may be given again, struct option_list. */
struct option_integer {
    bool given;
    int64_t value;
};
struct option_real {
    bool given;
    double value;
};
enum { OPTION_LIST_ITEMS = 128 };
struct option_list {
    int count;
    const char *items[OPTION_LIST_ITEMS + 1]; /* NULL after the last */
};

/* Rows that several commands have, and the offset of their struct in a command's own struct. */
struct option_table {
    const struct setting *rows;
    int count;
    size_t offset;
};

/* Arguments that are no options, in order. `items` has room for all arguments. */
struct operands {
    int count;
    const char **items;
};

/* A command line, and the structs it is read into, which must be zero before. */
struct command;
struct command_line {
    const struct settings *settings;
    int setting_count, count;
    const char *const *arguments; /* [count] */
    const struct command *const
        *commands; /* NULL-terminated: which others have an option; NULL: there are none */
};

/* Reads "--steps 5", "--steps=5", "--json", "-h" for "--help", and
 * "--out" for "--output" and the other way round; "--" ends the options. What is wrong is
 * ROTARY_INVALID_ARGUMENT, and *about is then the option it is about, or NULL. Texts are borrowed from the
 * arguments. */
ROTARY_CHECKED rotary_status arguments_parse(const struct command_line *line, struct operands *operands,
                                             const struct setting **about, rotary_error *error);

#endif
