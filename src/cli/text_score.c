/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text_score.h"

#include "base/fail.h"
#include "base/integer.h"
#include "cli/result.h"
#include "cli/run_plan.h"
#include "file/file.h"
#include "file/npy.h"
#include "train/evaluation/text_evaluation.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONTEXT = 1 << 20, USUAL_CONTEXT = 2048 };
static const size_t max_text_bytes = (size_t)1 << 31;

#define MEMBER(member) offsetof(struct text_score_options, member)
const struct setting text_score_rows[TEXT_SCORE_ROWS] = {
    {"--text", SETTING_TEXT, MEMBER(text), .metavar = "FILE",
     .help = "score this text instead of the task, by windows: nats per token, perplexity, bits per byte"},
    {"--tokens", SETTING_TEXT, MEMBER(tokens), .metavar = "FILE",
     .help = "likewise the tokens whose numbers the file has, such as [1, 15, 7]"},
    {"--context", SETTING_INTEGER, MEMBER(context), .metavar = "N", .min = 2, .max = MAX_CONTEXT,
     .help =
         "with --text or --tokens, tokens of a window (default: the positions of the model, at most 2048)"},
    {"--stride", SETTING_INTEGER, MEMBER(stride), .metavar = "N", .min = 1, .max = MAX_CONTEXT,
     .help =
         "with --text or --tokens, tokens from one window to the next, of which only those are scored that "
         "no window had before (default: half of the context)"},
    {"--logits", SETTING_TEXT, MEMBER(logits), .metavar = "FILE",
     .help = "with --text or --tokens that fit in a window: write the logits of every token, a .npy file of "
             "[tokens, vocab_size]"},
};

/* What is scored. */
struct scored {
    char *text;
    size_t bytes; /* of the text; 0 of tokens */
    int32_t *tokens;
    int64_t count;
    int64_t context, stride;
    struct text_evaluation evaluation;
};

bool text_score_wanted(const struct text_score_options *options)
{
    return options->text || options->tokens;
}

rotary_status text_score_check(const struct text_score_options *options, rotary_error *error)
{
    const char *alone = options->context.given  ? "--context"
                        : options->stride.given ? "--stride"
                        : options->logits       ? "--logits"
                                                : NULL;
    if (alone && !text_score_wanted(options))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s without --text or --tokens: wanted one of them", alone);
    if (options->text && options->tokens)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--text and --tokens: wanted one of them");
    if (options->context.given && options->stride.given && options->stride.value > options->context.value)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--stride is %lld and --context %lld: wanted a stride of at most the context",
                           (long long)options->stride.value, (long long)options->context.value);
    return ROTARY_OK;
}

/* ---- the tokens ---- */

static rotary_status fail_memory(rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the tokens of a text");
}

/* The tokens of the text, after the token that texts begin with. */
static rotary_status encode(const struct loaded_model *model, struct scored *scored, rotary_error *error)
{
    struct token_list counted = {0};
    rotary_status status =
        tokenizer_encode(model->tokenizer, scored->text, (int64_t)scored->bytes, &counted, error);
    if (status != ROTARY_OK)
        return status;
    scored->tokens = calloc((size_t)counted.left_out + 1, sizeof *scored->tokens);
    if (!scored->tokens)
        return fail_memory(error);
    struct token_list list = {.tokens = scored->tokens, .capacity = counted.left_out + 1};
    if (model->begin >= 0)
        list.tokens[list.count++] = model->begin;
    status = tokenizer_encode(model->tokenizer, scored->text, (int64_t)scored->bytes, &list, error);
    scored->count = list.count;
    return status;
}

/* The numbers of a file, with white space, commas and brackets between them. */
static rotary_status read_numbers(const char *path, struct scored *scored, rotary_error *error)
{
    scored->tokens = calloc(scored->bytes / 2 + 1, sizeof *scored->tokens);
    if (!scored->tokens)
        return fail_memory(error);
    for (const char *at = scored->text; *at;) {
        if (isspace((unsigned char)*at) || strchr("[],", *at)) {
            at++;
            continue;
        }
        char *end;
        errno = 0;
        const long number = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1;
        if (errno != 0 || number < 0 || number > INT32_MAX)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: byte %lld begins no number of a token", path,
                               (long long)(at - scored->text) + 1);
        scored->tokens[scored->count++] = (int32_t)number;
        at = end;
    }
    scored->bytes = 0;
    return ROTARY_OK;
}

static rotary_status check_numbers(const char *path, const struct loaded_model *model,
                                   const struct scored *scored, rotary_error *error)
{
    const int64_t vocabulary = model->config.model.vocab_size;
    for (int64_t i = 0; i < scored->count; i++)
        if (scored->tokens[i] >= vocabulary)
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: token %lld is %d, wanted 0 ... %lld, the vocabulary", path, (long long)i,
                               (int)scored->tokens[i], (long long)vocabulary - 1);
    return ROTARY_OK;
}

static rotary_status read_tokens(const struct text_score_options *options, const struct loaded_model *model,
                                 const char *folder, struct scored *scored, rotary_error *error)
{
    const char *path = options->text ? options->text : options->tokens;
    rotary_status status = file_read(path, max_text_bytes, &scored->text, &scored->bytes, error);
    if (status != ROTARY_OK)
        return status;
    if (options->tokens) {
        status = read_numbers(path, scored, error);
        return status == ROTARY_OK ? check_numbers(path, model, scored, error) : status;
    }
    if (!model->tokenizer)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s has neither tokenizer.json nor tokenizer.model: wanted one of them, or --tokens", folder);
    return encode(model, scored, error);
}

/* ---- scores ---- */

static rotary_status write_logits(const struct text_score_options *options, const struct loaded_model *model,
                                  const struct scored *scored, rotary_error *error)
{
    const int64_t vocabulary = model->config.model.vocab_size;
    if (scored->count > scored->context)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--logits of %lld tokens in a context of %lld: wanted tokens that fit in a window",
                           (long long)scored->count, (long long)scored->context);
    float *logits = calloc((size_t)(scored->count * vocabulary), sizeof *logits);
    if (!logits)
        return fail_memory(error);
    const struct batch batch = {.input = {.batch = 1, .time = scored->count, .tokens = scored->tokens}};
    rotary_status status = transformer_logits(model->transformer, &batch, logits, error);
    const struct npy array = {
        .type = NPY_F32, .dimensions = 2, .shape = {scored->count, vocabulary}, .data = logits};
    if (status == ROTARY_OK)
        status = npy_write(options->logits, &array, error);
    free(logits);
    return status;
}

static double nats_per_token(const struct text_evaluation *evaluation)
{
    return evaluation->nats / (double)evaluation->scored;
}

static json_t *score_json(const char *folder, const struct scored *scored)
{
    const struct text_evaluation *evaluation = &scored->evaluation;
    const double nats = nats_per_token(evaluation);
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "folder", folder, "tokens",
                  (json_int_t)scored->count, "scored", (json_int_t)evaluation->scored, "windows",
                  (json_int_t)evaluation->windows, "context", (json_int_t)scored->context, "stride",
                  (json_int_t)scored->stride, "nats_per_token", nats, "perplexity", exp(nats), "accuracy",
                  (double)evaluation->correct / (double)evaluation->scored);
    if (object && scored->bytes > 0) {
        json_object_set_new(object, "bytes", json_integer((json_int_t)scored->bytes));
        json_object_set_new(object, "bits_per_byte",
                            json_real(evaluation->nats / log(2.0) / (double)scored->bytes));
    }
    return object;
}

static rotary_status print_score(const struct invocation *invocation, const struct scored *scored,
                                 rotary_error *error)
{
    const struct text_evaluation *evaluation = &scored->evaluation;
    const double nats = nats_per_token(evaluation);
    if (invocation->common.json)
        return result_print_json(score_json(invocation->operands.items[0], scored), error);
    printf("%lld tokens, %lld scored in %lld windows of %lld: %.4f nats per token, perplexity %.4f",
           (long long)scored->count, (long long)evaluation->scored, (long long)evaluation->windows,
           (long long)scored->context, nats, exp(nats));
    if (scored->bytes > 0)
        printf(", %.4f bits per byte", evaluation->nats / log(2.0) / (double)scored->bytes);
    putchar('\n');
    return ROTARY_OK;
}

/* A model whose tokens see all others has nothing else to print. */
static rotary_status print_logits(const struct invocation *invocation,
                                  const struct text_score_options *options, const struct scored *scored,
                                  rotary_error *error)
{
    if (invocation->common.json)
        return result_print_json(json_pack("{s:s, s:I, s:s}", "folder", invocation->operands.items[0],
                                           "tokens", (json_int_t)scored->count, "logits", options->logits),
                                 error);
    printf("%lld tokens, their logits in %s\n", (long long)scored->count, options->logits);
    return ROTARY_OK;
}

static rotary_status score(const struct invocation *invocation, const struct text_score_options *options,
                           const struct loaded_model *model, struct scored *scored, rotary_error *error)
{
    const bool sees_all = model->config.model.architecture != ARCHITECTURE_DECODER;
    rotary_status status = read_tokens(options, model, invocation->operands.items[0], scored, error);
    if (status == ROTARY_OK && options->logits)
        status = write_logits(options, model, scored, error);
    if (sees_all)
        return status == ROTARY_OK ? print_logits(invocation, options, scored, error) : status;
    const struct text_evaluation_call call = {.transformer = model->transformer,
                                              .tokens = scored->tokens,
                                              .count = scored->count,
                                              .context = scored->context,
                                              .stride = scored->stride};
    if (status == ROTARY_OK)
        status = text_evaluation_run(&call, &scored->evaluation, error);
    return status == ROTARY_OK ? print_score(invocation, scored, error) : status;
}

/* Whether the model says what was asked for. One whose tokens see all others has logits, and no text is
 * probable by them. */
static rotary_status check_kind(const struct text_score_options *options, const struct loaded_model *model,
                                const char *folder, rotary_error *error)
{
    if (model->config.model.architecture == ARCHITECTURE_DECODER)
        return ROTARY_OK;
    if (!model->pretrained.transformer)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is no decoder, which alone says how probable a text is: leave out --text",
                           folder);
    if (options->logits)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s: \"is_causal\" of config.json is false, so that every token sees the one to be "
                       "predicted, and no text is scored: wanted a causal model, or --logits FILE",
                       folder);
}

/* The context, unless it was given: all positions, but no more than are usual. */
static int64_t choose_context(const struct text_score_options *options, int64_t positions)
{
    return options->context.given ? options->context.value : max_i64(2, min_i64(positions, USUAL_CONTEXT));
}

enum exit_status text_score_run(const struct invocation *invocation, const struct text_score_options *options,
                                enum checkpoint_kind checkpoint)
{
    struct scored scored = {0};
    rotary_error error = {0};
    struct loaded_model model;
    int64_t positions;
    const char *folder = invocation->operands.items[0];
    rotary_status status = loaded_model_positions(folder, &positions, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    scored.context = choose_context(options, positions);
    scored.stride = options->stride.given ? options->stride.value : max_i64(scored.context / 2, 1);
    const struct loaded_model_call load = {.folder = folder,
                                           .checkpoint = checkpoint,
                                           .backend = plan_model_backend(&invocation->common),
                                           .need = TASK_TOKENIZERS,
                                           .batch = 1,
                                           .time = scored.context,
                                           .tokens = scored.context,
                                           .takes_pretrained = true};
    status = plan_open_model(&load, &model, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    status = check_kind(options, &model, folder, &error);
    if (status == ROTARY_OK)
        status = score(invocation, options, &model, &scored, &error);
    free(scored.text);
    free(scored.tokens);
    loaded_model_close(&model);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}
