/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary report: the page of a comparison or of runs.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/result.h"
#include "file/file.h"
#include "report/report.h"

#include <stdio.h>

struct report_options {
    const char *out;
};

static const struct setting report_table[] = {
    {"--out", SETTING_TEXT, offsetof(struct report_options, out), .metavar = "FILE",
     .help = "where to write the page (default: report.html in the first folder)"},
};

static enum exit_status run(const struct invocation *invocation)
{
    const struct report_options *options = invocation->options;
    const struct operands *folders = &invocation->operands;
    rotary_error error = {0};
    char in_folder[FILE_PATH_BYTES];
    const char *page = options->out ? options->out : in_folder;
    struct collection collection;
    rotary_status status = collection_read(&collection, folders->items, folders->count, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    if (!options->out)
        status = file_path(in_folder, folders->items[0], "report.html", &error);
    if (status == ROTARY_OK)
        status = report_write(&collection, page, &error);
    collection_free(&collection);
    if (status == ROTARY_OK && invocation->common.json)
        status = result_print_json(json_pack("{s:s}", "report", page), &error);
    else if (status == ROTARY_OK)
        puts(page);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_report = {
    .name = "report",
    .operands = "DIR...",
    .summary = "writes the HTML page of a comparison or of runs",
    .more = "The folders are one comparison, or runs of one task, which are then compared with each other. "
            "The page is one file with nothing to load; unfinished runs are shown up to their last step.",
    .example = "rotary report runs/index-quick\n"
               "writes runs/index-quick/report.html: curves, table, and problems with the models' answers",
    .options = report_table,
    .option_count = sizeof report_table / sizeof report_table[0],
    .options_size = sizeof(struct report_options),
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
