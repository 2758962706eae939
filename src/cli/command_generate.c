/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary generate: continues a prompt.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/result.h"
#include "cli/run_plan.h"
#include "model/generation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_NEW_TOKENS = 100, MAX_NEW_TOKENS = 1 << 20 };

struct generate_options {
    const char *prompt, *stop;
    struct option_integer max_new_tokens, checkpoint;
    struct option_real temperature;
};

#define MEMBER(member) offsetof(struct generate_options, member)
static const struct setting generate_table[] = {
    {"--prompt", SETTING_TEXT, MEMBER(prompt), .metavar = "TEXT",
     .help = "the prompt, in the characters of the task; required"},
    {"--max-new-tokens", SETTING_INTEGER, MEMBER(max_new_tokens), .metavar = "N", .min = 1,
     .max = MAX_NEW_TOKENS,
     .help = "maximum number of characters to generate (default: 100, or as many as the model has positions "
             "for)"},
    {"--stop", SETTING_TEXT, MEMBER(stop), .metavar = "C",
     .help = "a character to stop after (default: none)"},
};

/* A prompt in tokens, and room for its continuation. */
struct text {
    int32_t *tokens;                /* of the prompt, [length] */
    int32_t *generated;             /* [max_new_tokens] */
    char *continuation;             /* ends with a zero byte */
    int64_t length, max_new_tokens; /* of the prompt; of the continuation, at most */
    int32_t stop;
};

static rotary_status fail_memory(rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a prompt and its continuation");
}

static rotary_status encode_prompt(const struct generate_options *options, const struct tokenizer *tokenizer,
                                   struct text *text, rotary_error *error)
{
    int64_t bytes = (int64_t)strlen(options->prompt);
    struct token_list counted = {0};
    rotary_status status = tokenizer_encode(tokenizer, options->prompt, bytes, &counted, error);
    if (status != ROTARY_OK)
        return status;
    text->length = counted.left_out;
    if (text->length == 0) /* white space, to a tokenizer of words */
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the prompt has no tokens, wanted at least one");
    text->tokens = calloc((size_t)text->length + 1, sizeof *text->tokens);
    if (!text->tokens)
        return fail_memory(error);
    struct token_list list = {.tokens = text->tokens, .capacity = text->length};
    return tokenizer_encode(tokenizer, options->prompt, bytes, &list, error);
}

/* Checks the options against the positions and the tokens of the model. */
static rotary_status fit(const struct generate_options *options, const struct loaded_model *model,
                         struct text *text, rotary_error *error)
{
    const struct tokenizer *tokenizer = task_tokenizer(model->task);
    rotary_status status = encode_prompt(options, tokenizer, text, error);
    if (status != ROTARY_OK)
        return status;
    int64_t positions = model->config.model.max_position_embeddings;
    int64_t room = positions - text->length;
    int64_t max_new_tokens = options->max_new_tokens.given ? options->max_new_tokens.value
                             : room < DEFAULT_NEW_TOKENS   ? room
                                                           : DEFAULT_NEW_TOKENS;
    if (room < 1 || max_new_tokens > room)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a prompt of %lld tokens and %lld new ones need %lld positions, the model has %lld",
            (long long)text->length, (long long)(max_new_tokens > 1 ? max_new_tokens : 1),
            (long long)(text->length + (max_new_tokens > 1 ? max_new_tokens : 1)), (long long)positions);
    text->max_new_tokens = max_new_tokens;
    text->stop = -1;
    if (!options->stop)
        return ROTARY_OK;
    struct token_list stop = {.tokens = &text->stop, .capacity = 1};
    if (tokenizer_encode(tokenizer, options->stop, (int64_t)strlen(options->stop), &stop, NULL) !=
            ROTARY_OK ||
        stop.count != 1 || stop.left_out > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--stop is \"%.80s\", wanted one token of the task", options->stop);
    return ROTARY_OK;
}

/* The text of the tokens generated, which ends with a zero byte. */
static rotary_status decode_continuation(const struct tokenizer *tokenizer, struct text *text,
                                         int64_t generated, rotary_error *error)
{
    int64_t bytes = tokenizer_decode(tokenizer, text->generated, generated, NULL, 0) + 1;
    text->continuation = calloc((size_t)bytes, 1);
    if (!text->continuation)
        return fail_memory(error);
    tokenizer_decode(tokenizer, text->generated, generated, text->continuation, bytes);
    return ROTARY_OK;
}

static rotary_status print_result(const struct invocation *invocation, const struct text *text,
                                  int64_t generated, rotary_error *error)
{
    const struct generate_options *options = invocation->options;
    if (invocation->common.json)
        return result_print_json(json_pack("{s:s, s:s, s:s, s:I}", "folder", invocation->operands.items[0],
                                           "prompt", options->prompt, "generated", text->continuation,
                                           "tokens", (json_int_t)generated),
                                 error);
    printf("%s%s\n", options->prompt, text->continuation);
    return ROTARY_OK;
}

static rotary_status continue_prompt(const struct invocation *invocation, const struct loaded_model *model,
                                     struct text *text, rotary_error *error)
{
    const struct generate_options *options = invocation->options;
    const struct option_integer *seed = &invocation->common.seed;
    text->generated = calloc((size_t)text->max_new_tokens, sizeof *text->generated);
    if (!text->generated)
        return fail_memory(error);
    struct generate_config config = {.max_new_tokens = text->max_new_tokens,
                                     .stop = text->stop,
                                     .temperature = (float)options->temperature.value,
                                     .seed =
                                         (uint64_t)(seed->given ? seed->value : model->config.train.seed)};
    const int32_t *prompt = text->tokens;
    int64_t generated = 0;
    const struct generate_call call = {.count = 1,
                                       .prompts = &prompt,
                                       .lengths = &text->length,
                                       .outputs = &text->generated,
                                       .generated = &generated};
    rotary_status status = generate(model->transformer, &config, &call, error);
    if (status == ROTARY_OK)
        status = decode_continuation(task_tokenizer(model->task), text, generated, error);
    return status == ROTARY_OK ? print_result(invocation, text, generated, error) : status;
}

static rotary_status check_architecture(const struct loaded_model *model, const char *folder,
                                        rotary_error *error)
{
    if (transformer_has_encoder(&model->config.model))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is the run of an encoder_decoder, which continues no prompt: wanted rotary "
                           "translate, or the run of a decoder",
                           folder);
    if (model->config.model.architecture == ARCHITECTURE_ENCODER)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s is the run of an encoder, which continues no prompt: wanted the run of a decoder", folder);
    return ROTARY_OK;
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct generate_options *options = invocation->options;
    rotary_error error = {0};
    if (!options->prompt || !options->prompt[0]) {
        (void)!rotary_fail(&error, ROTARY_INVALID_ARGUMENT,
                           "generate wants --prompt TEXT, at least one character");
        return command_refuse(invocation, &error);
    }
    struct loaded_model model;
    rotary_status status =
        plan_load(invocation->operands.items[0], (enum checkpoint_kind)options->checkpoint.value,
                  &invocation->common, &model, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    struct text text = {0};
    status = check_architecture(&model, invocation->operands.items[0], &error);
    if (status == ROTARY_OK)
        status = fit(options, &model, &text, &error);
    if (status == ROTARY_OK)
        status = continue_prompt(invocation, &model, &text, &error);
    free(text.tokens);
    free(text.generated);
    free(text.continuation);
    plan_unload(&model);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_generate = {
    .name = "generate",
    .operands = "DIR",
    .summary = "continues a prompt",
    .more = "DIR is a run's folder. The model generates character by character, with a KV cache.",
    .example = "rotary generate runs/mine --prompt \"?s='dyjeofuxvejmg'; s[8:]==\" --stop '#'\n"
               "prints the prompt and its continuation by a model trained on the task index",
    .shared = {{temperature_option, 1, MEMBER(temperature)}, {checkpoint_option, 1, MEMBER(checkpoint)}},
    .options = generate_table,
    .option_count = sizeof generate_table / sizeof generate_table[0],
    .options_size = sizeof(struct generate_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
