/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of tokens that come one by one: each time what is complete by then. A character of several bytes
 * that takes several tokens is shown when its last byte is there, and bytes that no others can complete at
 * once. What is not UTF-8 becomes U+FFFD as in the text of all tokens (unicode_mend), so that any
 * concatenation of the texts is UTF-8.
 */
#ifndef ROTARY_TEXT_TOKEN_STREAM_H
#define ROTARY_TEXT_TOKEN_STREAM_H

#include "text/text_buffer.h"
#include "text/tokenizer/tokenizer.h"

/* Tokens that are decoded together with the next one, at most. */
enum { TOKEN_STREAM_WINDOW = 24 };

struct token_stream {
    const struct tokenizer *tokenizer;   /* borrowed */
    int32_t window[TOKEN_STREAM_WINDOW]; /* the last tokens */
    int64_t count, shown;                /* in the window; those of them whose text was shown */
    int64_t shown_bytes;     /* of the text of the next, whose end waits for the rest of a character */
    struct text_buffer text; /* of the last call */
};

/* A stream that continues a text of `count` tokens: what comes between two tokens, such as the space between
 * words, comes between the last of these and the first that is added. They may be none. */
void token_stream_start(struct token_stream *stream, const struct tokenizer *tokenizer, const int32_t *text,
                        int64_t count);
/* Adds a token, 0 ... size - 1. *text is what is complete now and was not shown before, valid until the next
 * call; its count may be 0. ROTARY_OUT_OF_MEMORY. */
ROTARY_CHECKED rotary_status token_stream_add(struct token_stream *stream, int32_t token,
                                              struct token_text *text, rotary_error *error);
/* *text is the rest: bytes that wait for others, which do not come. */
ROTARY_CHECKED rotary_status token_stream_end(struct token_stream *stream, struct token_text *text,
                                              rotary_error *error);
void token_stream_free(struct token_stream *stream); /* a zeroed one too */

#endif
