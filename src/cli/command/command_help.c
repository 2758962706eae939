/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary help: the commands, one of them, the keys of a configuration, one of them, the presets, or one of them.
 */
#include "base/fail.h"
#include "cli/help.h"
#include "cli/help_settings.h"
#include "cli/hint/word_hint.h"
#include "config/synonyms.h"

#include <stdio.h>
#include <string.h>

static const char *const topics_of_help[] = {"settings", "presets", NULL};

/* The command whose name another program's stands for; NULL: there is none. */
static const char *find_synonym(const struct command *const *list, const char *name)
{
    for (; *list; list++)
        if (synonym_of(name, (*list)->name))
            return (*list)->name;
    return NULL;
}

static enum exit_status refuse_topic(const struct invocation *invocation, const char *topic,
                                     const char *nearest)
{
    rotary_error error = {0};
    char hint[WORD_HINT_BYTES];
    const char *other = settings_nearest(topic, topics_of_help);
    if (!other)
        other = find_synonym(invocation->commands, topic);
    if (!other)
        other = nearest;
    if (!*word_hint(topic, hint) && strchr(topic, '/'))
        snprintf(hint, sizeof hint, "; the presets are in rotary help presets");
    if (!*hint && !other)
        return command_unknown(invocation->commands, NULL, topic);
    if (!*hint)
        snprintf(hint, sizeof hint, "; did you mean \"%s\"?", other);
    (void)!rotary_fail(&error, ROTARY_INVALID_ARGUMENT, "there is no command and no key \"%.80s\"%s", topic,
                       hint);
    return command_refuse(invocation, &error);
}

/* What is no command is a preset or a key, or near to the name of one of them. */
static enum exit_status show_topic(const struct invocation *invocation, const char *topic)
{
    rotary_error error = {0};
    bool found;
    const char *nearest = NULL;
    rotary_status status = help_preset(topic, &found, &error);
    if (status == ROTARY_OK && !found)
        status = help_key(topic, &found, &nearest, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    return found ? EXIT_DONE : refuse_topic(invocation, topic, nearest);
}

static enum exit_status show_list(const struct invocation *invocation, bool of_presets)
{
    rotary_error error = {0};
    const struct operands *topics = &invocation->operands;
    if (topics->count == 1)
        return (of_presets ? help_presets(&error) : help_settings(&error)) == ROTARY_OK
                   ? EXIT_DONE
                   : command_fail(&error);
    (void)!rotary_fail(&error, ROTARY_INVALID_ARGUMENT,
                       "help %s takes no \"%.80s\": wanted rotary help %s, or rotary help %s for one of them",
                       topics->items[0], topics->items[1], topics->items[0],
                       of_presets ? "TASK/NAME" : "KEY");
    return command_refuse(invocation, &error);
}

static enum exit_status run(const struct invocation *invocation)
{
    const int count = invocation->operands.count;
    if (count == 0) {
        help_overview(stdout, invocation->commands);
        return EXIT_DONE;
    }
    const char *const *topics = invocation->operands.items;
    for (int i = 0; topics_of_help[i]; i++)
        if (strcmp(topics[0], topics_of_help[i]) == 0)
            return show_list(invocation, i == 1);
    const struct command *const *list = invocation->commands;
    const struct command *command = NULL;
    for (int i = 0; i < count; i++) {
        static const struct command *const nothing[] = {NULL};
        const char *group = command ? command->name : NULL;
        command = command_find(list, topics[i]);
        if (!command)
            return count == 1 ? show_topic(invocation, topics[0]) : command_unknown(list, group, topics[i]);
        list = command->below ? command->below : nothing;
    }
    help_command(stdout, command);
    return EXIT_DONE;
}

const struct command command_help = {
    .name = "help",
    .operands = "[COMMAND...]",
    .summary = "shows what a command, a key of a configuration or a preset is",
    .more = "rotary help settings lists every key of a configuration, rotary help KEY says what one of them "
            "is, rotary help presets lists the configurations that come with the program, and rotary help "
            "TASK/NAME shows one of them.",
    .example = "rotary help learning_rate\n"
               "shows what the key is, and what the presets set it to",
    .max_operands = 2,
    .run = run,
};
