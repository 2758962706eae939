/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary tokenize decode: a filter from lines of tokens to lines of text.
 */
#include "base/fail.h"
#include "cli/tokenize_filter.h"
#include "text/decoded_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_TOKENS = 1 << 10 };

struct decoder {
    const struct tokenizer *tokenizer;
    int32_t *tokens;         /* of a line, [count] */
    struct text_buffer text; /* and theirs */
    int64_t count, token_room;
};

static rotary_status make_token_room(struct decoder *decoder, int64_t wanted, rotary_error *error)
{
    if (wanted <= decoder->token_room)
        return ROTARY_OK;
    int32_t *larger = realloc(decoder->tokens, (size_t)wanted * 2 * sizeof *larger);
    if (!larger)
        return rotary_fail_memory(error, "for a line of %lld tokens or bytes", (long long)wanted);
    decoder->tokens = larger;
    decoder->token_room = wanted * 2;
    return ROTARY_OK;
}

static rotary_status start(void *context, const struct tokenizer *tokenizer, const char *path,
                           rotary_error *error)
{
    struct decoder *decoder = context;
    (void)path;
    decoder->tokenizer = tokenizer;
    return make_token_room(decoder, FIRST_TOKENS, error);
}

/* The number that a word of decimal digits is; -1 if it is none of the tokenizer's. */
static int64_t token_of(const char *word, int64_t length, int64_t size)
{
    int64_t token = 0;
    for (int64_t i = 0; i < length; i++) {
        if (word[i] < '0' || word[i] > '9')
            return -1;
        token = token * 10 + (word[i] - '0');
        if (token >= size)
            return -1;
    }
    return token;
}

static rotary_status read_tokens(struct decoder *decoder, const struct text_line *line, rotary_error *error)
{
    static const char spaces[] = " \t\r\v\f";
    int64_t size = tokenizer_size(decoder->tokenizer);
    decoder->count = 0;
    for (const char *at = line->bytes + strspn(line->bytes, spaces); *at; at += strspn(at, spaces)) {
        int64_t length = (int64_t)strcspn(at, spaces), token = token_of(at, length, size);
        if (token < 0)
            return rotary_fail(error, ROTARY_BAD_FILE, "\"%.*s\" is no token, wanted a number from 0 to %lld",
                               (int)(length < 40 ? length : 40), at, (long long)size - 1);
        rotary_status status = make_token_room(decoder, decoder->count + 1, error);
        if (status != ROTARY_OK)
            return status;
        decoder->tokens[decoder->count++] = (int32_t)token;
        at += length;
    }
    return ROTARY_OK;
}

/* The text of a line of tokens, which must be one line too. */
static rotary_status decode(void *context, const struct text_line *line, rotary_error *error)
{
    struct decoder *decoder = context;
    rotary_status status = read_tokens(decoder, line, error);
    if (status != ROTARY_OK)
        return status;
    decoder->text.count = 0;
    status = decoded_text_append(decoder->tokenizer, decoder->tokens, decoder->count, &decoder->text, error);
    if (status != ROTARY_OK)
        return status;
    if (memchr(decoder->text.bytes, '\n', (size_t)decoder->text.count))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "the text of these tokens has a line feed, so it is not one line");
    return ROTARY_OK;
}

static void print(const void *context, FILE *to, bool json)
{
    const struct decoder *decoder = context;
    if (json)
        tokenize_print_string(to, decoder->text.bytes, decoder->text.count);
    else
        fwrite(decoder->text.bytes, 1, (size_t)decoder->text.count, to);
}

static void finish(void *context)
{
    struct decoder *decoder = context;
    free(decoder->tokens);
    text_buffer_free(&decoder->text);
}

static enum exit_status run(const struct invocation *invocation)
{
    static const struct tokenize_filter filter = {.key = "texts",
                                                  .context_bytes = sizeof(struct decoder),
                                                  .start = start,
                                                  .compute = decode,
                                                  .print = print,
                                                  .finish = finish};
    return tokenize_filter_run(invocation, &filter, &(struct decoder){0});
}

const struct command command_tokenize_decode = {
    .name = "tokenize decode",
    .operands = "MODEL",
    .summary = "makes text of lines of tokens: standard input to standard output",
    .more =
        "MODEL is a tokenizer's file. A line has numbers, as encode prints them; it becomes a line of "
        "text, an empty "
        "one an empty one. Special tokens have no text but for the unknown one; bytes that are no character "
        "are U+FFFD.",
    .example = "rotary tokenize encode both.model < test.de | rotary tokenize decode both.model\n"
               "shows what a tokenizer keeps of a text",
    .min_operands = 1,
    .max_operands = 1,
    .stopping = "stopping after a whole line",
    .run = run,
};
