/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/scored_text.h"

#include "base/fail.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "inference/text_score.h"

#include <math.h>
#include <stdio.h>

enum { MAX_CONTEXT = 1 << 20 };

#define MEMBER(member) offsetof(struct scored_text_options, member)
const struct setting scored_text_rows[SCORED_TEXT_ROWS] = {
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

bool scored_text_wanted(const struct scored_text_options *options)
{
    return options->text || options->tokens;
}

rotary_status scored_text_check(const struct scored_text_options *options, rotary_error *error)
{
    const char *alone = options->context.given  ? "--context"
                        : options->stride.given ? "--stride"
                        : options->logits       ? "--logits"
                                                : NULL;
    if (alone && !scored_text_wanted(options))
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

static json_t *score_json(const struct text_score_call *call, const struct text_score *score)
{
    const struct text_evaluation *evaluation = &score->evaluation;
    const double nats = text_score_nats_per_token(score);
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "folder", call->folder, "tokens",
                  (json_int_t)score->tokens, "scored", (json_int_t)evaluation->scored, "windows",
                  (json_int_t)evaluation->windows, "context", (json_int_t)call->context, "stride",
                  (json_int_t)call->stride, "nats_per_token", nats, "perplexity", exp(nats), "accuracy",
                  (double)evaluation->correct / (double)evaluation->scored);
    if (object && score->bytes > 0) {
        json_object_set_new(object, "bytes", json_integer((json_int_t)score->bytes));
        json_object_set_new(object, "bits_per_byte", json_real(text_score_bits_per_byte(score)));
    }
    return object;
}

static void print_score(const struct text_score_call *call, const struct text_score *score)
{
    const struct text_evaluation *evaluation = &score->evaluation;
    const double nats = text_score_nats_per_token(score);
    printf("%lld tokens, %lld scored in %lld windows of %lld: %.4f nats per token, perplexity %.4f",
           (long long)score->tokens, (long long)evaluation->scored, (long long)evaluation->windows,
           (long long)call->context, nats, exp(nats));
    if (score->bytes > 0)
        printf(", %.4f bits per byte", text_score_bits_per_byte(score));
    putchar('\n');
}

/* A model whose tokens see all others has nothing else to print. */
static json_t *logits_json(const struct text_score_call *call, const struct text_score *score)
{
    return json_pack("{s:s, s:I, s:s}", "folder", call->folder, "tokens", (json_int_t)score->tokens, "logits",
                     call->logits);
}

static rotary_status print(const struct invocation *invocation, const struct text_score_call *call,
                           const struct text_score *score, rotary_error *error)
{
    if (invocation->common.json)
        return result_print_json(score->scored ? score_json(call, score) : logits_json(call, score), error);
    if (score->scored)
        print_score(call, score);
    else
        printf("%lld tokens, their logits in %s\n", (long long)score->tokens, call->logits);
    return ROTARY_OK;
}

enum exit_status scored_text_run(const struct invocation *invocation,
                                 const struct scored_text_options *options, enum checkpoint_kind checkpoint)
{
    rotary_error error = {0};
    struct loaded_model model;
    struct text_score result;
    struct text_score_call call = {.model = &model,
                                   .folder = invocation->operands.items[0],
                                   .text = options->text,
                                   .tokens = options->tokens,
                                   .logits = options->logits,
                                   .context = options->context.value,
                                   .stride = options->stride.value};
    rotary_status status = text_score_windows(call.folder, &call.context, &call.stride, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    const struct loaded_model_call load = {.folder = call.folder,
                                           .checkpoint = checkpoint,
                                           .backend = plan_model_backend(&invocation->common),
                                           .need = TASK_TOKENIZERS,
                                           .batch = 1,
                                           .time = call.context,
                                           .tokens = call.context,
                                           .takes_pretrained = true};
    status = plan_open_model(&load, &model, &error);
    if (status != ROTARY_OK)
        return command_fail(&error);
    status = text_score_run(&call, &result, &error);
    if (status == ROTARY_OK)
        status = print(invocation, &call, &result, &error);
    loaded_model_close(&model);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}
