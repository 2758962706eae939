/* SPDX-License-Identifier: Apache-2.0
 *
 * Help, made from the tables of commands, options and settings.
 */
#ifndef ROTARY_CLI_HELP_H
#define ROTARY_CLI_HELP_H

#include "cli/command.h"

#include <stdio.h>

/* What the program is and which commands it has. */
void help_overview(FILE *file);
/* Usage, options with their defaults, a worked example. */
void help_command(FILE *file, const struct command *command);
/* The line or lines of help of one option. */
void help_option(FILE *file, const struct option *option);
/* The command of that name; NULL if there is none. */
const struct command *help_find(const char *name);
/* The name of a command or a topic of help nearest to `name`; NULL if none is near. */
const char *help_nearest(const char *name);

#endif
