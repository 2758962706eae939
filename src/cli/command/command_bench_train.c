/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench train: a step of training.
 */
#include "benchmark/train_benchmark.h"
#include "cli/command.h"
#include "cli/output/profile_table.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "model/encoding/model_encoding.h"
#include "train/unused_keys.h"

#include <stdio.h>
#include <string.h>

struct train_options {
    struct configuration_options configuration;
    const char *task, *position;
    struct option_integer steps;
    bool profile;
};

enum { STEPS = 10 };

#define MEMBER(member) offsetof(struct train_options, member)
static const struct setting train_table[] = {
    {"--position", SETTING_TEXT, MEMBER(position), .metavar = "A,B,...",
     .help = "position encodings: {positions}; {encodings}; or files NAME.json that describe one; of "
             "several, the first is the baseline (default: rope)"},
    {"--task", SETTING_TEXT, MEMBER(task), .metavar = "NAME", .help = "{tasks} (default: prefix)"},
    {"--steps", SETTING_INTEGER, MEMBER(steps), .metavar = "N", .min = 1, .max = 1000000,
     .help = "steps to time with each encoding, after a warm-up step (default: 10)"},
    {"--profile", SETTING_BOOLEAN, MEMBER(profile), .help = "print the time of a step by operation"},
};

struct bench_plan {
    struct run_config configs[TIMING_MAX_ITEMS];
    struct profile profiles[TIMING_MAX_ITEMS];
    struct train_benchmark benchmark;
    struct backend backend;
};

/* One encoding is a setting that --set may change; of several, each gets a model. */
static rotary_status plan_configs(const struct invocation *invocation, struct bench_plan *plan,
                                  rotary_error *error)
{
    const struct train_options *options = invocation->options;
    const struct configuration_options *configuration = &options->configuration;
    const bool several = options->position && strchr(options->position, ',');
    const struct plan_request request = {.task = options->task ? options->task : "prefix",
                                         .preset = configuration->preset ? configuration->preset : "paper",
                                         .position = several ? NULL : options->position,
                                         .assignments = &configuration->assignments,
                                         .common = &invocation->common,
                                         .tokenizers = invocation->tokenizers,
                                         .watch = invocation->watch};
    plan->benchmark.count = 1;
    struct plan_request listed = request; /* with the list, which would replace a position that --set has */
    listed.position = options->position;
    rotary_status status = plan_check_assigned(&listed, error);
    if (status == ROTARY_OK)
        status = plan_config(&request, &plan->configs[0], error);
    if (status == ROTARY_OK && several) {
        struct run_config base RUN_CONFIG_LOCAL = plan->configs[0];
        plan->configs[0] = (struct run_config){0};
        const struct plan_positions_call call = {
            .where = "--position", .names = options->position, .base = &base, .max = TIMING_MAX_ITEMS};
        status = plan_positions(&call, plan->configs, &plan->benchmark.count, error);
    }
    for (int i = 0; i < plan->benchmark.count && status == ROTARY_OK; i++)
        status = run_config_check(&plan->configs[i], error);
    const struct unused_keys_call used = {.configs = plan->configs, .count = plan->benchmark.count};
    return status == ROTARY_OK ? unused_keys_check_assigned(&used, configuration->assignments.items,
                                                            configuration->assignments.count, error)
                               : status;
}

static rotary_status plan(const struct invocation *invocation, struct bench_plan *plan, rotary_error *error)
{
    const struct train_options *options = invocation->options;
    *plan = (struct bench_plan){.benchmark.steps = options->steps.given ? options->steps.value : STEPS};
    rotary_status status = plan_configs(invocation, plan, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; i < plan->benchmark.count; i++)
        plan->benchmark.models[i] = (struct train_benchmark_model){
            .config = &plan->configs[i], .profile = options->profile ? &plan->profiles[i] : NULL};
    return plan_backend(&invocation->common, plan->configs[0].train.precision, &plan->backend, error);
}

static void release(struct bench_plan *plan)
{
    for (int i = 0; i < TIMING_MAX_ITEMS; i++)
        run_config_free(&plan->configs[i]);
}

static json_t *model_json(const struct train_benchmark *result, int model)
{
    const struct train_benchmark_model *timed = &result->models[model];
    json_t *object =
        json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "position", model_encoding_name(&timed->config->model),
                  "parameters", timed->parameters, "tokens", timed->tokens, "median_seconds",
                  timed->step.median, "best_seconds", timed->step.best, "operations", timed->operations);
    if (object && timed->source_tokens > 0)
        json_object_set_new(object, "source_tokens", json_real(timed->source_tokens));
    if (object && model > 0)
        json_object_set_new(object, "ratio",
                            json_pack("{s:s, s:I, s:f, s:f, s:f}", "to",
                                      model_encoding_name(&result->models[0].config->model), "pairs",
                                      (json_int_t)result->steps, "median", timed->ratio.median,
                                      "lower_quartile", timed->ratio.lower, "upper_quartile",
                                      timed->ratio.upper));
    if (object && timed->profile)
        json_object_set_new(object, "profile", profile_table_json(timed->profile));
    return object;
}

/* The results of a single model are members of the object; those of several are in an array. */
static rotary_status print_json(const struct bench_plan *plan, rotary_error *error)
{
    const struct train_benchmark *result = &plan->benchmark;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:I, s:f, s:f, s:f}", "task", task_names[plan->configs[0].task.task],
        "precision", rotary_dtype_name(plan->backend.storage), "backend", plan->backend.operations->name,
        "isa", rotary_isa_name(plan->backend.isa), "threads", plan->backend.threads, "steps",
        (json_int_t)result->steps, "first_step_seconds", result->first_step_seconds, "matmul_rate",
        result->limits.matmul_rate, "memory_rate", result->limits.memory_rate);
    json_t *models = json_array();
    for (int i = 0; i < result->count; i++)
        json_array_append_new(models, model_json(result, i));
    if (result->count == 1)
        json_object_update(object, json_array_get(models, 0));
    else
        json_object_set(object, "results", models);
    json_decref(models);
    return result_print_json(object, error);
}

static void print_model(const struct bench_plan *plan, int model)
{
    const struct train_benchmark *result = &plan->benchmark;
    const struct train_benchmark_model *timed = &result->models[model];
    double rate = timed->operations / timed->step.median, limit = result->limits.matmul_rate;
    printf("%s%s, %s, %s on %s, %d threads: %.2f M parameters, %.0f tokens per step", model > 0 ? "\n" : "",
           task_names[timed->config->task.task], model_encoding_name(&timed->config->model),
           rotary_dtype_name(plan->backend.storage), plan_backend_text(&plan->backend), plan->backend.threads,
           timed->parameters / 1e6, timed->tokens);
    if (timed->source_tokens > 0)
        printf(", from %.0f of sources", timed->source_tokens);
    putchar('\n');
    printf("step               %8.4f s (median of %lld; best %.4f)\n", timed->step.median,
           (long long)result->steps, timed->step.best);
    printf("tokens             %8.0f per second\n", timed->tokens / timed->step.median);
    printf("operations         %8.1f GFLOP/s\n", rate / 1e9);
    printf("matmul alone       %8.1f GFLOP/s: the machine's limit, of which training reaches %.0f%%\n",
           limit / 1e9, 100.0 * rate / limit);
    if (model == 0)
        printf("to the first step  %8.3f s\n", result->first_step_seconds);
    else
        printf("ratio to %-10s%8.3f (median of %lld pairs; quartiles %.3f and %.3f)\n",
               model_encoding_name(&result->models[0].config->model), timed->ratio.median,
               (long long)result->steps, timed->ratio.lower, timed->ratio.upper);
    if (timed->profile)
        profile_table_print(timed->profile, "step", (double)result->steps, &result->limits);
}

static enum exit_status run(const struct invocation *invocation)
{
    struct bench_plan made;
    rotary_error error = {0};
    if (plan(invocation, &made, &error) != ROTARY_OK) {
        release(&made);
        return command_refuse(invocation, &error);
    }
    rotary_status status = benchmark_train(&made.benchmark, &made.backend, &error);
    if (status == ROTARY_OK && invocation->common.json)
        status = print_json(&made, &error);
    else if (status == ROTARY_OK)
        for (int i = 0; i < made.benchmark.count; i++)
            print_model(&made, i);
    backend_destroy(&made.backend);
    release(&made);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_bench_train = {
    .name = "bench train",
    .operands = "",
    .summary = "times a step of training",
    .more = "Trains a preset for a few steps without writing files, and prints the time of a step, its rate "
            "of operations, and the share of that rate in the rate of a large matmul, measured in the same "
            "run. Models of several encodings take alternating steps on the same data; then the median and "
            "the quartiles of the paired ratios of their times to the first one's are printed too. "
            "scripts/bench-peers compares with PyTorch.",
    .example = "rotary bench train --position rope,roper --steps 100\n"
               "shows how much longer a step takes when values are rotated too",
    .shared = {{configuration_options, 2, MEMBER(configuration)}},
    .options = train_table,
    .option_count = sizeof train_table / sizeof train_table[0],
    .options_size = sizeof(struct train_options),
    .on_device = true,
    .run = run,
};
