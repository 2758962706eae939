/* SPDX-License-Identifier: Apache-2.0
 *
 * A prompt and its continuation, which grows token by token and ends at a stop text, at an end token, or when
 * it is as long as it may be.
 */
#ifndef ROTARY_INFERENCE_CONTINUATION_H
#define ROTARY_INFERENCE_CONTINUATION_H

#include "text/stop_strings.h"
#include "text/stop_texts.h"
#include "text/token_stream.h"

enum continuation_finish { FINISH_LENGTH, FINISH_STOP, FINISH_END };
extern const char *const continuation_finish_names[]; /* "length", "stop", "end" */

/* What the continuations of a command have in common. All pointers are borrowed. */
struct continuation_config {
    const struct tokenizer *tokenizer;
    const struct stop_texts *stops;
    const int32_t *ends; /* [end_count]: tokens that end a text */
    int end_count;
    int32_t begin;      /* the token before each prompt; -1: none */
    int64_t vocabulary; /* tokens of the model: the tokenizer may have more, which no prompt may have */
    /* Gets text as soon as it is known, in order. NULL: nothing is called. */
    void (*show)(const char *text, int64_t bytes);
};

struct continuation {
    const struct continuation_config *config; /* borrowed */
    char *prompt;                             /* owned, ends with a zero byte */
    int32_t *tokens;                          /* of the prompt, [length]; owned */
    int32_t *generated;                       /* [max_new_tokens], owned; whoever generates fills it */
    int64_t length, max_new_tokens;
    struct token_stream stream;
    struct stop_strings stop;
    struct text_buffer text; /* of the continuation, without a zero byte */
    int64_t count;           /* new tokens */
    enum continuation_finish finish;
    rotary_status status; /* of reading a token, with its error: the sequence ends where it fails */
    rotary_error error;
};

/* The tokens of a prompt of `bytes` bytes. ROTARY_INVALID_ARGUMENT if it has none, bytes that the
 * tokenizer does not have, or a token that the model does not have. */
ROTARY_CHECKED rotary_status continuation_create(struct continuation *continuation,
                                                 const struct continuation_config *config, const char *prompt,
                                                 int64_t bytes, rotary_error *error);
/* Room for up to this many new tokens, at least 1; before the first is read. */
ROTARY_CHECKED rotary_status continuation_reserve(struct continuation *continuation, int64_t max_new_tokens,
                                                  rotary_error *error);
/* Reads the next token. Returns whether the continuation ends with it. */
bool continuation_read(struct continuation *continuation, int32_t token);
/* Shows what was held back, once no token follows; the error of a token that failed. */
ROTARY_CHECKED rotary_status continuation_end(struct continuation *continuation, rotary_error *error);
void continuation_free(struct continuation *continuation); /* a zeroed one too */

#endif
