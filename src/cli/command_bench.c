/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench: how fast it is, beside the machine's own limit.
 */
#include "cli/command.h"
#include "cli/plan.h"
#include "cli/result.h"
#include "tensor/profile.h"
#include "train/benchmark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_options {
    const char *task, *position, *preset;
    struct option_integer steps;
    struct option_list assignments;
    bool profile;
};

enum { STEPS = 10 };

#define MEMBER(member) offsetof(struct bench_options, member)
static const struct option bench_table[] = {
    {.name = "--task",
     .type = OPTION_TEXT,
     .value = "NAME",
     .offset = MEMBER(task),
     .help = "addition, index or prefix (default: prefix)"},
    {.name = "--preset",
     .type = OPTION_TEXT,
     .value = "NAME",
     .offset = MEMBER(preset),
     .help = "configuration to time: quick or paper (default: paper)"},
    {.name = "--position",
     .type = OPTION_TEXT,
     .value = "NAME",
     .offset = MEMBER(position),
     .help = "position encoding (default: rope)"},
    {.name = "--steps",
     .type = OPTION_INTEGER,
     .value = "N",
     .offset = MEMBER(steps),
     .least = 1,
     .most = 1000000,
     .help = "steps to time, after one that is not (default: 10)"},
    {.name = "--set",
     .type = OPTION_LIST,
     .value = "KEY=VALUE",
     .offset = MEMBER(assignments),
     .help = "any other key of the configuration; may be given again"},
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
    const struct bench_options *options = invocation->options;
    struct plan_request request = {.task = options->task ? options->task : "prefix",
                                   .preset = options->preset ? options->preset : "paper",
                                   .position = options->position,
                                   .assignments = &options->assignments,
                                   .common = &invocation->common};
    plan->steps = options->steps.given ? options->steps.value : STEPS;
    rotary_status status = plan_task(request.task, error);
    if (status == ROTARY_OK)
        status = plan_config(&request, &plan->config, error);
    if (status == ROTARY_OK)
        status = plan_compute(&invocation->common, plan->config.train.precision, &plan->compute, error);
    return status;
}

static rotary_status print_result(const struct invocation *invocation, const struct bench_plan *plan,
                                  const struct benchmark *result, rotary_error *error)
{
    double rate = result->operations / result->median;
    const char *precision = rotary_dtype_name(plan->compute.storage),
               *isa = rotary_isa_name(plan->compute.isa);
    const char *position = plan_choice(&plan->config, "position");
    if (invocation->common.json)
        return result_print_json(
            json_pack("{s:s, s:s, s:s, s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "task",
                      plan_choice(&plan->config, "task"), "position", position, "precision", precision, "isa",
                      isa, "threads", plan->compute.threads, "steps", (json_int_t)result->steps, "parameters",
                      result->parameters, "tokens", result->tokens, "median_seconds", result->median,
                      "best_seconds", result->best, "first_step_seconds", result->first, "operations",
                      result->operations, "product_rate", result->product_rate),
            error);
    printf("%s, %s, %s on %s, %d threads: %.2f M parameters, %.0f tokens a step\n",
           plan_choice(&plan->config, "task"), position, precision, isa, plan->compute.threads,
           result->parameters / 1e6, result->tokens);
    printf("step               %8.4f s (median of %lld; best %.4f)\n", result->median,
           (long long)result->steps, result->best);
    printf("tokens             %8.0f a second\n", result->tokens / result->median);
    printf("operations         %8.1f GFLOP/s\n", rate / 1e9);
    printf("products alone     %8.1f GFLOP/s: the machine's limit, of which training reaches %.0f%%\n",
           result->product_rate / 1e9, 100.0 * rate / result->product_rate);
    printf("to the first step  %8.3f s\n", result->first);
    return ROTARY_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct profile_row *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* Rates are of the time an operation took; the limit is the rate of large matrix products alone. */
static void print_profile(struct profile *profile, const struct benchmark *result)
{
    double total = 0.0;
    for (int i = 0; i < profile->count; i++)
        total += profile->rows[i].seconds;
    qsort(profile->rows, (size_t)profile->count, sizeof *profile->rows, by_time);
    printf("\n%-50s %9s %6s %8s %6s %6s\n", "operation", "ms a step", "share", "GFLOP/s", "limit", "GB/s");
    for (int i = 0; i < profile->count; i++) {
        const struct profile_row *row = &profile->rows[i];
        double rate = row->operations / row->seconds;
        printf("%-50s %9.3f %5.1f%%", row->what, 1e3 * row->seconds / (double)result->steps,
               100.0 * row->seconds / total);
        if (row->operations > 0.0)
            printf(" %8.1f %5.0f%%", rate / 1e9, 100.0 * rate / result->product_rate);
        else
            printf(" %8s %6s", "", "");
        if (row->bytes > 0.0)
            printf(" %6.1f", row->bytes / row->seconds / 1e9);
        printf("\n");
    }
    printf("%-50s %9.3f\n", "all of these", 1e3 * total / (double)result->steps);
}

static enum exit_status run(const struct invocation *invocation)
{
    const char *what = invocation->operands.items[0];
    struct bench_plan made;
    rotary_error error = {0};
    if (strcmp(what, "train") != 0) {
        snprintf(error.message, sizeof error.message, "there is no benchmark \"%.100s\" (there is: train)",
                 what);
        return command_refuse(invocation, &error);
    }
    if (plan(invocation, &made, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    struct benchmark result;
    struct profile profile = {0};
    const struct bench_options *options = invocation->options;
    if (options->profile)
        made.compute.profile = &profile;
    rotary_status status = benchmark_train(&made.config, &made.compute, made.steps, &result, &error);
    if (status == ROTARY_OK)
        status = print_result(invocation, &made, &result, &error);
    if (status == ROTARY_OK && options->profile && !invocation->common.json)
        print_profile(&profile, &result);
    compute_destroy(&made.compute);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_bench = {
    .name = "bench",
    .operands = "train",
    .summary = "times a step of training beside the machine's limit",
    .more = "Trains a preset for a few steps, writing no file, and prints the time of a step, what it comes "
            "to in\n"
            "operations, and what share that is of the rate of large matrix products alone, measured in the "
            "same\n"
            "run. scripts/bench-peers runs PyTorch beside it.",
    .example = "rotary bench train --task addition --set batch_size=4\n"
               "times the published model of the addition task on 2,560 tokens a step",
    .options = bench_table,
    .option_count = sizeof bench_table / sizeof bench_table[0],
    .options_size = sizeof(struct bench_options),
    .least_operands = 1,
    .most_operands = 1,
    .run = run,
};
