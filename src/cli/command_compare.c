/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary compare: every arm from every seed, the table, and the page.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/comparison_design.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "file/file.h"
#include "report/report.h"
#include "study/comparison_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct compare_options {
    struct configuration_options configuration;
    struct design_options design;
    struct option_integer steps;
    const char *out;
    bool all_pairs;
};

#define MEMBER(member) offsetof(struct compare_options, member)
static const struct setting compare_table[] = {
    {"--all-pairs", SETTING_BOOLEAN, MEMBER(all_pairs),
     .help = "compare every arm with every other, not only with the first"},
    {"--out", SETTING_TEXT, MEMBER(out), .metavar = "DIR",
     .help = "the comparison's folder (default: runs/TASK-PRESET)"},
};

struct compare_plan {
    char default_folder[PLAN_FOLDER_BYTES];
    const char *folder;
    struct comparison_design design;
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
    plan_folder(&request, NULL, plan->default_folder);
    plan->folder = options->out ? options->out : plan->default_folder;
    rotary_status status = design_create(&plan->design, &options->design, &request, error);
    if (status != ROTARY_OK)
        return status;
    status = plan_backend(&invocation->common, plan->design.config.train.precision, &plan->backend, error);
    if (status != ROTARY_OK)
        design_free(&plan->design);
    return status;
}

struct watch {
    struct progress progress;
    const struct comparison_design *design;
    int run, runs; /* the last one reported; of so many */
};

static void begin(void *argument)
{
    struct watch *watch = argument;
    char text[DESIGN_POWER_BYTES];
    if (design_power(watch->design, text))
        progress_note(&watch->progress, "%s", text);
}

static void show(void *argument, const struct run_progress *now)
{
    struct watch *watch = argument;
    struct progress *progress = &watch->progress;
    watch->run = now->run;
    watch->runs = now->runs;
    char label[ARM_NAME_BYTES + 64];
    snprintf(label, sizeof label, "%s, seed %lld (%d of %d)", now->arm, (long long)now->seed, now->run,
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
    const struct compare_options *options = invocation->options;
    char page[FILE_PATH_BYTES];
    struct collection collection;
    rotary_status status = file_path(page, folder, "report.html", error);
    if (status == ROTARY_OK)
        status = collection_read_with(&collection, &folder, 1,
                                      &(struct collection_options){.all_pairs = options->all_pairs}, error);
    if (status != ROTARY_OK)
        return status;
    status = collection_check_output(&collection, &folder, 1, page, error);
    if (status == ROTARY_OK)
        status = report_write(&collection, page, error);
    if (status == ROTARY_OK && !invocation->common.json)
        sweep_write(stdout, collection.description);
    if (status == ROTARY_OK)
        status = invocation->common.json
                     ? result_print_comparison_json(collection.comparison, folder, page, error)
                     : result_print_comparison(collection.comparison, page, error);
    collection_free(&collection);
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct compare_options *options = invocation->options;
    struct compare_plan made;
    rotary_error error = {0};
    if (plan(invocation, &made, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    struct watch watch = {
        .design = &made.design, .run = 1, .runs = made.design.seed_count * made.design.arms.count};
    progress_start(&watch.progress);
    const struct comparison_design *design = &made.design;
    struct compare_call call = {.plan = {.config = &design->config,
                                         .arms = &design->arms,
                                         .seeds = design->seeds,
                                         .seed_count = design->seed_count,
                                         .keep_arms = design->keep_arms,
                                         .keep_seeds = design->keep_seeds,
                                         .until = design->until,
                                         .all_pairs = options->all_pairs,
                                         .sweep = design->sweep.candidates.count ? &design->sweep : NULL,
                                         .folder = made.folder,
                                         .command = invocation->command_line},
                                .backend = &made.backend,
                                .begin = begin,
                                .progress = show,
                                .argument = &watch,
                                .interrupted = invocation->interrupted};
    rotary_status status = compare(&call, &error);
    progress_end(&watch.progress);
    if (status == ROTARY_INTERRUPTED)
        (void)rotary_fail(&error, status,
                          "stopped in run %d of %d and saved in %s; the same command resumes it", watch.run,
                          watch.runs, made.folder);
    backend_destroy(&made.backend);
    design_free(&made.design);
    if (status == ROTARY_OK)
        status = print_result(invocation, made.folder, &error);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_compare = {
    .name = "compare",
    .operands = "TASK",
    .summary = "trains position encodings, or other settings, side by side and says which is better",
    .more =
        "TASK is {tasks}. Runs of one seed have the same data and the same initial "
        "weights. Prints a table of the results and the paired differences, and writes report.html. The same "
        "command resumes a comparison that was stopped, and may add seeds, arms or steps. Without "
        "--positions and --vary, --runs and --seeds, it has the arms and seeds of its folder. Runs trained "
        "beforehand in DIR/ARM-SEED are taken over.",
    .example = "rotary compare index --positions rope,roper --runs 5\n"
               "trains ten small models to index substrings and shows whether rotating the values helped",
    .shared = {{configuration_options, 2, MEMBER(configuration)},
               {steps_option, 1, MEMBER(steps)},
               {design_options, DESIGN_ROWS, MEMBER(design)}},
    .options = compare_table,
    .option_count = sizeof compare_table / sizeof compare_table[0],
    .options_size = sizeof(struct compare_options),
    .min_operands = 1,
    .max_operands = 1,
    .resumable = true,
    .run = run,
};
