/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of a tokenizer, inside src/text. Each has a file of its own and a line in
 * text/tokenizer/tokenizer_list.h.
 */
#ifndef ROTARY_TEXT_TOKENIZER_TOKENIZER_TYPE_H
#define ROTARY_TEXT_TOKENIZER_TOKENIZER_TYPE_H

#include "text/tokenizer/tokenizer.h"

#include <jansson.h>

/* The first member of every tokenizer's own struct. */
struct tokenizer {
    const struct tokenizer_type *type;
    int64_t size;
    struct special_tokens special;
    struct token_frame frame;
    bool spaces; /* see tokenizer_has_spaces */
};

struct tokenizer_type {
    rotary_status (*encode)(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                            struct token_list *list, rotary_error *error);
    int64_t (*decode)(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count, char *text,
                      int64_t capacity);
    struct token_text (*text)(const struct tokenizer *tokenizer, int32_t token);
    bool (*continues_word)(const struct tokenizer *tokenizer, int32_t token); /* NULL: no token does */
    int64_t continuation_bytes; /* of the mark that such a token begins with, which is no text */
    /* Frees everything, `tokenizer` too. */
    void (*destroy)(struct tokenizer *tokenizer);
    /* Sets the keys of `object` that load() makes the same tokenizer from. False without memory. NULL: the
     * file is no JSON object but file_bytes(). */
    bool (*save)(const struct tokenizer *tokenizer, json_t *object);
    struct token_text (*file_bytes)(const struct tokenizer *tokenizer); /* what its file has; NULL: save() */
};

/* How a tokenizer is read. It is apart from what one does, which whoever reads it needs. */
struct tokenizer_format {
    /* ROTARY_BAD_FILE if the object, read from `path`, is invalid. */
    rotary_status (*load)(struct tokenizer **tokenizer, const json_t *object, const char *path,
                          rotary_error *error);
    /* Whether an object without a format of this program is one that load() understands; NULL: none is. */
    bool (*is_object)(const json_t *object);
    /* A type with files of its own says whether a file with these bytes is one, and makes a tokenizer from
     * the bytes of the file `path`, which are borrowed. */
    bool (*is_file)(const char *bytes, int64_t count);
    rotary_status (*load_bytes)(struct tokenizer **tokenizer, const char *bytes, int64_t count,
                                const char *path, rotary_error *error);
};

#define ROTARY_TOKENIZER_TYPE(NAME, name)                                                                    \
    extern const struct tokenizer_type tokenizer_##name;                                                     \
    extern const struct tokenizer_format tokenizer_format_##name;
ROTARY_TOKENIZERS(ROTARY_TOKENIZER_TYPE)
#undef ROTARY_TOKENIZER_TYPE

/* Appends a token, or counts it as left out. */
static inline void token_list_append(struct token_list *list, int32_t token)
{
    if (list->count < list->capacity)
        list->tokens[list->count++] = token;
    else
        list->left_out++;
}

/* The decode() of tokenizers whose text is that of their tokens with `separator` between them, but
 * not before one that continues a word. */
int64_t tokenizer_join(const struct tokenizer *tokenizer, const char *separator, const int32_t *tokens,
                       int64_t count, char *text, int64_t capacity);

#endif
