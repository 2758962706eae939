/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary compare: every position encoding from every seed, the table, and the page.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "cli/run_plan.h"
#include "file/file.h"
#include "report/report.h"
#include "study/comparison_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 1000, RUNS_QUICK = 5, RUNS_OTHER = 10 };

struct compare_options {
    struct configuration_options configuration;
    struct option_integer runs, steps;
    const char *positions, *out;
};

#define MEMBER(member) offsetof(struct compare_options, member)
static const struct setting compare_table[] = {
    {"--positions", SETTING_TEXT, MEMBER(positions), .metavar = "A,B,...",
     .help = "position encodings, the first being the baseline: {positions} "
             "(default: rope,roper)"},
    {"--runs", SETTING_INTEGER, MEMBER(runs), .metavar = "N", .min = 1, .max = MAX_RUNS,
     .help = "seeds of each encoding (default: 5 for the preset quick, 10 for others)"},
    {"--out", SETTING_TEXT, MEMBER(out), .metavar = "DIR",
     .help = "the comparison's folder (default: runs/TASK-PRESET)"},
};

struct compare_plan {
    char default_folder[PLAN_FOLDER_BYTES];
    const char *folder;
    int positions[POSITIONS];
    int position_count, runs;
    struct run_config config;
    struct backend backend;
};

static rotary_status plan(const struct invocation *invocation, struct compare_plan *plan, rotary_error *error)
{
    const struct compare_options *options = invocation->options;
    struct plan_request request = {.task = invocation->operands.items[0],
                                   .preset = options->configuration.preset ? options->configuration.preset
                                                                           : PLAN_PRESET,
                                   .steps = options->steps,
                                   .assignments = &options->configuration.assignments,
                                   .common = &invocation->common};
    rotary_status status =
        plan_positions("--positions", options->positions ? options->positions : "rope,roper", plan->positions,
                       &plan->position_count, error);
    /* The configuration must be valid for each of these encodings. */
    for (int i = 0; status == ROTARY_OK && i < plan->position_count; i++) {
        request.position = position_names[plan->positions[i]];
        status = plan_config(&request, &plan->config, error);
        if (status == ROTARY_OK && plan->config.model.position != plan->positions[i])
            status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                 "--set sets \"position\", which a comparison varies; wanted --positions %s",
                                 position_names[plan->config.model.position]);
    }
    if (status == ROTARY_OK)
        status = plan_backend(&invocation->common, plan->config.train.precision, &plan->backend, error);
    bool quick = strcmp(request.preset, "quick") == 0;
    plan->runs = options->runs.given ? (int)options->runs.value : quick ? RUNS_QUICK : RUNS_OTHER;
    plan_folder(&request, NULL, plan->default_folder);
    plan->folder = options->out ? options->out : plan->default_folder;
    return status;
}

struct watch {
    struct progress progress;
    int run; /* the last one reported */
};

static void show(void *argument, const struct compare_progress *now)
{
    struct watch *watch = argument;
    struct progress *progress = &watch->progress;
    watch->run = now->run;
    char label[128];
    snprintf(label, sizeof label, "%s, seed %lld (%d of %d)", now->position, (long long)now->seed, now->run,
             now->runs);
    if (now->train)
        progress_step(progress, label, now->runs - now->run, now->train);
    else if (now->diverged)
        progress_note(progress, "%s: diverged at step %lld", label, (long long)now->diverged);
    else
        progress_note(progress, "%s: finished before", label);
}

/* The results are read from the folder, which also has those of earlier runs. */
static rotary_status print_result(const struct invocation *invocation, const char *folder,
                                  rotary_error *error)
{
    char page[FILE_PATH_BYTES];
    struct collection collection;
    rotary_status status = file_path(page, folder, "report.html", error);
    if (status == ROTARY_OK)
        status = collection_read(&collection, &folder, 1, error);
    if (status != ROTARY_OK)
        return status;
    status = collection_check_output(&collection, &folder, 1, page, error);
    if (status == ROTARY_OK)
        status = report_write(&collection, page, error);
    if (status == ROTARY_OK)
        status = invocation->common.json
                     ? result_print_comparison_json(collection.comparison, folder, page, error)
                     : result_print_comparison(collection.comparison, page, error);
    collection_free(&collection);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    struct compare_plan made;
    rotary_error error = {0};
    if (plan(invocation, &made, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    struct watch watch = {.run = 1};
    progress_start(&watch.progress);
    struct compare_call call = {.config = &made.config,
                                .positions = made.positions,
                                .position_count = made.position_count,
                                .runs = made.runs,
                                .backend = &made.backend,
                                .folder = made.folder,
                                .command = invocation->command_line,
                                .progress = show,
                                .argument = &watch,
                                .interrupted = invocation->interrupted};
    rotary_status status = compare(&call, &error);
    progress_end(&watch.progress);
    if (status == ROTARY_INTERRUPTED)
        (void)rotary_fail(&error, status,
                          "stopped in run %d of %d and saved in %s; the same command resumes it", watch.run,
                          made.runs * made.position_count, made.folder);
    backend_destroy(&made.backend);
    if (status == ROTARY_OK)
        status = print_result(invocation, made.folder, &error);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_compare = {
    .name = "compare",
    .operands = "TASK",
    .summary = "trains position encodings side by side and says which is better",
    .more =
        "TASK is {tasks}. Runs of one seed have the same data and the same initial "
        "weights. Prints a table of the results and the paired differences, and writes report.html. The same "
        "command resumes a comparison that was stopped, and may ask for more runs, encodings or steps.",
    .example = "rotary compare index --positions rope,roper --runs 5\n"
               "trains ten small models to index substrings and shows whether rotating the values helped",
    .shared = {{configuration_options, 2, MEMBER(configuration)}, {steps_option, 1, MEMBER(steps)}},
    .options = compare_table,
    .option_count = sizeof compare_table / sizeof compare_table[0],
    .options_size = sizeof(struct compare_options),
    .min_operands = 1,
    .max_operands = 1,
    .resumable = true,
    .run = run,
};
