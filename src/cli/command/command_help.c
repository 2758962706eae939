/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary help: the commands, one of them, or the keys of a configuration.
 */
#include "cli/help.h"
#include "file/file.h"
#include "train/run.h"

#include <stdlib.h>
#include <string.h>

/* What a setting may be: "1 ... 64", "relu, gelu, swiglu". */
static void describe_values(const struct setting *setting, char *text, size_t bytes)
{
    switch (setting->type) {
    case SETTING_INTEGER:
        snprintf(text, bytes, "%.0f ... %.0f", setting->min, setting->max);
        return;
    case SETTING_REAL:
        snprintf(text, bytes, "%.10g ... %.10g", setting->min, setting->max);
        return;
    case SETTING_BOOLEAN:
        snprintf(text, bytes, "true, false");
        return;
    case SETTING_CHOICE: {
        size_t used = 0;
        for (int i = 0; setting->choices[i] && used < bytes; i++) {
            int added = snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", setting->choices[i]);
            used += added > 0 ? (size_t)added : 0;
        }
        return;
    }
    case SETTING_TEXT:
    case SETTING_LIST:
        snprintf(text, bytes, "text");
        return;
    case SETTING_OBJECT:
        snprintf(text, bytes, "object, null");
        return;
    case SETTING_ARRAY:
        snprintf(text, bytes, "list, null");
        return;
    }
}

static void write_setting(const struct setting *setting, const json_t *defaults)
{
    char values[256], right[768];
    describe_values(setting, values, sizeof values);
    const json_t *value = json_object_get(defaults, setting->name);
    char *text = file_json_text(value, JSON_ENCODE_ANY);
    /* Names are shown as --set takes them: without quotes. */
    snprintf(right, sizeof right, "%s [%s] (default: %s)", setting->help, values,
             json_is_string(value) ? json_string_value(value) : text);
    free(text);
    help_row(stdout, setting->name, right, HELP_OPTION_COLUMN);
}

static rotary_status write_settings(rotary_error *error)
{
    static const char *const titles[RUN_SETTINGS] = {
        [0] = "the task", [TASK_SETTINGS] = "the model", [RUN_SETTINGS - 1] = "training"};
    struct run_config config;
    run_config_default(&config);
    json_t *defaults;
    rotary_status status = run_config_to_json(&config, &defaults, error);
    if (status != ROTARY_OK)
        return status;
    struct settings settings[RUN_SETTINGS];
    run_settings(&config, settings);
    help_text(stdout,
              "Keys of a configuration, for --set KEY=VALUE. Presets set most of them; a default holds where "
              "the preset says nothing. A default of 0 where that makes no sense means that the value "
              "follows from other keys.",
              0);
    for (int i = 0; i < RUN_SETTINGS; i++) {
        if (titles[i])
            printf("\n%s:\n", titles[i]);
        for (int j = 0; j < settings[i].count; j++)
            write_setting(&settings[i].table[j], defaults);
    }
    json_decref(defaults);
    return ROTARY_OK;
}

static enum exit_status run(const struct invocation *invocation)
{
    rotary_error error = {0};
    if (invocation->operands.count == 0) {
        help_overview(stdout, invocation->commands);
        return EXIT_DONE;
    }
    const char *const *topics = invocation->operands.items;
    if (strcmp(topics[0], "settings") == 0 && invocation->operands.count == 1)
        return write_settings(&error) == ROTARY_OK ? EXIT_DONE : command_fail(&error);
    const struct command *const *list = invocation->commands;
    const struct command *command = NULL;
    for (int i = 0; i < invocation->operands.count; i++) {
        static const struct command *const nothing[] = {NULL};
        const char *group = command ? command->name : NULL;
        command = command_find(list, topics[i]);
        if (!command)
            return command_unknown(list, group, topics[i]);
        list = command->below ? command->below : nothing;
    }
    help_command(stdout, command);
    return EXIT_DONE;
}

const struct command command_help = {
    .name = "help",
    .operands = "[COMMAND...]",
    .summary = "shows what a command does, its options and an example",
    .more = "rotary help settings lists every key of a configuration.",
    .example = "rotary help compare\n"
               "shows the options of rotary compare",
    .max_operands = 2,
    .run = run,
};
