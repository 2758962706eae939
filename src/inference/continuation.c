/* SPDX-License-Identifier: Apache-2.0 */
#include "inference/continuation.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

const char *const continuation_finish_names[] = {"length", "stop", "end", NULL};

static rotary_status check_tokens(const struct continuation *made, rotary_error *error)
{
    for (int64_t i = 0; i < made->length; i++) {
        const int32_t token = made->tokens[i];
        if (token < made->config->vocabulary)
            continue;
        const struct token_text text = tokenizer_text(made->config->tokenizer, token);
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the prompt has the token \"%.*s\", which is %d: the model has 0 ... %lld",
                           (int)(text.count < 80 ? text.count : 80), text.bytes, (int)token,
                           (long long)made->config->vocabulary - 1);
    }
    return ROTARY_OK;
}

static rotary_status encode(struct continuation *made, int64_t bytes, rotary_error *error)
{
    const struct tokenizer *tokenizer = made->config->tokenizer;
    struct token_list counted = {0};
    rotary_status status = tokenizer_encode(tokenizer, made->prompt, bytes, &counted, error);
    if (status != ROTARY_OK)
        return status;
    made->length = counted.left_out;
    if (made->length == 0) /* white space, to a tokenizer of words */
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the prompt has no tokens, wanted at least one");
    made->length += made->config->begin >= 0;
    made->tokens = calloc((size_t)made->length, sizeof *made->tokens);
    if (!made->tokens)
        return rotary_fail_memory(error, "for a prompt and its continuation");
    struct token_list list = {.tokens = made->tokens, .capacity = made->length};
    if (made->config->begin >= 0)
        list.tokens[list.count++] = made->config->begin;
    status = tokenizer_encode(tokenizer, made->prompt, bytes, &list, error);
    return status == ROTARY_OK ? check_tokens(made, error) : status;
}

rotary_status continuation_create(struct continuation *continuation, const struct continuation_config *config,
                                  const char *prompt, int64_t bytes, rotary_error *error)
{
    struct continuation made = {.config = config, .prompt = calloc((size_t)bytes + 1, 1)};
    if (!made.prompt)
        return rotary_fail_memory(error, "for a prompt and its continuation");
    memcpy(made.prompt, prompt, (size_t)bytes);
    rotary_status status = encode(&made, bytes, error);
    if (status != ROTARY_OK) {
        continuation_free(&made);
        return status;
    }
    token_stream_start(&made.stream, config->tokenizer, made.tokens, made.length);
    stop_strings_start(&made.stop, config->stops->strings, config->stops->count);
    *continuation = made;
    return ROTARY_OK;
}

rotary_status continuation_reserve(struct continuation *continuation, int64_t max_new_tokens,
                                   rotary_error *error)
{
    continuation->max_new_tokens = max_new_tokens;
    continuation->generated = calloc((size_t)max_new_tokens, sizeof *continuation->generated);
    return continuation->generated ? ROTARY_OK
                                   : rotary_fail_memory(error, "for a prompt and its continuation");
}

/* Appends text to the continuation, and shows it. */
static rotary_status append(struct continuation *continuation, const char *text, int64_t bytes,
                            rotary_error *error)
{
    rotary_status status = text_buffer_append(&continuation->text, text, bytes, error);
    if (status == ROTARY_OK && bytes > 0 && continuation->config->show)
        continuation->config->show(text, bytes);
    return status;
}

/* Reads text up to a stop string. */
static rotary_status read_text(struct continuation *continuation, struct token_text text, rotary_error *error)
{
    const char *shown;
    int64_t bytes;
    rotary_status status =
        stop_strings_read(&continuation->stop, text.bytes, text.count, &shown, &bytes, error);
    if (status == ROTARY_OK)
        status = append(continuation, shown, bytes, error);
    if (continuation->stop.found >= 0)
        continuation->finish = FINISH_STOP;
    return status;
}

static bool has(const int32_t *tokens, int count, int32_t token)
{
    for (int i = 0; i < count; i++)
        if (tokens[i] == token)
            return true;
    return false;
}

bool continuation_read(struct continuation *continuation, int32_t token)
{
    struct token_text text;
    continuation->count++;
    const struct continuation_config *config = continuation->config;
    if (has(config->stops->tokens, config->stops->token_count, token))
        continuation->finish = FINISH_STOP;
    else if (has(config->ends, config->end_count, token))
        continuation->finish = FINISH_END;
    if (continuation->finish != FINISH_LENGTH)
        return true;
    /* A model may have more tokens than its tokenizer: they have no text. */
    if (token >= tokenizer_size(continuation->config->tokenizer))
        return continuation->count == continuation->max_new_tokens;
    rotary_error *error = &continuation->error;
    continuation->status = token_stream_add(&continuation->stream, token, &text, error);
    if (continuation->status == ROTARY_OK)
        continuation->status = read_text(continuation, text, error);
    return continuation->status != ROTARY_OK || continuation->finish != FINISH_LENGTH ||
           continuation->count == continuation->max_new_tokens;
}

rotary_status continuation_end(struct continuation *continuation, rotary_error *error)
{
    struct token_text text;
    const char *held;
    int64_t bytes;
    if (continuation->status != ROTARY_OK && error)
        *error = continuation->error;
    if (continuation->status != ROTARY_OK || continuation->stop.found >= 0)
        return continuation->status;
    rotary_status status = token_stream_end(&continuation->stream, &text, error);
    if (status == ROTARY_OK)
        status = read_text(continuation, text, error);
    if (continuation->stop.found >= 0 || status != ROTARY_OK)
        return status;
    stop_strings_end(&continuation->stop, &held, &bytes);
    return append(continuation, held, bytes, error);
}

void continuation_free(struct continuation *continuation)
{
    free(continuation->prompt);
    free(continuation->tokens);
    free(continuation->generated);
    text_buffer_free(&continuation->text);
    token_stream_free(&continuation->stream);
    stop_strings_free(&continuation->stop);
    *continuation = (struct continuation){0};
}
