/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hint/unknown_option.h"

#include "base/fail.h"
#include "cli/command.h"
#include "config/synonyms.h"
#include "train/run.h"

#include <stdio.h>
#include <string.h>

/* Options of other programs that are no option here. */
static const struct {
    const char *names, *advice;
} advices[] = {
    {"gpu cuda use_cuda", "wanted --device cuda, of commands that train or run a model"},
    {"fp16 bf16 half amp", "wanted --precision bf16"},
    {"fp32", "wanted --precision f32"},
    {"v verbose debug", "progress is always shown, and rotary --version prints the version"},
    {"q quiet silent", "progress goes to the standard error output, and 2>/dev/null hides it"},
    {"resume_from resume_from_checkpoint continue", "wanted --resume, with the run's folder in --out DIR"},
    {"f force overwrite", "no run is overwritten: wanted another folder"},
    {"version", "wanted rotary --version"},
};
enum { ADVICES = sizeof advices / sizeof advices[0] };

static const char *advice_of(const char *name)
{
    for (int i = 0; i < ADVICES; i++)
        if (synonym_listed(name, advices[i].names))
            return advices[i].advice;
    return NULL;
}

static bool has_option(const struct settings *sets, int count, const char *name)
{
    void *member;
    return settings_find(sets, count, name, strlen(name), &member) != NULL;
}

/* The command of a list, or of a group in it, that has an option; NULL: none has. */
static const struct command *find_owner(const struct command *const *list, const char *option)
{
    for (; list && *list; list++) {
        struct settings sets[COMMAND_MAX_SETS];
        const int count = command_option_sets(*list, NULL, NULL, sets);
        const struct command *below = find_owner((*list)->below, option);
        if (below || has_option(sets, count, option))
            return below ? below : *list;
    }
    return NULL;
}

/* Whether the command takes every key of the configuration by --set. */
static bool takes_keys(const struct command_line *line)
{
    for (int i = 0; i < line->setting_count; i++)
        if (line->settings[i].table == configuration_options)
            return true;
    return false;
}

/* The row of a key's table, which outlives the configuration. */
static const struct setting *nearest_key(const struct command_line *line, const char *name)
{
    struct run_config config;
    struct settings settings[RUN_SETTINGS];
    if (!takes_keys(line))
        return NULL;
    run_config_default(&config);
    run_settings(&config, settings);
    return settings_suggest(settings, RUN_SETTINGS, name);
}

static rotary_status fail_key(const struct unknown_option *option, const struct setting *key,
                              rotary_error *error)
{
    const char *value = option->value ? option->value : "VALUE";
    const bool several = strchr(value, ',') && key->type != SETTING_TEXT && key->type != SETTING_ARRAY &&
                         has_option(option->line->settings, option->line->setting_count, "--vary");
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "there is no option %.80s, but a key of the configuration: wanted %s %s=%.80s",
                       option->name, several ? "--vary" : "--set", key->name, value);
}

static rotary_status fail_own(const struct unknown_option *option, const struct setting *own,
                              rotary_error *error)
{
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no option %.80s; did you mean %s?",
                       option->name, own->name);
}

rotary_status unknown_option_fail(const struct unknown_option *option, const struct setting **about,
                                  rotary_error *error)
{
    const struct command_line *line = option->line;
    const struct setting *own = settings_suggest(line->settings, line->setting_count, option->name),
                         *key = nearest_key(line, option->name);
    const struct command *owner = find_owner(line->commands, option->name);
    const char *advice = advice_of(option->name);
    const bool own_same = own && synonym_of(option->name, own->name),
               key_same = key && synonym_of(option->name, key->name);
    if (own_same || (own && !advice && !key_same && !owner)) {
        *about = own;
        return fail_own(option, own, error);
    }
    if (advice)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no option %.80s: %s", option->name,
                           advice);
    if (key_same || (key && !owner)) {
        *about = key;
        return fail_key(option, key, error);
    }
    if (owner)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "there is no option %.80s here, but rotary %s has it", option->name, owner->name);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no option %.80s", option->name);
}
