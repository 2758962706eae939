/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary compare: every arm from every seed, the table, and the page.
 */
#include "base/fail.h"
#include "base/threads.h"
#include "cli/command.h"
#include "cli/comparison_design.h"
#include "cli/evaluated_lengths.h"
#include "cli/output/result.h"
#include "cli/own_text.h"
#include "cli/program.h"
#include "cli/run_lines.h"
#include "cli/watch.h"
#include "file/file.h"
#include "ranks/ranks.h"
#include "records/comparison/sweep_text.h"
#include "report/report.h"
#include "study/comparison_run.h"
#include "study/rank_runs.h"
#include "train/together.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct compare_options {
    struct configuration_options configuration;
    struct design_options design;
    struct option_integer steps;
    const char *jobs, *out, *text;
    bool all_pairs, tensorboard, dry_run, list;
    struct length_options lengths;
};

#define MEMBER(member) offsetof(struct compare_options, member)
static const struct setting compare_table[] = {
    {"--all-pairs", SETTING_BOOLEAN, MEMBER(all_pairs),
     .help = "compare every arm with every other, not only with the first"},
    {"--jobs", SETTING_TEXT, MEMBER(jobs), .metavar = "N",
     .help = "runs to train side by side, on equal shares of the threads: a number, or auto, which measures "
             "what is "
             "fastest (default: auto)"},
    {"--tensorboard", SETTING_BOOLEAN, MEMBER(tensorboard),
     .help = "write an event file for TensorBoard into the folder of every run that trains"},
    {"--dry-run", SETTING_BOOLEAN, MEMBER(dry_run),
     .help = "train nothing: list the runs and the steps they have left, and say how long they will take, "
             "after a "
             "few steps that measure it"},
    {"--list", SETTING_BOOLEAN, MEMBER(list),
     .help = "train nothing: print a command for each run that is left, for other machines and schedulers, "
             "whose runs this command without --list then takes over"},
    {"--out", SETTING_TEXT, MEMBER(out), .metavar = "DIR",
     .help = "the comparison's folder (default: runs/TASK-PRESET; of a text runs/TASK-TEXT, and -PRESET if "
             "one is given)"},
};

struct compare_plan {
    struct own_text text;
    char default_folder[PLAN_FOLDER_BYTES];
    const char *folder;
    struct comparison_design design;
    struct backend backend;
    int jobs; /* as run_list_call.jobs */
    struct length_request lengths;
};

static rotary_status read_jobs(const char *text, int *jobs, rotary_error *error)
{
    char *end;
    *jobs = RUN_LIST_AUTO;
    if (!text || strcmp(text, "auto") == 0)
        return ROTARY_OK;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || number < 1 || number > ROTARY_MAX_THREADS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--jobs is \"%.40s\": wanted 1 ... %d, or auto",
                           text, ROTARY_MAX_THREADS);
    *jobs = (int)number;
    return ROTARY_OK;
}

static void release(struct compare_plan *plan)
{
    json_decref(plan->lengths.factors);
    design_free(&plan->design);
}

static rotary_status plan(const struct invocation *invocation, struct compare_plan *plan, rotary_error *error)
{
    const struct compare_options *options = invocation->options;
    struct plan_request request = {.task = invocation->operands.items[0],
                                   .preset = options->configuration.preset,
                                   .steps = options->steps,
                                   .assignments = &plan->text.assignments,
                                   .text = plan->text.name,
                                   .common = &invocation->common,
                                   .tokenizers = invocation->tokenizers,
                                   .watch = invocation->watch};
    rotary_status status =
        own_text_read(&plan->text, request.task, options->text, &options->configuration.assignments, error);
    if (status == ROTARY_OK && options->list && options->dry_run)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "--list and --dry-run are given: wanted one, as each says what is left");
    if (status != ROTARY_OK)
        return status;
    plan_folder(&request, NULL, plan->default_folder);
    plan->folder = options->out ? options->out : plan->default_folder;
    status = read_jobs(options->jobs, &plan->jobs, error);
    if (status == ROTARY_OK && options->jobs && ranks_count(invocation->ranks) > 1)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "--jobs is for one process, and %d ranks train a run each: leave it out",
                             ranks_count(invocation->ranks));
    if (status == ROTARY_OK)
        status = design_create(&plan->design, &options->design, &request, plan->folder, error);
    if (status != ROTARY_OK)
        return status;
    status = length_options_read(&options->lengths, &plan->design.config, 0, &plan->lengths, error);
    if (status == ROTARY_OK)
        status =
            plan_backend(&invocation->common, plan->design.config.train.precision, &plan->backend, error);
    if (status != ROTARY_OK)
        release(plan);
    return status;
}

static void say_rule(struct watch *watch)
{
    char rule[DESIGN_POWER_BYTES], exact_match[DESIGN_POWER_BYTES];
    rotary_error error;
    if (design_power(watch->design, rule, exact_match, &error) != ROTARY_OK)
        progress_note(&watch->progress, "%s", error.message);
    if (*rule)
        progress_note(&watch->progress, "%s", rule);
    if (*exact_match)
        progress_note(&watch->progress, "%s", exact_match);
}

/* Says what will decide, once, after what it will take. */
static void estimated(void *argument, const struct run_list_estimate *estimate)
{
    struct watch *watch = argument;
    watch_estimate(watch, estimate);
    if (watch->design)
        say_rule(watch);
    watch->design = NULL;
}

static void show_scored(void *argument, const char *run, int number, int runs)
{
    progress_show(argument, "other lengths, %s (%d of %d)", run, number, runs);
}

/* Scores the runs at the lengths that were asked for. */
static rotary_status score_lengths(const struct invocation *invocation, const struct compare_plan *made,
                                   rotary_error *error)
{
    struct progress progress;
    if (made->lengths.count == 0)
        return ROTARY_OK;
    const struct length_run_call call = {.folder = made->folder,
                                         .backend = &made->backend,
                                         .wanted = made->lengths.wanted,
                                         .count = made->lengths.count,
                                         .factors = made->lengths.factors,
                                         .progress = show_scored,
                                         .argument = &progress,
                                         .interrupted = invocation->interrupted};
    progress_start(&progress);
    rotary_status status = length_run(&call, error);
    progress_end(&progress);
    return status;
}

/* The results are read from the folder, which also has those of earlier runs. */
static rotary_status print_result(const struct invocation *invocation, const char *folder,
                                  rotary_error *error)
{
    const struct compare_options *options = invocation->options;
    char page[FILE_PATH_BYTES];
    struct collection collection;
    rotary_status status = file_output_path(page, folder, "report.html", error);
    if (status == ROTARY_OK)
        status = collection_read_with(&collection, &folder, 1,
                                      &(struct collection_options){.all_pairs = options->all_pairs}, error);
    if (status != ROTARY_OK)
        return status;
    status = collection_read_answers(&collection, error);
    if (status == ROTARY_OK)
        status = collection_check_output(&collection, &folder, 1, page, error);
    if (status == ROTARY_OK)
        status = report_write(&collection, page, program_commit(), error);
    if (status == ROTARY_OK && !invocation->common.json)
        sweep_write(stdout, collection.description);
    if (status == ROTARY_OK)
        status = invocation->common.json ? result_print_comparison_json(&collection, folder, page, error)
                                         : result_print_comparison(collection.comparison, page, error);
    collection_free(&collection);
    return status;
}

/* What --dry-run shows. */
struct preview {
    struct watch *watch;
    json_t *runs; /* NULL: they are printed */
    struct run_list_estimate estimate;
};

static void list_run(void *argument, const struct run_left *left)
{
    const struct preview *preview = argument;
    const struct listed_run *run = left->run;
    const int64_t steps = left->steps;
    if (preview->runs)
        json_array_append_new(preview->runs,
                              json_pack("{s:s, s:s, s:I, s:I}", "run", run->name, "arm", run->arm, "seed",
                                        (json_int_t)run->seed, "steps_left", (json_int_t)steps));
    else if (steps > 0)
        printf("%s: %lld step%s\n", run->name, (long long)steps, steps == 1 ? "" : "s");
    else
        printf("%s: finished\n", run->name);
}

static void keep_estimate(void *argument, const struct run_list_estimate *estimate)
{
    struct preview *preview = argument;
    preview->estimate = *estimate;
    watch_estimate(preview->watch, estimate);
}

/* Says what the command would do without --dry-run. */
static rotary_status show_preview(const struct invocation *invocation, const struct compare_call *call,
                                  struct watch *watch, rotary_error *error)
{
    const struct sweep *sweep = call->plan.sweep;
    const int sweep_runs = sweep ? sweep->runs * sweep->candidates.count * call->plan.arms->count : 0;
    struct preview preview = {.watch = watch, .runs = invocation->common.json ? json_array() : NULL};
    struct compare_call previewed = *call;
    previewed.estimated = keep_estimate;
    previewed.argument = &preview;
    if (!preview.runs)
        printf("%s\n", call->plan.folder);
    if (!preview.runs && sweep_runs > 0)
        printf("at first %d runs of a sweep, which are not counted here\n", sweep_runs);
    rotary_status status = comparison_preview(&previewed, list_run, error);
    if (!preview.runs)
        return status;
    if (status != ROTARY_OK) {
        json_decref(preview.runs);
        return status;
    }
    const struct estimate *estimate = &preview.estimate.estimate;
    return result_print_json(json_pack("{s:s, s:o, s:i, s:{s:f, s:i, s:I}}", "folder", call->plan.folder,
                                       "runs", preview.runs, "sweep_runs", sweep_runs, "estimate", "seconds",
                                       estimate->seconds, "jobs", estimate->jobs, "run_bytes",
                                       (json_int_t)estimate->run_bytes),
                             error);
}

/* A rank beside rank 0, which has the list of runs. */
static enum exit_status follow(const struct invocation *invocation, struct compare_plan *made)
{
    const struct compare_options *options = invocation->options;
    rotary_error error = {0};
    const struct run_list_call call = {.backend = &made->backend,
                                       .ranks = invocation->ranks,
                                       .tensorboard = options->tensorboard,
                                       .commit = program_commit(),
                                       .interrupted = invocation->interrupted};
    rotary_status status = together_check_same(call.ranks, NULL, call.backend, &error);
    if (status == ROTARY_OK)
        status = rank_runs_follow(&call, &error);
    backend_destroy(&made->backend);
    release(made);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct compare_options *options = invocation->options;
    struct compare_plan made = {.folder = NULL};
    rotary_error error = {0};
    const struct ranks *ranks = invocation->ranks;
    if (ranks_agree(ranks, plan(invocation, &made, &error), &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    if (ranks_index(ranks) > 0)
        return follow(invocation, &made);
    own_text_say(&made.text, options->text);
    struct watch watch;
    watch_start(&watch, made.jobs, made.design.seed_count * made.design.arms.count);
    made.design.all_pairs = options->all_pairs;
    watch.design = &made.design;
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
                                .jobs = made.jobs,
                                .tensorboard = options->tensorboard,
                                .commit = program_commit(),
                                .estimated = estimated,
                                .progress = watch_run,
                                .argument = &watch,
                                .interrupted = invocation->interrupted};
    call.ranks = ranks;
    rotary_status status = together_check_same(ranks, NULL, &made.backend, &error);
    if (status == ROTARY_OK)
        status = options->dry_run ? show_preview(invocation, &call, &watch, &error)
                 : options->list  ? run_lines_print(&(struct run_lines_call){invocation, &call}, &error)
                                  : comparison_run(&call, &error);
    const bool trains = !options->dry_run && !options->list;
    if (status == ROTARY_OK && trains && watch.design) /* nothing was estimated */
        say_rule(&watch);
    watch_end(&watch);
    rotary_error ignored;
    (void)!rank_runs_end(ranks, &ignored);
    if (status == ROTARY_INTERRUPTED && trains && watch.jobs > 1)
        (void)rotary_fail(&error, status,
                          "stopped with %d of %d runs done, all saved in %s; the same command resumes them",
                          watch.done, watch.runs, made.folder);
    else if (status == ROTARY_INTERRUPTED && trains)
        (void)rotary_fail(&error, status,
                          "stopped in run %d of %d and saved in %s; the same command resumes it", watch.run,
                          watch.runs, made.folder);
    if (status == ROTARY_OK && trains)
        status = score_lengths(invocation, &made, &error);
    backend_destroy(&made.backend);
    release(&made);
    if (status == ROTARY_OK && trains)
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
        "--positions and --vary, --runs and --seeds, it has the arms and seeds of its folder, and without "
        "--preset its configuration. Runs trained "
        "beforehand in DIR/ARM-SEED are taken over. With --evaluate-lengths the finished runs are scored at "
        "these lengths too, once: reports then show them. mpirun -n N rotary compare ... trains on N "
        "processes or hosts, "
        "each of which takes the next run.",
    .example = "rotary compare prefix --positions rope,roper --runs 6\n"
               "trains twelve small models to copy by prefix and shows whether rotating the values helped",
    .shared = {{configuration_options, 2, MEMBER(configuration)},
               {own_text_option, 1, MEMBER(text)},
               {steps_option, 1, MEMBER(steps)},
               {design_options, DESIGN_ROWS, MEMBER(design)},
               {length_option_rows, LENGTH_OPTION_ROWS, MEMBER(lengths)}},
    .options = compare_table,
    .option_count = sizeof compare_table / sizeof compare_table[0],
    .options_size = sizeof(struct compare_options),
    .min_operands = 1,
    .max_operands = 1,
    .stopping = "stopping as soon as all is saved",
    .together = true,
    .on_device = true,
    .run = run,
};
