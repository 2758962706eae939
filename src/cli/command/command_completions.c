/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary completions: a script for a shell that completes commands, options, and values that are names. It is
 * written from the tables that the command line is read by, so that nothing can be missing.
 */
#include "cli/command.h"
#include "cli/help.h"
#include "cli/presets.h"
#include "layer/encoding/encoding.h"
#include "task/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH };
static const char *const shell_names[] = {"bash", "zsh", "fish", NULL};

/* The two words of a command below another, "bench" and "rope"; group "" of others. */
struct words {
    const char *group, *name;
    const struct command *const *commands; /* of the program */
};

/* How a shell's script is written: its parts in the order in which they are called. `option` is called for
 * each option of a command, between `open` and `close`; NULL where the shell needs none of it. */
struct writer {
    void (*begin)(const struct command *const *commands);
    void (*open)(const struct words *words, const struct command *command);
    void (*option)(const struct words *words, const struct setting *option);
    void (*close)(const struct words *words, const struct command *command);
    void (*end)(void);
};

static void write_commands(const struct command *const *commands, const char *between)
{
    for (int i = 0; commands[i]; i++)
        printf("%s%s", i > 0 ? between : "", command_last_word(commands[i]));
}

static void write_names(const char *const *names)
{
    for (int i = 0; names[i]; i++)
        printf("%s%s", i > 0 ? " " : "", names[i]);
}

/* Writes a text within single quotes, with a backslash before characters of `special`. */
static void write_quoted(const char *text, const char *special)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
}

static void write_help(const char *help, const char *special)
{
    char *written = help_written(help);
    write_quoted(written ? written : help, special);
    free(written);
}

/* Whether the first argument of a command is one of some names, which write_operand_names writes. */
static bool has_operand_names(const struct command *command)
{
    return strncmp(command->operands, "TASK", 4) == 0 || command == &command_help ||
           command == &command_completions;
}

static void write_operand_names(const struct words *words, const struct command *command)
{
    if (command == &command_completions) {
        write_names(shell_names);
    } else if (command == &command_help) {
        fputs("settings presets ", stdout);
        write_commands(words->commands, " ");
    } else {
        write_names(task_names);
    }
}

/* Whether the value of an option is one of some names, which write_value_names writes. */
static bool has_value_names(const struct setting *option)
{
    return option->type == SETTING_CHOICE || strcmp(option->name, "--preset") == 0 ||
           strncmp(option->name, "--position", strlen("--position")) == 0;
}

static bool named_before(const struct preset *preset)
{
    for (const struct preset *other = presets; other != preset; other++)
        if (strcmp(other->name, preset->name) == 0)
            return true;
    return false;
}

static void write_value_names(const struct setting *option)
{
    if (option->type == SETTING_CHOICE)
        write_names(option->choices);
    else if (strcmp(option->name, "--preset") != 0)
        write_names(position_names);
    for (const struct preset *preset = presets; preset->task && option->type != SETTING_CHOICE; preset++)
        if (strcmp(option->name, "--preset") == 0 && !named_before(preset))
            printf("%s%s", preset == presets ? "" : " ", preset->name);
}

/* Calls for each option of a command, and those of all commands. */
static void each_option(const struct words *words, const struct command *command,
                        void (*call)(const struct words *words, const struct setting *option))
{
    struct settings sets[COMMAND_MAX_SETS];
    const int count = command_option_sets(command, NULL, NULL, sets);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < sets[i].count; j++)
            call(words, &sets[i].table[j]);
    for (int i = 0; i < common_option_count; i++)
        call(words, &common_options[i]);
}

/* ---- bash ---- */

static void bash_begin(const struct command *const *commands)
{
    fputs("# Completions of rotary for bash: rotary completions bash\n_rotary()\n{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
          "    local command=${COMP_WORDS[1]} after=2\n",
          stdout);
    for (int i = 0; commands[i]; i++)
        if (commands[i]->below)
            printf("    [ \"$command\" != %s ] || { command=\"$command ${COMP_WORDS[2]}\"; after=3; }\n",
                   commands[i]->name);
    fputs("    if [ \"$COMP_CWORD\" = 1 ]; then\n        words='", stdout);
    write_commands(commands, " ");
    fputs(" --help --version'\n    else case \"$command|$previous\" in\n", stdout);
    for (int i = 0; commands[i]; i++)
        if (commands[i]->below) {
            printf("    *'|'%s) [ \"$COMP_CWORD\" != 2 ] || words='", commands[i]->name);
            write_commands(commands[i]->below, " ");
            fputs("' ;;\n", stdout);
        }
}

/* What follows an option with a value: its names, or else a file, which bash completes itself. */
static void bash_value(const struct words *words, const struct setting *option)
{
    if (!option->metavar)
        return;
    printf("    '%s%s%s|%s') words='", words->group, words->group[0] ? " " : "", words->name, option->name);
    if (has_value_names(option))
        write_value_names(option);
    fputs("' ;;\n", stdout);
}

static void bash_open(const struct words *words, const struct command *command)
{
    each_option(words, command, bash_value); /* a case takes the first pattern that fits */
    printf("    '%s|'*) words='", command->name);
}

static void bash_option(const struct words *words, const struct setting *option)
{
    (void)words;
    printf("%s ", option->name);
}

static void bash_close(const struct words *words, const struct command *command)
{
    fputs("'", stdout);
    if (has_operand_names(command)) {
        fputs("; [ \"$COMP_CWORD\" != $after ] || words=\"$words ", stdout);
        write_operand_names(words, command);
        fputs("\"", stdout);
    }
    fputs(" ;;\n", stdout);
}

static void bash_end(void)
{
    fputs("    esac; fi\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "}\ncomplete -o default -o bashdefault -F _rotary rotary\n",
          stdout);
}

/* ---- zsh ---- */

static void zsh_begin(const struct command *const *commands)
{
    fputs("#compdef rotary\n# Completions of rotary for zsh: rotary completions zsh\n_rotary()\n{\n"
          "    local -a commands below\n    commands=(\n",
          stdout);
    for (int i = 0; commands[i]; i++) {
        printf("        '%s:", commands[i]->name);
        write_help(commands[i]->summary, ":\\");
        fputs("'\n", stdout);
    }
    fputs(
        "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
        "    local command=$words[2]\n    case $command in\n",
        stdout);
    for (int i = 0; commands[i]; i++)
        if (commands[i]->below) {
            printf("    %s)\n        below=(", commands[i]->name);
            write_commands(commands[i]->below, " ");
            fputs(")\n        if (( CURRENT == 3 )); then\n            _describe command below\n"
                  "            return\n        fi\n        command=\"$command $words[3]\"\n        shift "
                  "words\n"
                  "        (( CURRENT-- ))\n        ;;\n",
                  stdout);
        }
    fputs("    esac\n    shift words\n    (( CURRENT-- ))\n    case $command in\n", stdout);
}

static void zsh_open(const struct words *words, const struct command *command)
{
    (void)words;
    printf("    '%s')\n        _arguments -S \\\n", command->name);
}

static void zsh_option(const struct words *words, const struct setting *option)
{
    (void)words;
    const bool again = option->type == SETTING_LIST;
    printf("            '%s%s%s[", again ? "*" : "", option->name, option->metavar ? "=" : "");
    write_help(option->help, ":\\[]");
    putchar(']');
    if (option->metavar) {
        printf(":%s:", option->metavar);
        if (has_value_names(option)) {
            putchar('(');
            write_value_names(option);
            putchar(')');
        } else if (option->type == SETTING_TEXT) {
            fputs("_files", stdout);
        }
    }
    fputs("' \\\n", stdout);
}

static void zsh_close(const struct words *words, const struct command *command)
{
    if (has_operand_names(command)) {
        printf("            '1:%s:(", command->operands);
        write_operand_names(words, command);
        fputs(")' \\\n", stdout);
    }
    fputs("            '*:file:_files'\n        ;;\n", stdout);
}

static void zsh_end(void)
{
    fputs("    esac\n}\n_rotary \"$@\"\n", stdout);
}

/* ---- fish ---- */

static void fish_begin(const struct command *const *commands)
{
    fputs("# Completions of rotary for fish: rotary completions fish\n", stdout);
    for (int i = 0; commands[i]; i++) {
        printf("complete -c rotary -f -n __fish_use_subcommand -a %s -d '", commands[i]->name);
        write_help(commands[i]->summary, "\\");
        fputs("'\n", stdout);
    }
}

/* What a line of fish is for: the words before the cursor begin with the command, and are so many; 0: any number. */
static void fish_condition(const struct words *words, int count)
{
    fputs("complete -c rotary -n 'set -l w (commandline -opc); ", stdout);
    if (count > 0)
        printf("test (count $w) -eq %d; and ", count);
    printf("test \"$w[2]\" = %s", words->group[0] ? words->group : words->name);
    if (words->group[0] && words->name[0])
        printf("; and test \"$w[3]\" = %s", words->name);
    putchar('\'');
}

static void fish_open(const struct words *words, const struct command *command)
{
    if (words->group[0]) {
        fish_condition(&(struct words){.group = words->group, .name = ""}, 2);
        printf(" -f -a %s -d '", words->name);
        write_help(command->summary, "\\");
        fputs("'\n", stdout);
    }
    if (has_operand_names(command)) {
        fish_condition(words, words->group[0] ? 3 : 2);
        fputs(" -f -a '", stdout);
        write_operand_names(words, command);
        fputs("'\n", stdout);
    }
}

static void fish_option(const struct words *words, const struct setting *option)
{
    fish_condition(words, 0);
    printf(" -l %s", option->name + 2);
    if (option->metavar)
        fputs(" -r", stdout);
    if (has_value_names(option)) {
        fputs(" -f -a '", stdout);
        write_value_names(option);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    write_help(option->help, "\\");
    fputs("'\n", stdout);
}

/* ---- all ---- */

static const struct writer writers[] = {
    [SHELL_BASH] = {bash_begin, bash_open, bash_option, bash_close, bash_end},
    [SHELL_ZSH] = {zsh_begin, zsh_open, zsh_option, zsh_close, zsh_end},
    [SHELL_FISH] = {.begin = fish_begin, .open = fish_open, .option = fish_option},
};

static void write_command(const struct writer *writer, const struct words *words,
                          const struct command *command)
{
    writer->open(words, command);
    each_option(words, command, writer->option);
    if (writer->close)
        writer->close(words, command);
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct setting choice = {.name = "SHELL", .type = SETTING_CHOICE, .choices = shell_names};
    const char *name = invocation->operands.items[0];
    const int shell = setting_choice(&choice, name);
    if (shell < 0) {
        rotary_error error = {0};
        char got[96];
        snprintf(got, sizeof got, "\"%.80s\"", name);
        (void)!setting_refuse(&choice, NULL, got, name, &error);
        return command_refuse(invocation, &error);
    }
    const struct writer *writer = &writers[shell];
    writer->begin(invocation->commands);
    for (int i = 0; invocation->commands[i]; i++) {
        const struct command *command = invocation->commands[i];
        struct words words = {"", command->name, invocation->commands};
        if (!command->below)
            write_command(writer, &words, command);
        words.group = command->name;
        for (int j = 0; command->below && command->below[j]; j++) {
            words.name = command_last_word(command->below[j]);
            write_command(writer, &words, command->below[j]);
        }
    }
    if (writer->end)
        writer->end();
    return EXIT_DONE;
}

const struct command command_completions = {
    .name = "completions",
    .operands = "SHELL",
    .summary = "writes the script by which a shell completes commands and options",
    .more = "SHELL is bash, zsh or fish. What is installed has all three where the shells look for them.",
    .example = "rotary completions bash > ~/.local/share/bash-completion/completions/rotary\n"
               "lets bash complete rotary in new terminals",
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
