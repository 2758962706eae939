/* SPDX-License-Identifier: Apache-2.0 */
#include "text/stop_texts.h"

#include "base/fail.h"
#include "base/integer.h"
#include "text/decoded_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- special tokens ---- */

/* Whether a token is in no text that is decoded. (A space is in none before the first word.) */
static bool has_no_text(const struct tokenizer *tokenizer, int32_t token)
{
    const int32_t pair[2] = {token, token};
    return tokenizer_decode(tokenizer, pair, 2, NULL, 0) == 0;
}

/* The first token without a text whose name is in `text`; -1: none is. *alone: the text has no more. */
static int32_t find_special(const struct tokenizer *tokenizer, const char *text, bool *alone)
{
    const size_t length = strlen(text);
    int32_t found = -1;
    *alone = false;
    for (int32_t token = 0; token < tokenizer_size(tokenizer) && !*alone; token++) {
        const struct token_text name = tokenizer_text(tokenizer, token);
        const bool whole =
            (size_t)name.count == length; /* a single character may be one of a text by chance */
        if ((name.count < 2 && !whole) || !memmem(text, length, name.bytes, (size_t)name.count) ||
            !has_no_text(tokenizer, token))
            continue;
        *alone = whole;
        found = found < 0 || *alone ? token : found;
    }
    return found;
}

/* ---- texts that can occur ---- */

/* The texts of all tokens behind another one, as far as they are known. */
struct middle_texts {
    const struct tokenizer *tokenizer;
    int32_t before; /* the other one; -1: there is none that has a text */
    struct text_buffer bytes;
    int64_t *starts; /* [size + 1] in bytes */
    bool known;      /* each is what it adds to the text before it */
};

/* A token of letters alone. */
static int32_t find_plain(const struct tokenizer *tokenizer)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (int32_t token = 0; token < tokenizer_size(tokenizer); token++) {
        const struct token_text text = tokenizer_text(tokenizer, token);
        int64_t same = 0;
        while (same < text.count && text.bytes[same] && strchr(letters, text.bytes[same]))
            same++;
        if (same > 0 && same == text.count && tokenizer_decode(tokenizer, &token, 1, NULL, 0) == same)
            return token;
    }
    return -1;
}

static rotary_status read_middles(struct middle_texts *texts, rotary_error *error)
{
    const int64_t size = tokenizer_size(texts->tokenizer);
    texts->starts = calloc((size_t)size + 1, sizeof *texts->starts);
    texts->before = find_plain(texts->tokenizer);
    texts->known = texts->before >= 0;
    rotary_status status = texts->starts ? ROTARY_OK : rotary_fail_memory(error, "for a vocabulary's texts");
    struct text_buffer *bytes = &texts->bytes;
    struct token_text other = {NULL, 0};
    if (texts->known)
        other = tokenizer_text(texts->tokenizer, texts->before);
    for (int32_t token = 0; status == ROTARY_OK && texts->known && token < size; token++) {
        const int32_t pair[2] = {texts->before, token};
        const int64_t begin = bytes->count;
        status = decoded_bytes_append(texts->tokenizer, pair, 2, bytes, error);
        if (status != ROTARY_OK)
            break;
        char *both = bytes->bytes + begin;
        const int64_t left = bytes->count - begin - other.count;
        texts->known = left >= 0 && memcmp(both, other.bytes, (size_t)other.count) == 0;
        if (texts->known) {
            memmove(both, both + other.count, (size_t)left);
            bytes->count = begin + left;
        }
        texts->starts[token + 1] = bytes->count;
    }
    return status;
}

/* Marks where a token may end that begins before the text, or with it; true: one has all of it. */
static bool begin_anywhere(const struct middle_texts *texts, const char *text, int64_t length, bool *reached)
{
    reached[0] = true;
    for (int64_t token = 0; token < tokenizer_size(texts->tokenizer); token++) {
        const char *bytes = texts->bytes.bytes + texts->starts[token];
        const int64_t count = texts->starts[token + 1] - texts->starts[token];
        if (count > 0 && memmem(bytes, (size_t)count, text, (size_t)length))
            return true;
        for (int64_t end = 1; end <= min_i64(count, length); end++)
            reached[end] |= memcmp(bytes + count - end, text, (size_t)end) == 0;
    }
    return false;
}

/* Marks where tokens may end that begin at `from`; true: one goes to the end of the text. */
static bool go_on(const struct middle_texts *texts, const char *text, int64_t length, int64_t from,
                  bool *reached)
{
    for (int64_t token = 0; token < tokenizer_size(texts->tokenizer); token++) {
        const char *bytes = texts->bytes.bytes + texts->starts[token];
        const int64_t count = texts->starts[token + 1] - texts->starts[token],
                      same = min_i64(count, length - from);
        if (count == 0 || memcmp(bytes, text + from, (size_t)same) != 0)
            continue;
        if (same == length - from)
            return true;
        reached[from + count] = true;
    }
    /* Single bytes of other characters have no text of their own in all vocabularies. */
    if (((unsigned char)text[from] & 0x80) && tokenizer_kind(texts->tokenizer) != TOKENIZER_CHARACTERS)
        reached[from + 1] = true;
    return reached[length];
}

/* Whether tokens can make up the text, which may begin and end within them. */
static rotary_status search(const struct middle_texts *texts, const char *text, bool *found,
                            rotary_error *error)
{
    const int64_t length = (int64_t)strlen(text);
    bool *reached = calloc((size_t)length + 1, sizeof *reached);
    if (!reached)
        return rotary_fail_memory(error, "for a text at which to stop");
    *found = begin_anywhere(texts, text, length, reached);
    for (int64_t from = 0; from < length && !*found; from++)
        if (reached[from])
            *found = go_on(texts, text, length, from, reached);
    free(reached);
    return ROTARY_OK;
}

/* Whether the text, encoded and decoded behind another token, is there: then it can occur, and no more is to
 * be looked at. */
static rotary_status survives(const struct tokenizer *tokenizer, const char *text, bool *found,
                              rotary_error *error)
{
    const int64_t length = (int64_t)strlen(text);
    struct token_list counted = {0};
    struct text_buffer decoded = {0};
    *found = false;
    if (tokenizer_encode(tokenizer, text, length, &counted, NULL) != ROTARY_OK || counted.left_out == 0)
        return ROTARY_OK;
    struct token_list list = {.tokens = calloc((size_t)counted.left_out, sizeof *list.tokens),
                              .capacity = counted.left_out};
    rotary_status status = list.tokens ? tokenizer_encode(tokenizer, text, length, &list, error)
                                       : rotary_fail_memory(error, "for a text at which to stop");
    if (status == ROTARY_OK)
        status = decoded_bytes_append(tokenizer, list.tokens, list.count, &decoded, error);
    if (status == ROTARY_OK && decoded.count > 0)
        *found = memmem(decoded.bytes, (size_t)decoded.count, text, (size_t)length) != NULL;
    text_buffer_free(&decoded);
    free(list.tokens);
    return status;
}

static rotary_status check_text(struct middle_texts *texts, const char *text, rotary_error *error)
{
    bool found;
    rotary_status status = survives(texts->tokenizer, text, &found, error);
    if (status == ROTARY_OK && !found && !texts->starts)
        status = read_middles(texts, error);
    if (status == ROTARY_OK && !found && texts->known)
        status = search(texts, text, &found, error);
    if (status != ROTARY_OK || found || !texts->known)
        return status;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "\"%.80s\" cannot occur: no tokens of the vocabulary make it up", text);
}

/* ---- both ---- */

static rotary_status add(struct stop_texts *stops, struct middle_texts *texts, const char *text,
                         rotary_error *error)
{
    bool alone;
    const int32_t token = find_special(texts->tokenizer, text, &alone);
    if (alone)
        stops->tokens[stops->token_count++] = token;
    if (alone)
        return ROTARY_OK;
    if (token >= 0) {
        const struct token_text name = tokenizer_text(texts->tokenizer, token);
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "\"%.80s\" has the special token %.*s, which is no part of a text: wanted that alone", text,
            (int)min_i64(name.count, 80), name.bytes);
    }
    stops->strings[stops->count++] = text;
    return check_text(texts, text, error);
}

rotary_status stop_texts_create(struct stop_texts *stops, const struct tokenizer *tokenizer,
                                const char *const *texts, int count, rotary_error *error)
{
    struct middle_texts middles = {.tokenizer = tokenizer};
    struct stop_texts made = {.strings = calloc((size_t)count + 1, sizeof *made.strings),
                              .tokens = calloc((size_t)count + 1, sizeof *made.tokens)};
    rotary_status status =
        made.strings && made.tokens ? ROTARY_OK : rotary_fail_memory(error, "for %d texts", count);
    for (int i = 0; status == ROTARY_OK && i < count; i++)
        status = add(&made, &middles, texts[i], error);
    text_buffer_free(&middles.bytes);
    free(middles.starts);
    if (status == ROTARY_OK)
        *stops = made;
    else
        stop_texts_free(&made);
    return status;
}

void stop_texts_free(struct stop_texts *stops)
{
    free(stops->strings);
    free(stops->tokens);
    *stops = (struct stop_texts){0};
}
