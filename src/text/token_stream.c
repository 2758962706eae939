/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a token depends on those beside it: a space before the first word is left out, a separator
 * comes between words, bytes make up a character. So the last tokens are decoded twice, without those that
 * are new and with them, and the difference is shown.
 */
#include "text/token_stream.h"

#include "base/fail.h"
#include "base/integer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

enum {
    CONTEXT = 8,     /* tokens that stay in the window once they are shown */
    MAX_WAITING = 4, /* tokens that wait for the rest of a character: it has no more bytes than that */
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

/* Whether text ends within a character: in a sequence of UTF-8 that lacks bytes, or in the U+FFFD that a
 * tokenizer writes for one. */
static bool is_incomplete(const char *text, int64_t bytes)
{
    for (int64_t back = 1; back <= min_i64(bytes, 4); back++) {
        unsigned char byte = (unsigned char)text[bytes - back];
        if ((byte & 0xc0) == 0x80)
            continue;
        int64_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        return back < length || (back == 3 && memcmp(text + bytes - 3, "\xef\xbf\xbd", 3) == 0);
    }
    return false;
}

/* Replaces what is not UTF-8. */
static rotary_status mend(const char *text, int64_t bytes, char **mended, int64_t *count, rotary_error *error)
{
    uint32_t *points = malloc((size_t)bytes * sizeof *points);
    *mended = malloc((size_t)bytes * 4);
    if (!points || !*mended) {
        free(points);
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the text of a token");
    }
    *count = unicode_encode(points, unicode_decode(text, bytes, points), *mended);
    free(points);
    return ROTARY_OK;
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
    rotary_status status = mend(stream->text.bytes + begin, end - begin, &mended, &count, error);
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

/* How many tokens of the window can be shown, of which the text from byte `before` on is new. With as many
 * waiting as a character has bytes, it is not the first of them that is incomplete. */
static int64_t count_complete(const struct token_stream *stream, int64_t before, int64_t bytes)
{
    if (bytes <= before || !is_incomplete(stream->text.bytes + before, bytes - before))
        return stream->count;
    return stream->count - stream->shown < MAX_WAITING ? stream->shown : stream->shown + 1;
}

/* Shows the tokens that were not shown: unless `all`, only those that are complete. */
static rotary_status show_new(struct token_stream *stream, bool all, struct token_text *text,
                              rotary_error *error)
{
    const struct tokenizer *tokenizer = stream->tokenizer;
    *text = (struct token_text){stream->text.bytes, 0};
    int64_t before = tokenizer_decode(tokenizer, stream->window, stream->shown, NULL, 0),
            bytes = tokenizer_decode(tokenizer, stream->window, stream->count, NULL, 0);
    stream->text.count = 0;
    rotary_status status = text_buffer_reserve(&stream->text, bytes + 1, error);
    if (status != ROTARY_OK)
        return status;
    tokenizer_decode(tokenizer, stream->window, stream->count, stream->text.bytes, bytes + 1);
    int64_t complete = all ? stream->count : count_complete(stream, before, bytes);
    if (complete < stream->count)
        bytes = tokenizer_decode(tokenizer, stream->window, complete, stream->text.bytes, bytes + 1);
    stream->shown = complete;
    forget_old_tokens(stream);
    return show(stream, before, bytes, text, error);
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
