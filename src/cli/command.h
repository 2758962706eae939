/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command is. Each is one file, command_*.c, that ends in its row; main.c has the table of them.
 *
 * A command first plans (reads what it was asked into something checked) and then does it. What is wrong
 * while planning is wrong usage and exits with 2; what fails later exits with 1.
 */
#ifndef ROTARY_CLI_COMMAND_H
#define ROTARY_CLI_COMMAND_H

#include "cli/arguments.h"

#include <stdatomic.h>

enum exit_status {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_INTERRUPTED = 130, /* as a shell reports a program that Ctrl-C ended */
};

/* Options that mean the same in every command. */
struct common_options {
    struct option_integer threads, isa, precision, seed;
    bool json, help;
};

struct invocation {
    const struct command *command;
    struct common_options common;
    const void *options;            /* the command's own struct */
    struct operands operands;       /* as many as the command takes */
    const char *command_line;       /* as a shell would read it */
    const atomic_bool *interrupted; /* Ctrl-C was pressed */
};

struct command {
    const char *name;
    const char *operands; /* after the name in its usage: "DIR..." */
    const char *summary;  /* one line, without a full stop */
    const char *more;     /* paragraphs of help; NULL: none */
    const char *example;  /* one worked example: command and what it does, lines */
    const struct option *options;
    int option_count;
    size_t options_size;               /* of its own struct */
    int least_operands, most_operands; /* most -1: any number */
    enum exit_status (*run)(const struct invocation *invocation);
};

extern const struct command *const commands[]; /* NULL-terminated, in the order of `rotary help` */
extern const struct command command_compare, command_train, command_evaluate, command_generate,
    command_report, command_frequencies, command_apply, command_attend, command_decay, command_permute,
    command_bench, command_info, command_help;

/* The options every command has. */
extern const struct option common_options[];
extern const int common_option_count;

/* Says on stderr what was wrong and where the help that mends it is; gives the exit status. */
enum exit_status command_refuse(const struct invocation *invocation, const rotary_error *error);
/* Says that there is no such command, and which is nearest. */
enum exit_status command_unknown(const char *name);
/* Says on stderr what went wrong; gives the exit status. */
enum exit_status command_fail(const rotary_error *error);

#endif
