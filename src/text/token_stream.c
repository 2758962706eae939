/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a token depends on those beside it: a space before the first word is left out, a separator
 * comes between words, bytes make up a character. So the last tokens are decoded twice, without those that
 * are new and with them, and the difference is shown.
 */
#include "text/token_stream.h"

#include "base/integer.h"
#include "text/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONTEXT = 8, /* tokens that stay in the window once they are shown */
    MAX_WAITING =
        4, /* tokens with text that wait for the rest of a character: it has no more bytes than that */
};
_Static_assert(CONTEXT + MAX_WAITING < TOKEN_STREAM_WINDOW, "the window has room for a token that is added");

void token_stream_start(struct token_stream *stream, const struct tokenizer *tokenizer, const int32_t *text,
                        int64_t count)
{
    int64_t kept = min_i64(count, CONTEXT);
    *stream = (struct token_stream){.tokenizer = tokenizer, .count = kept, .shown = kept};
    if (kept > 0)
        memcpy(stream->window, text + count - kept, (size_t)kept * sizeof *text);
}

void token_stream_free(struct token_stream *stream)
{
    text_buffer_free(&stream->text);
    *stream = (struct token_stream){0};
}

/* Shows bytes begin ... end - 1 of stream->text. */
static rotary_status show(struct token_stream *stream, int64_t begin, int64_t end, struct token_text *text,
                          rotary_error *error)
{
    char *mended = NULL;
    int64_t count = 0;
    *text = (struct token_text){stream->text.bytes, 0};
    if (begin >= end)
        return ROTARY_OK;
    rotary_status status = unicode_mend(stream->text.bytes + begin, end - begin, &mended, &count, error);
    if (status == ROTARY_OK)
        status = text_buffer_append(&stream->text, mended, count, error);
    *text = (struct token_text){stream->text.bytes, stream->text.count};
    free(mended);
    return status;
}

static void forget_old_tokens(struct token_stream *stream)
{
    int64_t old = stream->shown - CONTEXT;
    if (old <= 0)
        return;
    memmove(stream->window, stream->window + old, (size_t)(stream->count - old) * sizeof *stream->window);
    stream->count -= old;
    stream->shown -= old;
}

/* The bytes of the text of the first tokens of the window. */
static int64_t measure(const struct token_stream *stream, int64_t count)
{
    return tokenizer_decode(stream->tokenizer, stream->window, count, NULL, 0);
}

static bool is_sentencepiece(const struct token_stream *stream)
{
    return tokenizer_kind(stream->tokenizer) == TOKENIZER_SENTENCEPIECE;
}

/* The value of a piece of SentencePiece that is a byte, <0x41>; -1: it is none. */
static int byte_of(struct token_text piece)
{
    char text[8] = "";
    unsigned byte;
    char end;
    if (piece.count != 6)
        return -1;
    memcpy(text, piece.bytes, 6);
    return sscanf(text, "<0x%2x%c", &byte, &end) == 2 && end == '>' ? (int)byte : -1;
}

/* SentencePiece's library writes U+FFFD for each byte that is no character yet: the last tokens, which are
 * bytes that more may complete, wait. */
static int64_t count_waiting(const struct token_stream *stream)
{
    char bytes[TOKEN_STREAM_WINDOW];
    int64_t first = stream->count;
    int byte;
    while (first > stream->shown &&
           (byte = byte_of(tokenizer_text(stream->tokenizer, stream->window[first - 1]))) >= 0)
        bytes[--first] = (char)byte;
    return unicode_incomplete_bytes(bytes + first, stream->count - first);
}

/* Where the text ends that no further token changes, of which that from byte `before` on is new. */
static int64_t find_end(const struct token_stream *stream, int64_t before, int64_t bytes)
{
    if (bytes <= before)
        return bytes;
    if (is_sentencepiece(stream))
        return measure(stream, stream->count - count_waiting(stream));
    return bytes - unicode_incomplete_bytes(stream->text.bytes + before, bytes - before);
}

/* The text up to byte `end` is shown. A token of which a part is shown waits for the rest. */
static void advance(struct token_stream *stream, int64_t end, int64_t bytes)
{
    if (end >= bytes)
        stream->shown = stream->count;
    while (stream->shown < stream->count && measure(stream, stream->shown + 1) <= end)
        stream->shown++;
    stream->shown_bytes = end < bytes ? end - measure(stream, stream->shown) : 0;
    forget_old_tokens(stream);
}

/* A token without text is nothing to wait with, but that it ends the bytes of a character of SentencePiece.
 */
static void forget_empty_token(struct token_stream *stream, int64_t bytes)
{
    if (stream->count - stream->shown > 1 && !is_sentencepiece(stream) &&
        measure(stream, stream->count - 1) == bytes)
        stream->count--;
}

/* Shows the text that was not shown: unless `all`, only what is complete. */
static rotary_status show_new(struct token_stream *stream, bool all, struct token_text *text,
                              rotary_error *error)
{
    *text = (struct token_text){stream->text.bytes, 0};
    const int64_t before = measure(stream, stream->shown) + stream->shown_bytes,
                  bytes = measure(stream, stream->count);
    stream->text.count = 0;
    rotary_status status = text_buffer_reserve(&stream->text, bytes + 1, error);
    if (status != ROTARY_OK)
        return status;
    tokenizer_decode(stream->tokenizer, stream->window, stream->count, stream->text.bytes, bytes + 1);
    const int64_t end = all ? bytes : find_end(stream, before, bytes);
    forget_empty_token(stream, bytes);
    advance(stream, end, bytes);
    return show(stream, before, end, text, error);
}

rotary_status token_stream_add(struct token_stream *stream, int32_t token, struct token_text *text,
                               rotary_error *error)
{
    stream->window[stream->count++] = token;
    return show_new(stream, false, text, error);
}

rotary_status token_stream_end(struct token_stream *stream, struct token_text *text, rotary_error *error)
{
    return show_new(stream, true, text, error);
}
