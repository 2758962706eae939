/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include "cli/output/progress.h"
#include "layer/encoding/encoding.h"
#include "model/encoding/shipped_encodings.h"
#include "task/task.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_WIDTH = 60, WIDTH = 100, COMMAND_COLUMN = 15 };

/* What a text may have in place of a list of names, so that a new name needs no edit of a text. */
static const struct {
    const char *written;
    const char *const *names;
} lists[] = {
    {"{positions}", position_names}, {"{encodings}", shipped_encoding_names}, {"{tasks}", task_names}};

char *help_written(const char *text)
{
    enum { LISTS = sizeof lists / sizeof lists[0], MAX_LISTS = 4 };
    char *written = calloc(strlen(text) + MAX_LISTS * SETTINGS_NAMES_BYTES, 1);
    size_t used = 0;
    for (int replaced = 0; written && *text;) {
        size_t length = 0;
        for (int i = 0; i < LISTS && length == 0 && replaced < MAX_LISTS; i++)
            if (strncmp(text, lists[i].written, strlen(lists[i].written)) == 0) {
                length = strlen(lists[i].written);
                settings_names(lists[i].names, written + used);
            }
        replaced += length > 0;
        if (length == 0)
            written[used] = text[length++];
        text += length;
        used += strlen(written + used);
    }
    return written;
}

static void write_words(FILE *file, const char *text, int column)
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

void help_text(FILE *file, const char *text, int column)
{
    char *written = help_written(text);
    write_words(file, written ? written : text, column);
    free(written);
}

void help_row(FILE *file, const char *left, const char *right, int column)
{
    int used = fprintf(file, "  %s", left);
    fprintf(file, "%*s", used + 2 > column ? 2 : column - used, "");
    help_text(file, right, used + 2 > column ? used + 2 : column);
}

void help_option(FILE *file, const struct setting *option)
{
    char left[64];
    snprintf(left, sizeof left, "%s%s%s", option->name, option->metavar ? " " : "",
             option->metavar ? option->metavar : "");
    help_row(file, left, option->help, HELP_OPTION_COLUMN);
}

void help_overview(FILE *file, const struct command *const *commands)
{
    help_text(file,
              "rotary: which position encoding is better? Trains transformers that differ in nothing else, "
              "and compares them.",
              0);
    fputs("\nusage: rotary COMMAND [options]\n\n", file);
    for (int i = 0; commands[i]; i++)
        help_row(file, commands[i]->name, commands[i]->summary, COMMAND_COLUMN);
    fputc('\n', file);
    help_text(file,
              "rotary help COMMAND shows a command's options with an example, rotary help presets what comes "
              "with the program, rotary help settings every key of a configuration, and rotary help KEY one "
              "of them. Start with:",
              0);
    fputs("\n  rotary compare prefix\n", file);
}

static void write_group(FILE *file, const struct command *const *command)
{
    fputs("\ncommands:\n", file);
    for (; *command; command++)
        help_row(file, (*command)->name, (*command)->summary, HELP_OPTION_COLUMN);
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
    help_text(file, first, 0);
    if (command->more) {
        fputc('\n', file);
        help_text(file, command->more, 0);
    }
    if (command->below)
        write_group(file, command->below);
    else
        write_options(file, command);
    int line = (int)strcspn(command->example, "\n");
    fprintf(file, "\nexample:\n  %.*s\n  ", line, command->example);
    help_text(file, command->example + line + 1, 2);
}
