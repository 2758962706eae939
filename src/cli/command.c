/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include "base/fail.h"
#include "cli/hint/word_hint.h"
#include "config/synonyms.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 32 };

const char *command_last_word(const struct command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

const struct command *command_find(const struct command *const *list, const char *name)
{
    for (; *list; list++)
        if (strcmp(command_last_word(*list), name) == 0)
            return *list;
    return NULL;
}

enum exit_status command_fail(const rotary_error *error)
{
    fprintf(stderr, "rotary: %s\n", error->message);
    return error->status == ROTARY_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_FAILED;
}

enum exit_status command_refuse(const struct invocation *invocation, const rotary_error *error)
{
    if (error->status != ROTARY_INVALID_ARGUMENT)
        return command_fail(error);
    bool setting = strncmp(error->message, "--set", 5) == 0;
    fprintf(stderr, "rotary: %s\n(see rotary help %s)\n", error->message,
            setting ? "settings" : invocation->command->name);
    return EXIT_USAGE;
}

enum exit_status command_unknown(const struct command *const *list, const char *group, const char *name)
{
    const char *names[MAX_NAMES + 1] = {NULL}, *space = group ? " " : "";
    for (int i = 0; list[i] && i < MAX_NAMES; i++)
        names[i] = command_last_word(list[i]);
    char hint[SETTINGS_HINT_BYTES], known[SETTINGS_NAMES_BYTES], what[WORD_HINT_BYTES];
    rotary_error error; /* as all messages do, it shows no control characters of what was typed */
    if (!names[0])
        snprintf(hint, sizeof hint, ": %.40s has no commands below it", group);
    else if (!*settings_hint(name, names, hint) && group)
        snprintf(hint, sizeof hint, ", wanted %.80s", settings_names(names, known));
    (void)!rotary_fail(&error, ROTARY_INVALID_ARGUMENT, "there is no command \"%s%s%.80s\"%s",
                       group ? group : "", space, name,
                       synonym_same(name, "version")        ? "; wanted rotary --version"
                       : name[0] == '-'                     ? "; the command comes before its options"
                       : names[0] && *word_hint(name, what) ? what
                                                            : hint);
    fprintf(stderr, "rotary: %s\n(see rotary help%s%s)\n", error.message, space, group ? group : "");
    return EXIT_USAGE;
}
