/* SPDX-License-Identifier: Apache-2.0
 *
 * Help, printed from the tables of commands and options.
 */
#ifndef ROTARY_CLI_HELP_H
#define ROTARY_CLI_HELP_H

#include "cli/command.h"

#include <stdio.h>

enum { HELP_OPTION_COLUMN = 27 };

/* What the program is and which commands it has. */
void help_overview(FILE *file, const struct command *const *commands);
/* Usage, options with their defaults, a worked example. */
void help_command(FILE *file, const struct command *command);
/* The line or lines of help of one option. */
void help_option(FILE *file, const struct setting *option);

/* The text with the names of all encodings and tasks in place of {positions} and {tasks}, "a, b or c"; the caller frees it. NULL
 * without memory. */
char *help_written(const char *text);
/* Prints `text`, broken between words, with its lines at `column`, where the cursor is, with names as
 * help_written has them. */
void help_text(FILE *file, const char *text, int column);
/* "  left    right", with `right` at `column`. */
void help_row(FILE *file, const char *left, const char *right, int column);

#endif
