/* SPDX-License-Identifier: Apache-2.0
 *
 * The character tokenizer: one token per byte of a fixed alphabet.
 */
#include "base/fail.h"
#include "text/tokenizer/tokenizer_type.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 256 };

struct characters {
    struct tokenizer tokenizer;
    char character[BYTES]; /* of a token */
    int16_t token[BYTES];  /* of a byte; -1 if it is not in the alphabet */
};

static const struct characters *of(const struct tokenizer *tokenizer)
{
    return (const struct characters *)tokenizer;
}

/* A tokenizer without tokens; NULL without memory. */
static struct characters *empty(rotary_error *error)
{
    struct characters *characters = calloc(1, sizeof *characters);
    if (!characters) {
        (void)!rotary_fail_memory(error, "for a tokenizer (%zu bytes)", sizeof *characters);
        return NULL;
    }
    characters->tokenizer =
        (struct tokenizer){.type = &tokenizer_characters, .special = {-1, -1, -1, -1, -1}};
    for (int byte = 0; byte < BYTES; byte++)
        characters->token[byte] = -1;
    return characters;
}

/* False if it is there already. */
static bool add(struct characters *characters, unsigned char byte)
{
    if (characters->token[byte] >= 0)
        return false;
    characters->token[byte] = (int16_t)characters->tokenizer.size;
    characters->character[characters->tokenizer.size++] = (char)byte;
    return true;
}

rotary_status characters_create(struct tokenizer **tokenizer, const char *alphabet, rotary_error *error)
{
    struct characters *characters = empty(error);
    if (!characters)
        return ROTARY_OUT_OF_MEMORY;
    for (const char *at = alphabet; *at; at++)
        add(characters, (unsigned char)*at);
    *tokenizer = &characters->tokenizer;
    return ROTARY_OK;
}

static void destroy(struct tokenizer *tokenizer)
{
    free(tokenizer);
}

/* A byte for a message: the character in quotes if it is printable, else its number. */
static void describe(unsigned char byte, char text[16])
{
    if (isascii(byte) && isprint(byte))
        snprintf(text, 16, "'%c'", byte);
    else
        snprintf(text, 16, "byte 0x%02x", (unsigned)byte);
}

static rotary_status encode(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                            struct token_list *list, rotary_error *error)
{
    const struct characters *characters = of(tokenizer);
    for (int64_t i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (characters->token[byte] < 0) {
            char shown[16];
            describe(byte, shown);
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s at position %lld of the text is not in the alphabet \"%.*s\"", shown,
                               (long long)(i + 1), (int)tokenizer->size, characters->character);
        }
    }
    for (int64_t i = 0; i < bytes; i++)
        token_list_append(list, characters->token[(unsigned char)text[i]]);
    return ROTARY_OK;
}

static int64_t decode(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count, char *text,
                      int64_t capacity)
{
    return tokenizer_join(tokenizer, "", tokens, count, text, capacity);
}

static struct token_text text_of(const struct tokenizer *tokenizer, int32_t token)
{
    return (struct token_text){&of(tokenizer)->character[token], 1};
}

/* Writes them as numbers, because an alphabet need not be UTF-8. */
static bool save(const struct tokenizer *tokenizer, json_t *object)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < tokenizer->size; i++)
        json_array_append_new(list, json_integer((unsigned char)of(tokenizer)->character[i]));
    json_object_set_new(object, "bytes", list);
    return true;
}

static rotary_status load(struct tokenizer **tokenizer, const json_t *object, const char *path,
                          rotary_error *error)
{
    const json_t *list = json_object_get(object, "bytes");
    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > BYTES)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has no valid \"bytes\": wanted a list of 1 to %d numbers", path, BYTES);
    struct characters *characters = empty(error);
    if (!characters)
        return ROTARY_OUT_OF_MEMORY;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *byte = json_array_get(list, i);
        if (json_is_integer(byte) && json_integer_value(byte) >= 0 && json_integer_value(byte) < BYTES &&
            add(characters, (unsigned char)json_integer_value(byte)))
            continue;
        destroy(&characters->tokenizer);
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: entry %zu of \"bytes\" is not a number from 0 to %d that the list has once",
                           path, i + 1, BYTES - 1);
    }
    *tokenizer = &characters->tokenizer;
    return ROTARY_OK;
}

const struct tokenizer_type tokenizer_characters = {
    .encode = encode, .decode = decode, .text = text_of, .destroy = destroy, .save = save};
const struct tokenizer_format tokenizer_format_characters = {.load = load};
