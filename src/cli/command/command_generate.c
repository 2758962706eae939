/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary generate: continues a prompt, or each line of a file.
 */
#include "base/fail.h"
#include "cli/command.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "inference/continuation_batch.h"
#include "text/text_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NEW_TOKENS = 1 << 20, DEFAULT_BATCH_SIZE = 16, MAX_BATCH_SIZE = 4096 };

struct generate_options {
    const char *prompt, *prompts;
    struct option_list stops;
    struct option_integer max_new_tokens, context, keep, top_k, batch_size, checkpoint;
    struct option_real temperature, top_p, min_p, repetition_penalty;
};

#define MEMBER(member) offsetof(struct generate_options, member)
static const struct setting generate_table[] = {
    {"--prompt", SETTING_TEXT, MEMBER(prompt), .metavar = "TEXT",
     .help = "the prompt; this or --prompts is required"},
    {"--prompts", SETTING_TEXT, MEMBER(prompts), .metavar = "FILE",
     .help = "a file with a prompt in each line, or - for the standard input"},
    {"--max-new-tokens", SETTING_INTEGER, MEMBER(max_new_tokens), .metavar = "N", .min = 1,
     .max = MAX_NEW_TOKENS,
     .help =
         "maximum number of tokens to generate (default: 100, or as many as the model has positions for)"},
    {"--context", SETTING_INTEGER, MEMBER(context), .metavar = "N", .min = 2, .max = 1 << 24,
     .help = "tokens that the model sees at most; where more come, half of them leave, the oldest first "
             "(default: the positions of the model, and no more come)"},
    {"--keep", SETTING_INTEGER, MEMBER(keep), .metavar = "N", .min = 0, .max = 1 << 24,
     .help = "with --context, the first N tokens never leave (default: 0)"},
    {"--stop", SETTING_LIST, MEMBER(stops), .metavar = "TEXT",
     .help = "end before this text, wherever its tokens begin, or at the special token of that name; may be "
             "given again"},
    {"--top-k", SETTING_INTEGER, MEMBER(top_k), .metavar = "K", .min = 1, .max = 1 << 24,
     .help = "with --temperature, sample from the K most probable tokens alone (default: all)"},
    {"--top-p", SETTING_REAL, MEMBER(top_p), .metavar = "P", .min = 1e-6, .max = 1,
     .help = "with --temperature, sample from the most probable tokens that have probability P together "
             "(default: 1)"},
    {"--min-p", SETTING_REAL, MEMBER(min_p), .metavar = "P", .min = 0, .max = 1,
     .help = "with --temperature, sample from the tokens that are at least P times as probable as the most "
             "probable one (default: 0)"},
    {"--repetition-penalty", SETTING_REAL, MEMBER(repetition_penalty), .metavar = "X", .min = 1e-3,
     .max = 1e3,
     .help = "divide the logits of tokens of the text so far by X, or multiply negative ones (default: 1)"},
    {"--batch-size", SETTING_INTEGER, MEMBER(batch_size), .metavar = "N", .min = 1, .max = MAX_BATCH_SIZE,
     .help = "prompts of --prompts that are continued together, which changes no text (default: 16)"},
};

static rotary_status check_options(const struct generate_options *options, struct sampler_config *sampler,
                                   rotary_error *error)
{
    if (options->prompt && options->prompts)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--prompt and --prompts exclude each other");
    if (!options->prompts && !(options->prompt && options->prompt[0]))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "generate wants --prompt TEXT, at least one character, or --prompts FILE");
    if (options->batch_size.given && !options->prompts)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--batch-size without --prompts: one prompt is continued");
    if (options->keep.given && !options->context.given)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--keep without --context: no tokens leave");
    if (options->context.given && options->keep.value > options->context.value - 2)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--keep is %lld of a --context of %lld, wanted at least two less",
                           (long long)options->keep.value, (long long)options->context.value);
    for (int i = 0; i < options->stops.count; i++)
        if (!options->stops.items[i][0])
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--stop is empty, wanted a text");
    *sampler = (struct sampler_config){.temperature = options->temperature.value,
                                       .top_k = options->top_k.value,
                                       .top_p = options->top_p.value,
                                       .min_p = options->min_p.value,
                                       .repetition_penalty = options->repetition_penalty.value};
    return sampler_check(sampler, error);
}

struct generation {
    const struct invocation *invocation;
    struct continuation_batch batch;
    json_t *results; /* of --json */
};

/* ---- Results. ---- */

static json_t *continuation_json(const struct continuation *of)
{
    return json_pack("{s:s, s:s%, s:I, s:I, s:s}", "prompt", of->prompt, "generated",
                     of->text.count > 0 ? of->text.bytes : "", (size_t)of->text.count, "prompt_tokens",
                     (json_int_t)of->length, "tokens", (json_int_t)of->count, "finish",
                     continuation_finish_names[of->finish]);
}

/* One line, so that line i belongs to prompt i: line ends in the text are written as \n. */
static void print_line(const struct continuation *of)
{
    fputs(of->prompt, stdout);
    for (int64_t i = 0; i < of->text.count; i++)
        if (of->text.bytes[i] == '\n')
            fputs("\\n", stdout);
        else
            putchar(of->text.bytes[i]);
    putchar('\n');
}

static rotary_status keep_results(struct generation *generation, rotary_error *error)
{
    for (int64_t i = 0; i < generation->batch.count; i++) {
        if (!generation->invocation->common.json)
            print_line(&generation->batch.continuations[i]);
        else if (json_array_append_new(generation->results,
                                       continuation_json(&generation->batch.continuations[i])) != 0)
            return rotary_fail_memory(error, "for the results");
    }
    fflush(stdout);
    return ROTARY_OK;
}

static void stream(const char *text, int64_t bytes)
{
    fwrite(text, 1, (size_t)bytes, stdout);
    fflush(stdout); /* main reports what stdout cannot take */
}

static rotary_status continue_prompt(struct generation *generation, rotary_error *error)
{
    const struct invocation *invocation = generation->invocation;
    const struct generate_options *options = invocation->options;
    generation->batch.texts.show = invocation->common.json ? NULL : stream;
    rotary_status status =
        continuation_batch_add(&generation->batch, options->prompt, (int64_t)strlen(options->prompt), error);
    if (status == ROTARY_OK && !invocation->common.json)
        fputs(options->prompt, stdout);
    if (status == ROTARY_OK)
        status = continuation_batch_run(&generation->batch, error);
    if (status != ROTARY_OK)
        return status;
    if (!invocation->common.json) {
        putchar('\n');
        return ROTARY_OK;
    }
    json_t *object = json_pack("{s:s}", "folder", invocation->operands.items[0]);
    json_object_update_new(object, continuation_json(&generation->batch.continuations[0]));
    return result_print_json(object, error);
}

/* Says which line an error is about. */
static rotary_status fail_line(const char *path, int64_t number, rotary_status status, rotary_error *error)
{
    rotary_error cause = *error;
    return rotary_fail(error, status, "%.200s, line %lld: %.300s",
                       strcmp(path, "-") == 0 ? "the standard input" : path, (long long)number,
                       cause.message);
}

/* Reads prompts until the batch is full or there are no more. */
static rotary_status read_prompts(struct generation *generation, struct text_reader *reader, bool *more,
                                  rotary_error *error)
{
    const struct generate_options *options = generation->invocation->options;
    rotary_status status = ROTARY_OK;
    while (status == ROTARY_OK && *more && generation->batch.count < generation->batch.capacity) {
        struct text_line line;
        status = text_reader_next(reader, &line, error);
        *more = status == ROTARY_OK && line.bytes;
        if (!*more)
            break;
        status = continuation_batch_add(&generation->batch, line.bytes, line.count, error);
        if (status != ROTARY_OK)
            return fail_line(options->prompts, reader->number, status, error);
    }
    return status;
}

static rotary_status continue_prompts(struct generation *generation, rotary_error *error)
{
    const struct invocation *invocation = generation->invocation;
    const struct generate_options *options = invocation->options;
    struct text_reader reader;
    bool more = true;
    rotary_status status =
        text_reader_open(&reader, strcmp(options->prompts, "-") == 0 ? NULL : options->prompts, error);
    while (status == ROTARY_OK && more) {
        status = read_prompts(generation, &reader, &more, error);
        if (status == ROTARY_OK && generation->batch.count > 0)
            status = continuation_batch_run(&generation->batch, error);
        if (status == ROTARY_OK)
            status = keep_results(generation, error);
        continuation_batch_clear(&generation->batch);
    }
    text_reader_close(&reader);
    if (status != ROTARY_OK || !invocation->common.json)
        return status;
    return result_print_json(
        json_pack("{s:s, s:O}", "folder", invocation->operands.items[0], "results", generation->results),
        error);
}

/* ---- The command. ---- */

static rotary_status check_model(const struct generate_options *options, const struct loaded_model *model,
                                 const char *folder, rotary_error *error)
{
    int64_t positions = model->config.model.max_position_embeddings;
    if (options->context.value > positions)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--context is %lld: the model has %lld positions",
                           (long long)options->context.value, (long long)positions);
    if (model->pretrained.transformer && model->config.model.architecture == ARCHITECTURE_ENCODER)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s: \"is_causal\" of config.json is false: such a model continues no prompt, wanted a "
            "causal model",
            folder);
    if (!model->tokenizer)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s has neither tokenizer.json nor tokenizer.model: wanted one of them", folder);
    if (transformer_has_encoder(&model->config.model))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is the run of an encoder_decoder, which continues no prompt: wanted rotary "
                           "translate, or the run of a decoder",
                           folder);
    if (model->config.model.architecture == ARCHITECTURE_ENCODER)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s is the run of an encoder, which continues no prompt: wanted the run of a decoder", folder);
    return options->context.given ? transformer_check_shift(model->transformer, error) : ROTARY_OK;
}

static rotary_status find_stops(struct stop_texts *stops, const struct loaded_model *model,
                                const struct option_list *given, rotary_error *error)
{
    rotary_error wrong = {0};
    rotary_status status = stop_texts_create(stops, model->tokenizer, given->items, given->count, &wrong);
    if (status != ROTARY_OK)
        return rotary_fail(error, status, "--stop %s", wrong.message);
    const int64_t size = model->config.model.vocab_size;
    for (int i = 0; i < stops->token_count; i++)
        if (stops->tokens[i] >= size)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "--stop names token %d, which cannot occur: the model has 0 ... %lld",
                               (int)stops->tokens[i], (long long)size - 1);
    return ROTARY_OK;
}

/* A tokenizer may have an end that its model's files do not name; nothing is to end unseen, or not to. */
static void say_ends(const struct loaded_model *model, const char *folder)
{
    if (model->pretrained.ends.none_said && model->pretrained.end >= 0)
        fprintf(stderr,
                "note: %s/generation_config.json names no eos_token_id, so no token ends a text, as in "
                "transformers\n",
                folder);
}

static rotary_status generate_with(const struct invocation *invocation, const struct loaded_model *model,
                                   const struct sampler_config *sampler, rotary_error *error)
{
    const struct generate_options *options = invocation->options;
    const struct option_integer *seed = &invocation->common.seed, *batch = &options->batch_size;
    const int32_t own_end = model->tokenizer ? tokenizer_special(model->tokenizer).end : -1;
    const bool pretrained = model->pretrained.transformer != NULL;
    struct stop_texts stops = {0};
    struct generation generation = {
        .invocation = invocation,
        .results = json_array(),
        .batch = {.model = model,
                  .config = {.stop = -1,
                             .sampler = *sampler,
                             .max_new_tokens = options->max_new_tokens.value,
                             .context = options->context.value,
                             .keep = options->keep.value,
                             .seed = (uint64_t)(seed->given ? seed->value : model->config.train.seed)},
                  .texts = {.tokenizer = model->tokenizer,
                            .begin = model->begin,
                            .vocabulary = model->config.model.vocab_size,
                            .stops = &stops,
                            .ends = pretrained ? model->pretrained.ends.tokens : &own_end,
                            .end_count = pretrained ? model->pretrained.ends.count : own_end >= 0},
                  .capacity = !options->prompts ? 1
                              : batch->given    ? batch->value
                                                : DEFAULT_BATCH_SIZE}};
    rotary_status status = check_model(options, model, invocation->operands.items[0], error);
    if (status == ROTARY_OK)
        status = find_stops(&stops, model, &options->stops, error);
    if (status == ROTARY_OK)
        status = continuation_batch_create(&generation.batch, error);
    if (status == ROTARY_OK)
        say_ends(model, invocation->operands.items[0]);
    if (status == ROTARY_OK)
        status =
            options->prompts ? continue_prompts(&generation, error) : continue_prompt(&generation, error);
    continuation_batch_free(&generation.batch);
    json_decref(generation.results);
    stop_texts_free(&stops);
    return status;
}

/* Tokens of the prompt, of which there are no more than bytes, and of its continuation; 0: not known. */
static int64_t count_tokens(const struct generate_options *options)
{
    const struct option_integer *added = &options->max_new_tokens;
    if (!options->prompt)
        return 0;
    return 1 + (int64_t)strlen(options->prompt) + (added->given ? added->value : USUAL_NEW_TOKENS);
}

static enum exit_status run(const struct invocation *invocation)
{
    const struct generate_options *options = invocation->options;
    struct sampler_config sampler;
    rotary_error error = {0};
    if (check_options(options, &sampler, &error) != ROTARY_OK)
        return command_refuse(invocation, &error);
    const struct loaded_model_call call = {.folder = invocation->operands.items[0],
                                           .checkpoint = (enum checkpoint_kind)options->checkpoint.value,
                                           .backend = plan_model_backend(&invocation->common),
                                           .need = TASK_TOKENIZERS,
                                           .takes_pretrained = true,
                                           .tokens = count_tokens(options)};
    struct loaded_model model;
    rotary_status status = plan_open_model(&call, &model, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    status = generate_with(invocation, &model, &sampler, &error);
    loaded_model_close(&model);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

const struct command command_generate = {
    .name = "generate",
    .operands = "DIR",
    .summary = "continues prompts",
    .more =
        "DIR is a run's folder, or that of a Hugging Face decoder (docs/how-to/huggingface.md). The model "
        "generates token by token, with a KV cache, and each is printed as "
        "soon as it is there. Of --prompts each line is printed with its continuation, in which line ends "
        "are "
        "written as \\n; --json has the text as it is. docs/how-to/generate.md says how tokens are chosen.",
    .example = "rotary generate runs/mine --prompt \"?s='dyjeofuxvejmg'; s[8:]==\" --stop '#'\n"
               "prints the prompt and its continuation by a model trained on the task index",
    .shared = {{temperature_option, 1, MEMBER(temperature)}, {checkpoint_option, 1, MEMBER(checkpoint)}},
    .options = generate_table,
    .option_count = sizeof generate_table / sizeof generate_table[0],
    .options_size = sizeof(struct generate_options),
    .min_operands = 1,
    .max_operands = 1,
    .on_device = true,
    .run = run,
};
