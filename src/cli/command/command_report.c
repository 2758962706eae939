/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary report: the table, the verdict and the page of a comparison or of runs.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/hint/nested_runs.h"
#include "cli/output/result.h"
#include "cli/program.h"
#include "file/file.h"
#include "records/comparison/comparable_runs.h"
#include "records/comparison/sweep_text.h"
#include "report/comparison_table.h"
#include "report/report.h"
#include "run_folder/run_archive.h"
#include "train/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct report_options {
    const char *out, *vary, *archive, *svg;
    struct option_integer rows; /* enum csv_table */
    bool all_pairs, csv, latex;
};

#define MEMBER(member) offsetof(struct report_options, member)
static const struct setting report_table[] = {
    {"--vary", SETTING_TEXT, MEMBER(vary), .metavar = "KEY,...",
     .help = "the keys by which runs are compared, if not by their position encodings alone"},
    {"--all-pairs", SETTING_BOOLEAN, MEMBER(all_pairs),
     .help = "compare every arm with every other, not only with the first"},
    {"--out", SETTING_TEXT, MEMBER(out), .metavar = "FILE",
     .help = "where to write the page (default: report.html in the first folder; of an archive, beside it)"},
    {"--archive", SETTING_TEXT, MEMBER(archive), .metavar = "FILE",
     .help = "write no page but one compressed archive of the folder's runs, without weights: FILE.tar.gz"},
    {"--svg", SETTING_TEXT, MEMBER(svg), .metavar = "FOLDER",
     .help = "write every figure of the page into this folder too, each as an SVG file that stands alone"},
    {"--latex", SETTING_BOOLEAN, MEMBER(latex),
     .help = "print the tables as LaTeX instead, for the package booktabs"},
    {"--csv", SETTING_BOOLEAN, MEMBER(csv), .help = "print comma-separated values instead"},
    {"--rows", SETTING_CHOICE, MEMBER(rows), .metavar = "NAME", .choices = csv_table_names,
     .help = "what a row of --csv is: runs, arms, contrasts, pairs, or of what was scored at other lengths "
             "lengths or positions (default: runs)"},
};

/* ---- the archive ---- */

static rotary_status check_archive(const struct invocation *invocation, rotary_error *error)
{
    const struct report_options *options = invocation->options;
    const size_t length = strlen(options->archive), suffix = strlen(ARCHIVE_SUFFIX);
    const char *other = options->out         ? "--out"
                        : options->vary      ? "--vary"
                        : options->all_pairs ? "--all-pairs"
                        : options->svg       ? "--svg"
                        : options->latex     ? "--latex"
                        : options->csv       ? "--csv"
                                             : NULL;
    if (other)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--archive and %s are both given: wanted one",
                           other);
    if (length <= suffix || strcmp(options->archive + length - suffix, ARCHIVE_SUFFIX) != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--archive is \"%.300s\", wanted a name that ends in " ARCHIVE_SUFFIX,
                           options->archive);
    if (invocation->operands.count > 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--archive packs one folder, got %d: wanted the folder that they are in",
                           invocation->operands.count);
    return ROTARY_OK;
}

static rotary_status write_archive(const struct invocation *invocation, rotary_error *error)
{
    const struct report_options *options = invocation->options;
    struct archive_size size;
    rotary_status status = run_archive_refuse(invocation->operands.items[0], error);
    if (status == ROTARY_OK)
        status = run_archive_write(invocation->operands.items[0], options->archive, &size, error);
    if (status != ROTARY_OK)
        return status;
    if (invocation->common.json)
        return result_print_json(json_pack("{s:s, s:I, s:I}", "archive", options->archive, "files",
                                           (json_int_t)size.files, "bytes", (json_int_t)size.bytes),
                                 error);
    printf("%s: %lld files, %llu bytes unpacked\n", options->archive, (long long)size.files,
           (unsigned long long)size.bytes);
    return ROTARY_OK;
}

/* ---- the page ---- */

static rotary_status check_options(const struct invocation *invocation, rotary_error *error)
{
    const struct report_options *options = invocation->options;
    const char *const forms[] = {options->csv ? "--csv" : NULL, options->latex ? "--latex" : NULL,
                                 invocation->common.json ? "--json" : NULL};
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 3; j++)
            if (forms[i] && forms[j])
                return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s and %s are both given: wanted one",
                                   forms[i], forms[j]);
    if (options->rows.given && !options->csv)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--rows needs --csv");
    return options->archive ? check_archive(invocation, error) : ROTARY_OK;
}

/* Prints comma-separated values, or LaTeX. */
static rotary_status print_tables(const struct report_options *options, const struct collection *collection,
                                  rotary_error *error)
{
    char *text;
    rotary_status status =
        options->latex ? report_latex(collection, &text, error)
                       : comparison_csv(collection, (enum csv_table)options->rows.value, &text, error);
    if (status != ROTARY_OK)
        return status;
    fputs(text, stdout);
    free(text);
    return ROTARY_OK;
}

/* Whether every run has the key, and it can be set. */
static bool can_vary(const struct collection *collection, const char *key)
{
    struct run_config config;
    struct settings settings[RUN_SETTINGS];
    void *member;
    run_config_default(&config);
    run_settings(&config, settings);
    for (int i = 0; i < collection->record_count; i++)
        if (!json_object_get(collection->records[i].config, key))
            return false;
    return settings_find(settings, RUN_SETTINGS, key, strlen(key), &member) != NULL;
}

/* Says which --vary makes plain runs alike that differ in one key, or in it and their position encoding. */
static rotary_status say_vary(const struct collection *collection, const char *varied, rotary_error *error)
{
    json_t *none = json_array(), *keys = json_array();
    char *text = NULL;
    rotary_status status =
        collection->unlike && !collection->description && !varied
            ? comparable_runs(&text, collection->records, collection->record_count, none, keys, error)
            : ROTARY_OK;
    const char *first = json_string_value(json_array_get(keys, 0)),
               *second = json_string_value(json_array_get(keys, 1));
    const size_t count = json_array_size(keys);
    const bool position = second && (strcmp(first, "position") == 0 || strcmp(second, "position") == 0);
    if (status == ROTARY_OK && (count == 1 || (count == 2 && position)) && can_vary(collection, first) &&
        (!second || can_vary(collection, second)))
        fprintf(stderr, "note: --vary %s%s%s compares these runs\n", first, second ? "," : "",
                second ? second : "");
    free(text);
    json_decref(none);
    json_decref(keys);
    return status;
}

static rotary_status print_result(const struct invocation *invocation, const struct collection *collection,
                                  const char *page, rotary_error *error)
{
    const struct report_options *options = invocation->options;
    if (invocation->common.json)
        return result_print_comparison_json(collection, NULL, page, error);
    if (options->csv || options->latex)
        return print_tables(options, collection, error);
    sweep_write(stdout, collection->description);
    rotary_status status = result_print_comparison(collection->comparison, page, error);
    if (status == ROTARY_OK && options->svg)
        printf("%s\n", options->svg);
    return status;
}

/* Where the page goes unless that is said: into the first folder, or beside its archive. */
static rotary_status name_page(const char *folder, char page[FILE_PATH_BYTES], rotary_error *error)
{
    char file[FILE_PATH_BYTES];
    return run_archive_find(folder, file) ? run_archive_page(folder, page, error)
                                          : file_output_path(page, folder, "report.html", error);
}

/* An interrupted report removes what it unpacked. */
static rotary_status go_on(const struct invocation *invocation, rotary_error *error)
{
    return atomic_load(invocation->interrupted)
               ? rotary_fail(error, ROTARY_INTERRUPTED, "interrupted: no page is written")
               : ROTARY_OK;
}

static rotary_status write_page(const struct invocation *invocation, const struct collection *collection,
                                rotary_error *error)
{
    const struct report_options *options = invocation->options;
    const struct operands *folders = &invocation->operands;
    char named[FILE_PATH_BYTES];
    const char *page = options->out ? options->out : named;
    rotary_status status = options->out ? ROTARY_OK : name_page(folders->items[0], named, error);
    if (status == ROTARY_OK)
        status = collection_check_output(collection, folders->items, folders->count, page, error);
    if (status == ROTARY_OK)
        status = go_on(invocation, error);
    if (status == ROTARY_OK)
        status = report_write(collection, page, program_commit(), error);
    if (status == ROTARY_OK && options->svg)
        status = report_figures(collection, options->svg, error);
    if (status == ROTARY_OK)
        status = print_result(invocation, collection, page, error);
    return status == ROTARY_OK ? say_vary(collection, options->vary, error) : status;
}

static rotary_status report(const struct invocation *invocation, rotary_error *error)
{
    const struct report_options *options = invocation->options;
    const struct operands *folders = &invocation->operands;
    const struct collection_options how = {.vary = options->vary, .all_pairs = options->all_pairs};
    struct collection collection;
    rotary_status status = collection_read_with(&collection, folders->items, folders->count, &how, error);
    if (status == ROTARY_IO_ERROR)
        return nested_runs_name(folders->items, folders->count, error);
    if (status != ROTARY_OK)
        return status;
    status = go_on(invocation, error);
    if (status == ROTARY_OK)
        status = collection_read_answers(&collection, error);
    if (status == ROTARY_OK)
        status = write_page(invocation, &collection, error);
    collection_free(&collection);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct report_options *options = invocation->options;
    rotary_error error = {0};
    if (check_options(invocation, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    const rotary_status status =
        options->archive ? write_archive(invocation, &error) : report(invocation, &error);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_report = {
    .name = "report",
    .operands = "DIR...",
    .summary = "prints the results of a comparison or of runs, and writes their HTML page",
    .more =
        "The folders are one comparison, or runs of one task, which are then compared with each other; one "
        "that is neither stands for the runs in it. Each may be in an archive that --archive wrote, or any "
        "tar: books.tar.gz, or books.tar.gz/rope-1. "
        "Prints the verdict and the tables as compare does; with --json all numbers. "
        "Runs that differ in more than that and their seeds are shown, but neither paired nor judged. "
        "The page is one file with nothing to load; unfinished runs are shown up to their last step. "
        "Its figures can be saved from it as SVG, PNG and CSV; --svg writes all of them, and --latex prints "
        "its tables, for a paper.",
    .example =
        "rotary report runs/index-quick\n"
        "prints the verdict and writes runs/index-quick/report.html: curves, tables, and problems with "
        "the models' answers",
    .options = report_table,
    .option_count = sizeof report_table / sizeof report_table[0],
    .options_size = sizeof(struct report_options),
    .min_operands = 1,
    .max_operands = -1,
    .stopping = "stopping before the page is written",
    .run = run,
};
