/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include "cli/progress.h"
#include "file/file.h"
#include "train/run.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_WIDTH = 60, WIDTH = 100, OPTION_COLUMN = 27, COMMAND_COLUMN = 15, MAX_NAMES = 32 };
#define SETTINGS_TOPIC "settings"

static const struct command *const *below(const struct command *group)
{
    static const struct command *const nothing[] = {NULL};
    if (!group)
        return commands;
    return group->below ? group->below : nothing;
}

/* What a command is called by itself: the last word of its name. */
static const char *last_word(const struct command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

const struct command *help_find(const struct command *group, const char *name)
{
    for (const struct command *const *command = below(group); *command; command++)
        if (strcmp(last_word(*command), name) == 0)
            return *command;
    return NULL;
}

const char *help_hint(const struct command *group, const char *name, char hint[SETTINGS_HINT_BYTES])
{
    const char *names[MAX_NAMES + 1] = {NULL};
    const struct command *const *command = below(group);
    for (int i = 0; command[i] && i < MAX_NAMES; i++)
        names[i] = last_word(command[i]);
    return settings_hint(name, names, hint);
}

/* Writes `text` from `column` on, where the cursor is, broken between words. */
static void write_wrapped(FILE *file, const char *text, int column)
{
    int columns = terminal_columns(file, WIDTH), at = column;
    int width = columns < MIN_WIDTH ? MIN_WIDTH : columns < WIDTH ? columns : WIDTH;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (at > column && at + 1 + length > width) {
            fprintf(file, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            fputc(' ', file);
            at++;
        }
        fprintf(file, "%.*s", length, text);
        at += length;
        text += length;
        text += *text == ' ';
    }
    fputc('\n', file);
}

/* "  left    right", with `right` from `column` on. */
static void write_row(FILE *file, const char *left, const char *right, int column)
{
    int used = fprintf(file, "  %s", left);
    fprintf(file, "%*s", used + 2 > column ? 2 : column - used, "");
    write_wrapped(file, right, used + 2 > column ? used + 2 : column);
}

void help_option(FILE *file, const struct setting *option)
{
    char left[64];
    snprintf(left, sizeof left, "%s%s%s", option->name, option->metavar ? " " : "",
             option->metavar ? option->metavar : "");
    write_row(file, left, option->help, OPTION_COLUMN);
}

void help_overview(FILE *file)
{
    write_wrapped(file,
                  "rotary: which position encoding is better? Trains transformers that differ in nothing "
                  "else, and says.",
                  0);
    fputs("\nusage: rotary COMMAND [options]\n\n", file);
    for (int i = 0; commands[i]; i++)
        write_row(file, commands[i]->name, commands[i]->summary, COMMAND_COLUMN);
    fputc('\n', file);
    write_wrapped(file,
                  "rotary help COMMAND shows a command's options with an example; rotary help settings every "
                  "key of a configuration. Start with:",
                  0);
    fputs("\n  rotary compare index\n", file);
}

static void write_below(FILE *file, const struct command *const *command)
{
    fputs("\ncommands:\n", file);
    for (; *command; command++)
        write_row(file, (*command)->name, (*command)->summary, OPTION_COLUMN);
}

static void write_options(FILE *file, const struct command *command)
{
    struct settings sets[COMMAND_MAX_SETS];
    int count = command_option_sets(command, NULL, NULL, sets);
    if (count > 0)
        fputs("\noptions:\n", file);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < sets[i].count; j++)
            help_option(file, &sets[i].table[j]);
    fputs("\noptions of every command:\n", file);
    for (int i = 0; i < common_option_count; i++)
        help_option(file, &common_options[i]);
}

void help_command(FILE *file, const struct command *command)
{
    char first[256];
    snprintf(first, sizeof first, "rotary %s %s.", command->name, command->summary);
    fprintf(file, "usage: rotary %s%s%s [options]\n\n", command->name, command->operands[0] ? " " : "",
            command->operands);
    write_wrapped(file, first, 0);
    if (command->more) {
        fputc('\n', file);
        write_wrapped(file, command->more, 0);
    }
    if (command->below)
        write_below(file, command->below);
    else
        write_options(file, command);
    int line = (int)strcspn(command->example, "\n");
    fprintf(file, "\nexample:\n  %.*s\n  ", line, command->example);
    write_wrapped(file, command->example + line + 1, 2);
}

/* ---- rotary help settings ---- */

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
    write_row(stdout, setting->name, right, OPTION_COLUMN);
}

static rotary_status write_settings(rotary_error *error)
{
    static const char *const titles[RUN_SETTINGS] = {"the task", "the model", "training"};
    struct run_config config;
    run_config_default(&config);
    json_t *defaults;
    rotary_status status = run_config_to_json(&config, &defaults, error);
    if (status != ROTARY_OK)
        return status;
    struct settings settings[RUN_SETTINGS];
    run_settings(&config, settings);
    write_wrapped(stdout,
                  "Keys of a configuration, for --set KEY=VALUE. Presets set most of them; a default holds "
                  "where the preset says nothing. A default of 0 where that makes no sense means: what "
                  "follows from the other keys.",
                  0);
    for (int i = 0; i < RUN_SETTINGS; i++) {
        printf("\n%s:\n", titles[i]);
        for (int j = 0; j < settings[i].count; j++)
            write_setting(&settings[i].table[j], defaults);
    }
    json_decref(defaults);
    return ROTARY_OK;
}

/* ---- the command ---- */

static enum exit_status run(const struct invocation *invocation)
{
    rotary_error error = {0};
    if (invocation->operands.count == 0) {
        help_overview(stdout);
        return EXIT_DONE;
    }
    const char *const *topics = invocation->operands.items;
    if (strcmp(topics[0], SETTINGS_TOPIC) == 0 && invocation->operands.count == 1)
        return write_settings(&error) == ROTARY_OK ? EXIT_DONE : command_fail(&error);
    const struct command *group = NULL, *command = NULL;
    for (int i = 0; i < invocation->operands.count; i++) {
        group = command;
        command = help_find(group, topics[i]);
        if (!command)
            return command_unknown(group, topics[i]);
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
