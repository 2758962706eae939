/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench train: a step of training.
 */
#include "benchmark/train.h"
#include "cli/command.h"
#include "cli/plan.h"
#include "cli/profile_table.h"
#include "cli/result.h"
#include "layer/position.h"

#include <stdio.h>

struct train_options {
    struct configuration_options configuration;
    const char *task, *position;
    struct option_integer steps;
    bool profile;
};

enum { STEPS = 10 };

#define MEMBER(member) offsetof(struct train_options, member)
static const struct option train_table[] = {
    {.name = "--task",
     .type = OPTION_TEXT,
     .value = "NAME",
     .offset = MEMBER(task),
     .help = "addition, index or prefix (default: prefix)"},
    {.name = "--steps",
     .type = OPTION_INTEGER,
     .value = "N",
     .offset = MEMBER(steps),
     .least = 1,
     .most = 1000000,
     .help = "steps to time, after one that is not (default: 10)"},
    {.name = "--profile",
     .type = OPTION_FLAG,
     .offset = MEMBER(profile),
     .help = "show where the time of a step goes, by operation"},
};

struct bench_plan {
    struct run_config config;
    struct compute compute;
    int64_t steps;
};

static rotary_status plan(const struct invocation *invocation, struct bench_plan *plan, rotary_error *error)
{
    const struct train_options *options = invocation->options;
    const struct configuration_options *configuration = &options->configuration;
    struct plan_request request = {.task = options->task ? options->task : "prefix",
                                   .preset = configuration->preset ? configuration->preset : "paper",
                                   .position = options->position,
                                   .assignments = &configuration->assignments,
                                   .common = &invocation->common};
    plan->steps = options->steps.given ? options->steps.value : STEPS;
    rotary_status status = plan_config(&request, &plan->config, error);
    if (status == ROTARY_OK)
        status = plan_compute(&invocation->common, plan->config.train.precision, &plan->compute, error);
    return status;
}

static rotary_status print_json(const struct bench_plan *plan, const struct train_benchmark *result,
                                rotary_error *error)
{
    const struct profile *profile = plan->compute.profile;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "task",
        task_names[plan->config.task.task], "position", position_names[plan->config.model.position],
        "precision", rotary_dtype_name(plan->compute.storage), "isa", rotary_isa_name(plan->compute.isa),
        "threads", plan->compute.threads, "steps", (json_int_t)result->steps, "parameters",
        result->parameters, "tokens", result->tokens, "median_seconds", result->step.median, "best_seconds",
        result->step.best, "first_step_seconds", result->first, "operations", result->operations,
        "product_rate", result->limits.products, "memory_rate", result->limits.memory);
    if (object && profile)
        json_object_set_new(object, "profile", profile_table_json(profile));
    return result_print_json(object, error);
}

static rotary_status print_result(const struct invocation *invocation, const struct bench_plan *plan,
                                  const struct train_benchmark *result, rotary_error *error)
{
    if (invocation->common.json)
        return print_json(plan, result, error);
    double rate = result->operations / result->step.median, limit = result->limits.products;
    printf("%s, %s, %s on %s, %d threads: %.2f M parameters, %.0f tokens a step\n",
           task_names[plan->config.task.task], position_names[plan->config.model.position],
           rotary_dtype_name(plan->compute.storage), rotary_isa_name(plan->compute.isa),
           plan->compute.threads, result->parameters / 1e6, result->tokens);
    printf("step               %8.4f s (median of %lld; best %.4f)\n", result->step.median,
           (long long)result->steps, result->step.best);
    printf("tokens             %8.0f a second\n", result->tokens / result->step.median);
    printf("operations         %8.1f GFLOP/s\n", rate / 1e9);
    printf("products alone     %8.1f GFLOP/s: the machine's limit, of which training reaches %.0f%%\n",
           limit / 1e9, 100.0 * rate / limit);
    printf("to the first step  %8.3f s\n", result->first);
    if (plan->compute.profile)
        profile_table_print(plan->compute.profile, "step", (double)result->steps, &result->limits);
    return ROTARY_OK;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct train_options *options = invocation->options;
    struct bench_plan made;
    rotary_error error = {0};
    if (plan(invocation, &made, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    struct train_benchmark result;
    struct profile profile = {0};
    made.compute.profile = options->profile ? &profile : NULL;
    rotary_status status = benchmark_train(&made.config, &made.compute, made.steps, &result, &error);
    if (status == ROTARY_OK)
        status = print_result(invocation, &made, &result, &error);
    compute_destroy(&made.compute);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_bench_train = {
    .name = "bench train",
    .operands = "",
    .summary = "times a step of training",
    .more = "Trains a preset for a few steps, writing no file, and prints the time of a step, what it comes "
            "to in operations, and what share that is of the rate of large matrix products alone, measured "
            "in the same run. scripts/bench-peers runs PyTorch beside it.",
    .example = "rotary bench train --task addition --set batch_size=4\n"
               "times the published model of the addition task on 2,560 tokens a step",
    .shared = {{position_option, 1, MEMBER(position)}, {configuration_options, 2, MEMBER(configuration)}},
    .options = train_table,
    .option_count = sizeof train_table / sizeof train_table[0],
    .options_size = sizeof(struct train_options),
    .run = run,
};
