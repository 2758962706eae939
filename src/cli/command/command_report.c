/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary report: the table, the verdict and the page of a comparison or of runs.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/result.h"
#include "file/file.h"
#include "records/comparison/sweep_text.h"
#include "report/comparison_table.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>

struct report_options {
    const char *out, *vary;
    struct option_integer rows; /* enum csv_table */
    bool all_pairs, csv;
};

#define MEMBER(member) offsetof(struct report_options, member)
static const struct setting report_table[] = {
    {"--vary", SETTING_TEXT, MEMBER(vary), .metavar = "KEY,...",
     .help = "the keys by which runs are compared, if not by their position encodings alone"},
    {"--all-pairs", SETTING_BOOLEAN, MEMBER(all_pairs),
     .help = "compare every arm with every other, not only with the first"},
    {"--out", SETTING_TEXT, MEMBER(out), .metavar = "FILE",
     .help = "where to write the page (default: report.html in the first folder)"},
    {"--csv", SETTING_BOOLEAN, MEMBER(csv), .help = "print comma-separated values instead"},
    {"--rows", SETTING_CHOICE, MEMBER(rows), .metavar = "NAME", .choices = csv_table_names,
     .help = "what a row of --csv is: runs, arms, contrasts, pairs, or of what was scored at other lengths "
             "lengths or positions (default: runs)"},
};

static rotary_status check_options(const struct invocation *invocation, rotary_error *error)
{
    const struct report_options *options = invocation->options;
    if (options->csv && invocation->common.json)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--csv and --json are both given: wanted one");
    if (options->rows.given && !options->csv)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--rows needs --csv");
    return ROTARY_OK;
}

static rotary_status print_csv(const struct collection *collection, enum csv_table table, rotary_error *error)
{
    char *text;
    rotary_status status = comparison_csv(collection, table, &text, error);
    if (status != ROTARY_OK)
        return status;
    fputs(text, stdout);
    free(text);
    return ROTARY_OK;
}

static rotary_status print_result(const struct invocation *invocation, const struct collection *collection,
                                  const char *page, rotary_error *error)
{
    const struct report_options *options = invocation->options;
    if (invocation->common.json)
        return result_print_comparison_json(collection, NULL, page, error);
    if (options->csv)
        return print_csv(collection, (enum csv_table)options->rows.value, error);
    sweep_write(stdout, collection->description);
    return result_print_comparison(collection->comparison, page, error);
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct report_options *options = invocation->options;
    const struct operands *folders = &invocation->operands;
    rotary_error error = {0};
    char in_folder[FILE_PATH_BYTES];
    const char *page = options->out ? options->out : in_folder;
    struct collection collection;
    if (check_options(invocation, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    const struct collection_options how = {.vary = options->vary, .all_pairs = options->all_pairs};
    rotary_status status = collection_read_with(&collection, folders->items, folders->count, &how, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    status = collection_read_answers(&collection, &error);
    if (status == ROTARY_OK && !options->out)
        status = file_output_path(in_folder, folders->items[0], "report.html", &error);
    if (status == ROTARY_OK)
        status = collection_check_output(&collection, folders->items, folders->count, page, &error);
    if (status == ROTARY_OK)
        status = report_write(&collection, page, &error);
    if (status == ROTARY_OK)
        status = print_result(invocation, &collection, page, &error);
    collection_free(&collection);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_report = {
    .name = "report",
    .operands = "DIR...",
    .summary = "prints the results of a comparison or of runs, and writes their HTML page",
    .more = "The folders are one comparison, or runs of one task, which are then compared with each other. "
            "Prints the verdict and the tables as compare does; with --json all numbers. "
            "Runs that differ in more than that and their seeds are shown, but neither paired nor judged. "
            "The page is one file with nothing to load; unfinished runs are shown up to their last step.",
    .example =
        "rotary report runs/index-quick\n"
        "prints the verdict and writes runs/index-quick/report.html: curves, tables, and problems with "
        "the models' answers",
    .options = report_table,
    .option_count = sizeof report_table / sizeof report_table[0],
    .options_size = sizeof(struct report_options),
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
