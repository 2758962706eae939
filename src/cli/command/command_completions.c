/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary completions: a script for a shell that completes commands, options, and values that are names. It is
 * written from the tables that the command line is read by, so that nothing can be missing.
 */
#include "cli/command.h"
#include "cli/help.h"
#include "task/task.h"

#include <stdio.h>
#include <string.h>

enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH };
static const char *const shell_names[] = {"bash", "zsh", "fish", NULL};

/* The two words of a command below another, "bench" and "rope"; group "" of others. */
struct words {
    const char *group, *name;
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

static bool takes_task(const struct command *command)
{
    return strncmp(command->operands, "TASK", 4) == 0;
}

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

static void bash_open(const struct words *words, const struct command *command)
{
    (void)words;
    /* Values of the options come first, since a case takes the first pattern that fits. */
    struct settings sets[COMMAND_MAX_SETS];
    const int count = command_option_sets(command, NULL, NULL, sets);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < sets[i].count; j++) {
            const struct setting *option = &sets[i].table[j];
            if (option->type != SETTING_CHOICE)
                continue;
            printf("    '%s|%s') words='", command->name, option->name);
            write_names(option->choices);
            fputs("' ;;\n", stdout);
        }
    printf("    '%s|'*) words='", command->name);
    if (takes_task(command)) {
        write_names(task_names);
        putchar(' ');
    }
}

static void bash_option(const struct words *words, const struct setting *option)
{
    (void)words;
    printf("%s ", option->name);
}

static void bash_close(const struct words *words, const struct command *command)
{
    (void)words, (void)command;
    fputs("' ;;\n", stdout);
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
        write_quoted(commands[i]->summary, ":\\");
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
    write_quoted(option->help, ":\\[]");
    putchar(']');
    if (option->metavar) {
        printf(":%s:", option->metavar);
        if (option->type == SETTING_CHOICE) {
            putchar('(');
            write_names(option->choices);
            putchar(')');
        } else if (option->type == SETTING_TEXT) {
            fputs("_files", stdout);
        }
    }
    fputs("' \\\n", stdout);
}

static void zsh_close(const struct words *words, const struct command *command)
{
    (void)words;
    if (takes_task(command)) {
        fputs("            '1:task:(", stdout);
        write_names(task_names);
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
        write_quoted(commands[i]->summary, "\\");
        fputs("'\n", stdout);
    }
}

/* What a line of fish is for: the command, and within a group the second word too. */
static void fish_condition(const struct words *words)
{
    printf("complete -c rotary -n '__fish_seen_subcommand_from %s",
           words->group[0] ? words->group : words->name);
    if (words->group[0])
        printf("; and __fish_seen_subcommand_from %s", words->name);
    putchar('\'');
}

static void fish_open(const struct words *words, const struct command *command)
{
    if (words->group[0]) {
        printf("complete -c rotary -f -n '__fish_seen_subcommand_from %s' -a %s -d '", words->group,
               words->name);
        write_quoted(command->summary, "\\");
        fputs("'\n", stdout);
    }
    if (takes_task(command)) {
        fish_condition(words);
        fputs(" -f -a '", stdout);
        write_names(task_names);
        fputs("'\n", stdout);
    }
}

static void fish_option(const struct words *words, const struct setting *option)
{
    fish_condition(words);
    printf(" -l %s", option->name + 2);
    if (option->metavar)
        fputs(" -r", stdout);
    if (option->type == SETTING_CHOICE) {
        fputs(" -f -a '", stdout);
        write_names(option->choices);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    write_quoted(option->help, "\\");
    fputs("'\n", stdout);
}

/* ---- all ---- */

static const struct writer writers[] = {
    [SHELL_BASH] = {bash_begin, bash_open, bash_option, bash_close, bash_end},
    [SHELL_ZSH] = {zsh_begin, zsh_open, zsh_option, zsh_close, zsh_end},
    [SHELL_FISH] = {.begin = fish_begin, .open = fish_open, .option = fish_option},
};

static void write_command(const struct writer *writer, const char *group, const struct command *command)
{
    const struct words words = {group, command_last_word(command)};
    struct settings sets[COMMAND_MAX_SETS];
    const int count = command_option_sets(command, NULL, NULL, sets);
    writer->open(&words, command);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < sets[i].count; j++)
            writer->option(&words, &sets[i].table[j]);
    for (int i = 0; i < common_option_count; i++)
        writer->option(&words, &common_options[i]);
    if (writer->close)
        writer->close(&words, command);
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
        if (!command->below)
            write_command(writer, "", command);
        for (int j = 0; command->below && command->below[j]; j++)
            write_command(writer, command->name, command->below[j]);
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
