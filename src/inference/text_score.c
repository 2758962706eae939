/* SPDX-License-Identifier: Apache-2.0 */
#include "inference/text_score.h"

#include "base/fail.h"
#include "base/integer.h"
#include "file/file.h"
#include "file/npy.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_CONTEXT = 2048 };
static const size_t max_text_bytes = (size_t)1 << 31;

rotary_status text_score_windows(const char *folder, int64_t *context, int64_t *stride, rotary_error *error)
{
    int64_t positions;
    rotary_status status = loaded_model_positions(folder, &positions, error);
    if (status != ROTARY_OK)
        return status;
    if (*context == 0)
        *context = max_i64(2, min_i64(positions, USUAL_CONTEXT));
    if (*stride == 0)
        *stride = max_i64(*context / 2, 1);
    return ROTARY_OK;
}

/* What is scored. */
struct scored {
    char *text;
    size_t bytes; /* of the text; 0 of tokens */
    int32_t *tokens;
    int64_t count;
};

/* ---- the tokens ---- */

static const char *path_of(const struct text_score_call *call)
{
    return call->text ? call->text : call->tokens;
}

/* Says which file the text is of. */
static rotary_status fail_file(const char *path, rotary_status status, const rotary_error *inner,
                               rotary_error *error)
{
    return status == ROTARY_OK ? status : rotary_fail(error, status, "%.300s: %.600s", path, inner->message);
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
        return rotary_fail_memory(error, "for the tokens of a text");
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
        return rotary_fail_memory(error, "for the tokens of a text");
    /* The file ends by its length, as a zero byte within it is to be refused and not to end it. */
    const char *const stop = scored->text + scored->bytes;
    for (const char *at = scored->text; at < stop;) {
        if (isspace((unsigned char)*at) || memchr("[],", *at, 3)) {
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

static rotary_status read_tokens(const struct text_score_call *call, struct scored *scored,
                                 rotary_error *error)
{
    const struct loaded_model *model = call->model;
    const char *path = path_of(call);
    rotary_error inner = {0};
    rotary_status status = file_read(path, max_text_bytes, &scored->text, &scored->bytes, error);
    if (status != ROTARY_OK)
        return status;
    if (call->tokens) {
        status = read_numbers(path, scored, error);
        return status == ROTARY_OK ? check_numbers(path, model, scored, error) : status;
    }
    if (!model->tokenizer)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s has neither tokenizer.json nor tokenizer.model: wanted one of them, or --tokens",
            call->folder);
    return fail_file(path, encode(model, scored, &inner), &inner, error);
}

/* ---- scores ---- */

static rotary_status check_window(const struct text_score_call *call, const struct scored *scored,
                                  rotary_error *error)
{
    if (!call->logits || scored->count <= call->context)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "--logits of %lld tokens in a context of %lld: wanted tokens that fit in a window",
                       (long long)scored->count, (long long)call->context);
}

static rotary_status write_logits(const struct text_score_call *call, const struct scored *scored,
                                  rotary_error *error)
{
    const int64_t vocabulary = call->model->config.model.vocab_size;
    float *logits = calloc((size_t)(scored->count * vocabulary), sizeof *logits);
    if (!logits)
        return rotary_fail_memory(error, "for the tokens of a text");
    const struct batch batch = {.input = {.batch = 1, .time = scored->count, .tokens = scored->tokens}};
    rotary_status status = transformer_logits(call->model->transformer, &batch, logits, error);
    const struct npy array = {
        .type = NPY_F32, .dimensions = 2, .shape = {scored->count, vocabulary}, .data = logits};
    if (status == ROTARY_OK)
        status = npy_write(call->logits, &array, error);
    free(logits);
    return status;
}

/* Whether the model says what was asked for. One whose tokens see all others has logits, and no text is
 * probable by them. */
static rotary_status check_kind(const struct text_score_call *call, rotary_error *error)
{
    const struct loaded_model *model = call->model;
    if (model->config.model.architecture == ARCHITECTURE_DECODER)
        return ROTARY_OK;
    if (!model->pretrained.transformer)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is no decoder, which alone says how probable a text is: leave out --text",
                           call->folder);
    if (call->logits)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s: \"is_causal\" of config.json is false, so that every token sees the one to be "
                       "predicted, and no text is scored: wanted a causal model, or --logits FILE",
                       call->folder);
}

static rotary_status evaluate(const struct text_score_call *call, const struct scored *scored,
                              struct text_score *score, rotary_error *error)
{
    const struct text_evaluation_call evaluation = {.transformer = call->model->transformer,
                                                    .tokens = scored->tokens,
                                                    .count = scored->count,
                                                    .context = call->context,
                                                    .stride = call->stride};
    rotary_error inner = {0};
    rotary_status status = text_evaluation_run(&evaluation, &score->evaluation, &inner);
    if (status != ROTARY_OK)
        return fail_file(path_of(call), status, &inner, error);
    const double nats = score->evaluation.nats;
    if (isfinite(nats))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%.300s: the model's loss is not a number: it is %s on %.300s, wanted a finite one",
                       call->folder, isnan(nats) ? "NaN" : "infinite", path_of(call));
}

/* The logits are written last, so that there is no file where the text has no score. */
static rotary_status score_text(const struct text_score_call *call, struct scored *scored,
                                struct text_score *score, rotary_error *error)
{
    rotary_status status = read_tokens(call, scored, error);
    score->tokens = scored->count;
    score->bytes = (int64_t)scored->bytes;
    if (status == ROTARY_OK)
        status = check_window(call, scored, error);
    if (status == ROTARY_OK && score->scored)
        status = evaluate(call, scored, score, error);
    if (status == ROTARY_OK && call->logits)
        status = write_logits(call, scored, error);
    return status;
}

rotary_status text_score_run(const struct text_score_call *call, struct text_score *score,
                             rotary_error *error)
{
    struct scored scored = {0};
    *score = (struct text_score){.scored = call->model->config.model.architecture == ARCHITECTURE_DECODER};
    rotary_status status = check_kind(call, error);
    if (status == ROTARY_OK)
        status = score_text(call, &scored, score, error);
    free(scored.text);
    free(scored.tokens);
    return status;
}

double text_score_nats_per_token(const struct text_score *score)
{
    return score->evaluation.nats / (double)score->evaluation.scored;
}

double text_score_bits_per_byte(const struct text_score *score)
{
    return score->evaluation.nats / log(2.0) / (double)score->bytes;
}
