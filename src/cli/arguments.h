/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines. As a configuration is a struct and a table of settings, what a command is asked is a struct
 * and a table of options; the table reads the command line and makes the help.
 */
#ifndef ROTARY_CLI_ARGUMENTS_H
#define ROTARY_CLI_ARGUMENTS_H

#include <rotary/status.h>

enum option_type {
    OPTION_FLAG,    /* bool */
    OPTION_TEXT,    /* const char *; NULL: not given */
    OPTION_INTEGER, /* struct option_integer */
    OPTION_REAL,    /* struct option_real */
    OPTION_CHOICE,  /* struct option_integer: index into `choices` */
    OPTION_LIST,    /* struct option_list: may be given again */
};

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
    const char *items[OPTION_LIST_ITEMS + 1]; /* NULL behind the last */
};

struct option {
    const char *name; /* "--steps" */
    enum option_type type;
    const char *value;          /* what help calls the value: "N"; NULL for a flag */
    size_t offset;              /* of the member */
    double min, max;            /* of numbers, inclusive */
    const char *const *choices; /* NULL-terminated, of a choice */
    const char *help;           /* what it does and what holds without it */
};

/* Rows that several commands have, and where in a command's own struct their struct stands. */
struct option_table {
    const struct option *rows;
    int count;
    size_t offset;
};

/* A table and the struct it fills, which must be zero before. A command line is read by a few of these. */
struct option_set {
    const struct option *table;
    int count;
    void *structure;
};

/* Arguments that are no options, in order. `items` has room for all arguments. */
struct operands {
    int count;
    const char **items;
};

/* Reads `count` arguments: "--steps 5", "--steps=5", "--json", "-h" for "--help"; "--" ends the options. What
 * is wrong is ROTARY_INVALID_ARGUMENT, and *about is then the option it is about, or NULL. Texts are borrowed
 * from the arguments. */
ROTARY_CHECKED rotary_status arguments_parse(const struct option_set *sets, int set_count, int count,
                                             const char *const *arguments, struct operands *operands,
                                             const struct option **about, rotary_error *error);

#endif
