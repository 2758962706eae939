/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench generate: the speed of generation.
 */
#include "base/clock.h"
#include "base/fail.h"
#include "base/integer.h"
#include "benchmark/generate_benchmark.h"
#include "cli/command.h"
#include "cli/output/profile_table.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "model/encoding/model_encoding.h"

#include <stdio.h>

struct generate_options {
    struct configuration_options configuration;
    const char *task, *position;
    struct option_integer batch_size, prompt_tokens, max_new_tokens;
    bool profile;
};

enum { DEFAULT_BATCH_SIZE = 128, DEFAULT_NEW_TOKENS = 400, MAX = 1 << 20 };

#define MEMBER(member) offsetof(struct generate_options, member)
static const struct setting generate_table[] = {
    {"--task", SETTING_TEXT, MEMBER(task), .metavar = "NAME", .help = "{tasks} (default: addition)"},
    {"--batch-size", SETTING_INTEGER, MEMBER(batch_size), .metavar = "N", .min = 1, .max = MAX,
     .help = "prompts in the batch (default: 128)"},
    {"--prompt-tokens", SETTING_INTEGER, MEMBER(prompt_tokens), .metavar = "N", .min = 1, .max = MAX,
     .help = "tokens of each prompt, where prompts are timed (default: a quarter of the model's positions)"},
    {"--max-new-tokens", SETTING_INTEGER, MEMBER(max_new_tokens), .metavar = "N", .min = 1, .max = MAX,
     .help = "tokens to generate for each prompt (default: 400)"},
    {"--profile", SETTING_BOOLEAN, MEMBER(profile),
     .help = "print the time of a generation step by operation"},
};

/* ---- what is timed ---- */

/* Whether matrices stay in their files: those of a Hugging Face decoder. */
static bool is_mapped(const struct loaded_model *model)
{
    return model->pretrained.transformer != NULL;
}

/* A folder has a model, so that options which make one would do nothing. */
static rotary_status check_options(const struct generate_options *options, rotary_error *error)
{
    const struct configuration_options *configuration = &options->configuration;
    const char *given = options->task                          ? "--task"
                        : options->position                    ? "--position"
                        : configuration->preset                ? "--preset"
                        : configuration->assignments.count > 0 ? "--set"
                                                               : NULL;
    return given ? rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s with a folder: its model is timed as it is", given)
                 : ROTARY_OK;
}

static rotary_status plan(const struct invocation *invocation, struct loaded_model *model,
                          rotary_error *error)
{
    const struct generate_options *options = invocation->options;
    const struct configuration_options *configuration = &options->configuration;
    struct plan_request request = {.task = options->task ? options->task : "addition",
                                   .preset = configuration->preset ? configuration->preset : "paper",
                                   .position = options->position,
                                   .assignments = &configuration->assignments,
                                   .common = &invocation->common};
    if (invocation->operands.count > 0)
        return check_options(options, error);
    rotary_status status = plan_config(&request, &model->config, error);
    return status == ROTARY_OK
               ? plan_backend(&invocation->common, model->config.train.precision, &model->backend, error)
               : status;
}

/* The model of the configuration, with initial weights. What fails leaves nothing to unload. */
static rotary_status create(struct loaded_model *model, rotary_error *error)
{
    const struct run_config *config = &model->config;
    const struct transformer_limits limits = {.batch = config->train.batch_size,
                                              .time = config->task.sequence_length};
    rotary_status status = transformer_create(&model->transformer, &model->backend, &config->model, limits,
                                              (uint64_t)config->train.seed, error);
    if (status != ROTARY_OK) {
        run_config_free(&model->config);
        backend_destroy(&model->backend);
    }
    return status;
}

/* Takes the model of the folder, with as many tokens at once as `rotary generate` gives it. */
static rotary_status load(const struct invocation *invocation, struct loaded_model *model,
                          rotary_error *error)
{
    const struct loaded_model_call call = {.folder = invocation->operands.items[0],
                                           .backend = plan_model_backend(&invocation->common),
                                           .need = TASK_SIZES,
                                           .takes_pretrained = true};
    return plan_open_model(&call, model, error);
}

/* ---- results ---- */

/* The task of a run or of a configuration; NULL: a Hugging Face decoder has none. */
static const char *task_of(const struct loaded_model *model)
{
    return is_mapped(model) ? NULL : task_names[model->config.task.task];
}

static json_t *token_json(const struct token_benchmark *token)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:I, s:f, s:f, s:f, s:f, s:f}", "prompt_tokens",
                     (json_int_t)token->prompt, "prompt_seconds", token->prompt_seconds, "prompt_operations",
                     token->prompt_operations, "weight_bytes", token->weight_bytes, "ratio_rounds",
                     (json_int_t)token->rounds, "step_seconds", token->step.median, "read_seconds",
                     token->read.median, "read_share", 1.0 / token->ratio.median, "read_share_lower_quartile",
                     1.0 / token->ratio.upper, "read_share_upper_quartile", 1.0 / token->ratio.lower);
}

static void print_token(const struct token_benchmark *token, double matmul_rate)
{
    double rows = (double)(token->sequences * token->prompt), sequences = (double)token->sequences,
           rate = token->prompt_operations / token->prompt_seconds;
    printf("prompts            %8.0f tokens per second (%lld each), %.0f%% of matmul alone\n",
           rows / token->prompt_seconds, (long long)token->prompt, 100.0 * rate / matmul_rate);
    printf("after them         %8.1f tokens per second, %.3f ms per step (best %.3f)\n",
           sequences / token->step.median, 1e3 * token->step.median, 1e3 * token->step.best);
    printf("weights            %8.1f MB per step, %.1f GB/s\n", token->weight_bytes / 1e6,
           token->weight_bytes / token->step.median / 1e9);
    printf(
        "plain read of them %8.1f GB/s: the limit of one sequence, of which a step reaches %.0f%% (median of "
        "%lld pairs; quartiles %.0f and %.0f%%)\n",
        token->weight_bytes / token->read.median / 1e9, 100.0 / token->ratio.median, (long long)token->rounds,
        100.0 / token->ratio.upper, 100.0 / token->ratio.lower);
}

static rotary_status print_json(const struct invocation *invocation, const struct loaded_model *model,
                                const struct generate_benchmark *result, rotary_error *error)
{
    const struct backend *backend = &model->backend;
    json_t *object = json_pack(
        "{s:s?, s:s?, s:b, s:s, s:s, s:s, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "task",
        task_of(model), "folder", invocation->operands.count > 0 ? invocation->operands.items[0] : NULL,
        "mapped_weights", is_mapped(model), "position", model_encoding_name(&model->config.model),
        "precision", rotary_dtype_name(backend->storage), "isa", rotary_isa_name(backend->isa), "threads",
        backend->threads, "batch_size", (json_int_t)result->problems, "max_new_tokens",
        (json_int_t)result->tokens, "seconds", result->seconds, "startup_seconds", result->startup_seconds,
        "parameters", result->parameters, "operations", result->operations, "matmul_rate",
        result->limits.matmul_rate, "memory_rate", result->limits.memory_rate);
    if (object)
        json_object_update_new(object, token_json(&result->token));
    if (object && backend->profile)
        json_object_set_new(object, "profile", profile_table_json(backend->profile));
    return result_print_json(object, error);
}

static rotary_status print_result(const struct invocation *invocation, const struct loaded_model *model,
                                  const struct generate_benchmark *result, rotary_error *error)
{
    const struct backend *backend = &model->backend;
    if (invocation->common.json)
        return print_json(invocation, model, result, error);
    double generated = (double)(result->problems * result->tokens),
           rate = result->operations / result->seconds, limit = result->limits.matmul_rate;
    printf("%s, %s, %s on %s, %d threads: %.2f M parameters%s, %lld prompts, %lld new tokens each\n",
           invocation->operands.count > 0 ? invocation->operands.items[0] : task_of(model),
           model_encoding_name(&model->config.model), rotary_dtype_name(backend->storage),
           plan_backend_text(backend), backend->threads, result->parameters / 1e6,
           is_mapped(model) ? " in mapped files" : "", (long long)result->problems,
           (long long)result->tokens);
    printf("generation         %8.3f s\n", result->seconds);
    printf("tokens             %8.0f per second, %.2f ms per step\n", generated / result->seconds,
           1e3 * result->seconds / (double)result->tokens);
    printf("operations         %8.1f GFLOP/s\n", rate / 1e9);
    printf("matmul alone       %8.1f GFLOP/s: the machine's limit, of which generation reaches %.0f%%\n",
           limit / 1e9, 100.0 * rate / limit);
    printf("startup            %8.3f s\n", result->startup_seconds);
    print_token(&result->token, limit);
    if (backend->profile)
        profile_table_print(backend->profile, "step", (double)result->tokens, &result->limits);
    return ROTARY_OK;
}

static rotary_status time_model(const struct invocation *invocation, struct loaded_model *model,
                                double startup_seconds, rotary_error *error)
{
    const struct generate_options *options = invocation->options;
    const int64_t positions = model->config.model.max_position_embeddings;
    struct profile profile = {0};
    model->backend.profile = options->profile ? &profile : NULL;
    struct generate_benchmark result = {
        .problems = options->batch_size.given ? options->batch_size.value : DEFAULT_BATCH_SIZE,
        .tokens = options->max_new_tokens.given ? options->max_new_tokens.value : DEFAULT_NEW_TOKENS,
        .startup_seconds = startup_seconds,
        .token.prompt =
            options->prompt_tokens.given ? options->prompt_tokens.value : max_i64(positions / 4, 1)};
    rotary_status status = benchmark_generate(&result, model->transformer, &model->backend, error);
    if (status == ROTARY_OK)
        status = print_result(invocation, model, &result, error);
    model->backend.profile = NULL;
    return status;
}

static enum exit_status run(const struct invocation *invocation)
{
    struct loaded_model model = {.transformer = NULL};
    rotary_error error = {0};
    if (plan(invocation, &model, &error) != ROTARY_OK) {
        run_config_free(&model.config);
        return command_refuse(invocation, &error);
    }
    double begin = rotary_clock();
    rotary_status status =
        invocation->operands.count > 0 ? load(invocation, &model, &error) : create(&model, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    status = time_model(invocation, &model, rotary_clock() - begin, &error);
    loaded_model_close(&model);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_bench_generate = {
    .name = "bench generate",
    .operands = "[DIR]",
    .summary = "times generation with a KV cache",
    .more =
        "DIR is a run's folder, or that of a Hugging Face decoder (docs/how-to/huggingface.md), whose "
        "weights "
        "stay in their files; without it the model has initial weights. It continues a batch of prompts of "
        "one token, and never stops early. Then longer prompts are timed, and single steps after them, in "
        "alternating rounds with a plain read of as many bytes as a step's weights have: one sequence cannot "
        "be faster.",
    .example = "rotary bench generate --profile\n"
               "generates 400 tokens for each of 128 prompts with the published model of the addition task",
    .shared = {{position_option, 1, MEMBER(position)}, {configuration_options, 2, MEMBER(configuration)}},
    .options = generate_table,
    .option_count = sizeof generate_table / sizeof generate_table[0],
    .options_size = sizeof(struct generate_options),
    .max_operands = 1,
    .on_device = true,
    .run = run,
};
