/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench translate: the speed of translation.
 */
#include "benchmark/translate_benchmark.h"
#include "cli/command.h"
#include "cli/output/profile_table.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "model/transformer_config.h"

#include <stdio.h>

struct translate_options {
    struct option_list assignments;
    struct option_integer sentences, source_tokens, tokens, beams, batch_size;
    bool profile;
};

enum { MAX = 1 << 20, MAX_BEAMS = 256 };

#define MEMBER(member) offsetof(struct translate_options, member)
static const struct setting translate_table[] = {
    {"--set", SETTING_LIST, MEMBER(assignments), .metavar = "KEY=VALUE",
     .help = "change a key of the model, see `rotary help settings`; may be given again"},
    {"--sentences", SETTING_INTEGER, MEMBER(sentences), .metavar = "N", .min = 1, .max = MAX,
     .help = "sentences to translate (default: 1000)"},
    {"--source-tokens", SETTING_INTEGER, MEMBER(source_tokens), .metavar = "N", .min = 2, .max = MAX,
     .help = "mean of their tokens; they have half as many to half as many more (default: 16)"},
    {"--tokens", SETTING_INTEGER, MEMBER(tokens), .metavar = "N", .min = 1, .max = MAX,
     .help = "tokens of every translation (default: 16)"},
    {"--beams", SETTING_INTEGER, MEMBER(beams), .metavar = "N", .min = 1, .max = MAX_BEAMS,
     .help = "hypotheses of beam search; 1 is greedy (default: 5)"},
    {"--batch-size", SETTING_INTEGER, MEMBER(batch_size), .metavar = "N", .min = 1, .max = MAX,
     .help = "sentences to translate at once (default: 64)"},
    {"--profile", SETTING_BOOLEAN, MEMBER(profile), .help = "print the time by operation"},
};

/* A model of 2.3 million parameters for sentences as in Multi30k, which --set changes. */
static rotary_status plan_model(const struct invocation *invocation, struct transformer_config *model,
                                rotary_error *error)
{
    const struct translate_options *options = invocation->options;
    transformer_config_default(model);
    model->architecture = ARCHITECTURE_ENCODER_DECODER;
    model->hidden_size = 128;
    model->num_hidden_layers = 4;
    model->num_attention_heads = 4;
    model->num_key_value_heads = 0;
    model->intermediate_size = 256;
    model->vocab_size = model->source_vocab_size = 8000;
    model->max_position_embeddings = 256;
    model->tie_word_embeddings = model->share_encoder_decoder_embeddings = true;
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(model, settings);
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < options->assignments.count && status == ROTARY_OK; i++)
        status = settings_assign(settings, TRANSFORMER_SETTINGS, options->assignments.items[i], error);
    return status == ROTARY_OK ? transformer_config_check(model, error) : status;
}

static int64_t given_or(struct option_integer option, int64_t otherwise)
{
    return option.given ? option.value : otherwise;
}

static rotary_status print_result(const struct invocation *invocation, const struct backend *backend,
                                  const struct translate_benchmark *result, rotary_error *error)
{
    if (invocation->common.json) {
        json_t *object =
            json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "precision",
                      rotary_dtype_name(backend->storage), "isa", rotary_isa_name(backend->isa), "threads",
                      backend->threads, "sentences", (json_int_t)result->sentences, "tokens",
                      (json_int_t)result->tokens, "beams", (json_int_t)result->beams, "batch_size",
                      (json_int_t)result->batch_size, "seconds", result->seconds, "startup_seconds",
                      result->startup_seconds, "parameters", result->parameters);
        if (object && backend->profile)
            json_object_set_new(object, "profile", profile_table_json(backend->profile));
        return result_print_json(object, error);
    }
    printf("%s on %s, %d threads: %.2f M parameters, %lld sentences, %lld tokens of each, %lld beams\n",
           rotary_dtype_name(backend->storage), rotary_isa_name(backend->isa), backend->threads,
           result->parameters / 1e6, (long long)result->sentences, (long long)result->tokens,
           (long long)result->beams);
    printf("translation        %8.3f s\n", result->seconds);
    printf("sentences          %8.0f per second\n", (double)result->sentences / result->seconds);
    printf("startup            %8.3f s\n", result->startup_seconds);
    if (backend->profile)
        profile_table_print(backend->profile, "sentence", (double)result->sentences, &result->limits);
    return ROTARY_OK;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct translate_options *options = invocation->options;
    struct transformer_config model TRANSFORMER_CONFIG_LOCAL;
    struct backend backend;
    rotary_error error = {0};
    if (plan_model(invocation, &model, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    if (plan_backend(&invocation->common, (int)invocation->common.precision.value, &backend, &error) !=
        ROTARY_OK)
        return command_refuse(invocation, &error);
    struct profile profile = {0};
    backend.profile = options->profile ? &profile : NULL;
    struct translate_benchmark result = {.sentences = given_or(options->sentences, 1000),
                                         .source_tokens = given_or(options->source_tokens, 16),
                                         .tokens = given_or(options->tokens, 16),
                                         .beams = given_or(options->beams, 5),
                                         .batch_size = given_or(options->batch_size, 64)};
    const struct option_integer *seed = &invocation->common.seed;
    rotary_status status =
        benchmark_translate(&result, &model, (uint64_t)given_or(*seed, 1), &backend, &error);
    if (status == ROTARY_OK)
        status = print_result(invocation, &backend, &result, &error);
    backend_destroy(&backend);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_bench_translate = {
    .name = "bench translate",
    .operands = "",
    .summary = "times translation by beam search",
    .more =
        "A model with initial weights, of the size of one for Multi30k, translates random sentences, and no "
        "translation ends early.",
    .example = "rotary bench translate --beams 1 --profile\n"
               "translates 1000 sentences greedily, and shows where the time goes",
    .options = translate_table,
    .option_count = sizeof translate_table / sizeof translate_table[0],
    .options_size = sizeof(struct translate_options),
    .run = run,
};
