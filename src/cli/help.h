/* SPDX-License-Identifier: Apache-2.0
 *
 * Help, made from the tables of commands, options and settings.
 */
#ifndef ROTARY_CLI_HELP_H
#define ROTARY_CLI_HELP_H

#include "cli/command.h"
#include "file/settings.h"

#include <stdio.h>

/* What the program is and which commands it has. */
void help_overview(FILE *file);
/* Usage, options with their defaults, a worked example. */
void help_command(FILE *file, const struct command *command);
/* The line or lines of help of one option. */
void help_option(FILE *file, const struct setting *option);
/* The command of that name, "rope" below `group` "bench"; below nothing if group is NULL. NULL if there is
 * none. */
const struct command *help_find(const struct command *group, const char *name);
/* "; did you mean \"rope\"?": the command nearest to `name`, likewise. Returns `hint`. */
const char *help_hint(const struct command *group, const char *name, char hint[SETTINGS_HINT_BYTES]);

#endif
