/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of an option that a command has not: it may be mistyped, a key of the configuration, an option of another
 * command, or one that other programs have.
 */
#ifndef ROTARY_CLI_HINT_UNKNOWN_OPTION_H
#define ROTARY_CLI_HINT_UNKNOWN_OPTION_H

#include "cli/arguments.h"

struct unknown_option {
    const struct command_line *line;
    const char *name;  /* "--lr" */
    const char *value; /* "1e-3"; NULL: none was given */
};

/* ROTARY_INVALID_ARGUMENT; *about: the option or the key that is suggested, or NULL. */
ROTARY_CHECKED rotary_status unknown_option_fail(const struct unknown_option *option,
                                                 const struct setting **about, rotary_error *error);

#endif
