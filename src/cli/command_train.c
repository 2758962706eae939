/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary train: one run.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/plan.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "train/train.h"

#include <stdio.h>

struct train_options {
    const char *position, *preset, *out;
    struct option_integer steps;
    struct option_list assignments;
    bool resume;
};

#define MEMBER(member) offsetof(struct train_options, member)
static const struct option train_table[] = {
    {.name = "--position",
     .type = OPTION_TEXT,
     .value = "NAME",
     .offset = MEMBER(position),
     .help = "position encoding: none, learned, sinusoidal, rope or roper (default: rope)"},
    {.name = "--preset",
     .type = OPTION_TEXT,
     .value = "NAME",
     .offset = MEMBER(preset),
     .help = "configuration to start from: quick or paper (default: quick)"},
    {.name = "--steps",
     .type = OPTION_INTEGER,
     .value = "N",
     .offset = MEMBER(steps),
     .least = 1,
     .most = 4294967295.0,
     .help = "updates of the parameters (default: the preset's)"},
    {.name = "--set",
     .type = OPTION_LIST,
     .value = "KEY=VALUE",
     .offset = MEMBER(assignments),
     .help = "any other key of the configuration; may be given again"},
    {.name = "--out",
     .type = OPTION_TEXT,
     .value = "DIR",
     .offset = MEMBER(out),
     .help = "the run's folder (default: runs/TASK-PRESET-POSITION)"},
    {.name = "--resume",
     .type = OPTION_FLAG,
     .offset = MEMBER(resume),
     .help = "go on with the run in the folder, in the configuration it has there"},
};

struct train_plan {
    char default_folder[PLAN_FOLDER_BYTES];
    const char *folder;
    struct run_config config;
    struct compute compute;
};

/* A run that is resumed keeps its configuration but for what is asked for anew. */
static rotary_status plan(const struct invocation *invocation, struct train_plan *plan, rotary_error *error)
{
    const struct train_options *options = invocation->options;
    struct plan_request request = {.task = invocation->operands.items[0],
                                   .preset = options->preset,
                                   .position = options->position,
                                   .steps = options->steps,
                                   .assignments = &options->assignments,
                                   .common = &invocation->common};
    rotary_status status = plan_config(&request, &plan->config, error);
    if (status != ROTARY_OK)
        return status;
    plan_folder(&request, plan_choice(&plan->config, "position"), plan->default_folder);
    plan->folder = options->out ? options->out : plan->default_folder;
    struct run_config recorded;
    if (options->resume && run_read_config(plan->folder, &recorded, NULL) == ROTARY_OK) {
        request.base = &recorded;
        status = plan_config(&request, &plan->config, error);
    }
    if (status == ROTARY_OK)
        status = plan_compute(&invocation->common, plan->config.train.precision, &plan->compute, error);
    return status;
}

static void show(void *argument, const struct train_progress *train)
{
    progress_step(argument, "", 0, train);
}

static rotary_status print_result(const struct invocation *invocation, const struct train_plan *plan,
                                  const struct train_result *result, rotary_error *error)
{
    const char *task = invocation->operands.items[0], *position = plan_choice(&plan->config, "position");
    const char *precision = rotary_dtype_name(plan->compute.storage);
    long long seed = plan->config.train.seed, steps = result->steps_done;
    if (invocation->common.json)
        return result_print_json(
            json_pack("{s:s, s:s, s:s, s:I, s:s, s:I, s:I, s:o, s:o, s:o}", "folder", plan->folder, "task",
                      task, "position", position, "seed", (json_int_t)seed, "precision", precision, "steps",
                      (json_int_t)steps, "first_step", (json_int_t)result->first_step, "loss",
                      result_number(result->loss), "seconds", result_number(result->seconds), "evaluation",
                      result_evaluation_json(&result->evaluation)),
            error);
    char time[PROGRESS_TIME_BYTES];
    progress_time(result->seconds, time);
    printf("%s, %s, seed %lld, %s: %lld steps", task, position, seed, precision, steps);
    if (result->first_step > 0)
        printf(" (from step %lld)", (long long)result->first_step);
    printf(" in %s, loss %.4f\n", time, result->loss);
    result_print_evaluation(&result->evaluation);
    printf("%s\n", plan->folder);
    return ROTARY_OK;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct train_options *options = invocation->options;
    struct train_plan made;
    rotary_error error = {0};
    if (plan(invocation, &made, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    struct progress progress;
    progress_start(&progress);
    struct train_call call = {.config = &made.config,
                              .compute = &made.compute,
                              .folder = made.folder,
                              .resume = options->resume,
                              .progress = show,
                              .argument = &progress,
                              .interrupted = invocation->interrupted};
    struct train_result result;
    rotary_status status = train(&call, &result, &error);
    progress_end(&progress);
    if (status == ROTARY_INTERRUPTED)
        (void)rotary_fail(
            &error, status,
            "stopped after step %lld of %lld, and saved; to go on: rotary train %s --resume --out %s",
            (long long)result.steps_done, (long long)made.config.train.steps, invocation->operands.items[0],
            made.folder);
    if (status == ROTARY_OK)
        status = print_result(invocation, &made, &result, &error);
    compute_destroy(&made.compute);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_train = {
    .name = "train",
    .operands = "TASK",
    .summary = "trains one transformer on a task",
    .more = "TASK is addition, index or prefix. The run's folder gets config.json, metrics.jsonl,\n"
            "model.safetensors and optimizer.safetensors; a folder that holds a run is never overwritten.\n"
            "Ctrl-C saves the run and leaves; --resume goes on from there, to the same bits.",
    .example = "rotary train index --position roper --steps 600 --set batch_size=16 --out runs/mine\n"
               "trains a small model with rotary values to index substrings, in a few minutes or less",
    .options = train_table,
    .option_count = sizeof train_table / sizeof train_table[0],
    .options_size = sizeof(struct train_options),
    .least_operands = 1,
    .most_operands = 1,
    .run = run,
};
