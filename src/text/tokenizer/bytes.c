/* SPDX-License-Identifier: Apache-2.0
 *
 * The byte tokenizer: one token per byte, so that every text can be encoded, and special tokens behind them.
 */
#include "base/fail.h"
#include "text/tokenizer/tokenizer_type.h"

#include <stdlib.h>

enum { PADDING = 256, BEGIN, END, SIZE };

struct bytes {
    struct tokenizer tokenizer;
    char byte[PADDING]; /* the texts of the tokens */
};

rotary_status bytes_create(struct tokenizer **tokenizer, rotary_error *error)
{
    struct bytes *bytes = malloc(sizeof *bytes);
    if (!bytes)
        return rotary_fail_memory(error, "for a tokenizer (%zu bytes)", sizeof *bytes);
    bytes->tokenizer = (struct tokenizer){
        .type = &tokenizer_bytes,
        .size = SIZE,
        .special = {.padding = PADDING, .unknown = -1, .begin = BEGIN, .end = END, .mask = -1},
        .spaces = true,
    };
    for (int byte = 0; byte < PADDING; byte++)
        bytes->byte[byte] = (char)byte;
    *tokenizer = &bytes->tokenizer;
    return ROTARY_OK;
}

static void destroy(struct tokenizer *tokenizer)
{
    free(tokenizer);
}

static rotary_status encode(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                            struct token_list *list, rotary_error *error)
{
    (void)tokenizer;
    (void)error;
    for (int64_t i = 0; i < bytes; i++)
        token_list_append(list, (unsigned char)text[i]);
    return ROTARY_OK;
}

static int64_t decode(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count, char *text,
                      int64_t capacity)
{
    return tokenizer_join(tokenizer, "", tokens, count, text, capacity);
}

static struct token_text text_of(const struct tokenizer *tokenizer, int32_t token)
{
    static const struct token_text special[] = {{"<pad>", 5}, {"<s>", 3}, {"</s>", 4}};
    if (token >= PADDING)
        return special[token - PADDING];
    return (struct token_text){&((const struct bytes *)tokenizer)->byte[token], 1};
}

/* There is nothing to keep. */
static bool save(const struct tokenizer *tokenizer, json_t *object)
{
    (void)tokenizer;
    (void)object;
    return true;
}

static rotary_status load(struct tokenizer **tokenizer, const json_t *object, const char *path,
                          rotary_error *error)
{
    (void)object;
    (void)path;
    return bytes_create(tokenizer, error);
}

const struct tokenizer_type tokenizer_bytes = {
    .encode = encode, .decode = decode, .text = text_of, .destroy = destroy, .save = save};
const struct tokenizer_format tokenizer_format_bytes = {.load = load};
