/* SPDX-License-Identifier: Apache-2.0
 *
 * The "added_tokens" of a tokenizer.json, which are found in a text before anything else: of those that begin
 * at the same place the longest, as the library `tokenizers` has it.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_ADDED_TOKENS_H
#define ROTARY_TEXT_TOKENIZER_JSON_ADDED_TOKENS_H

#include "text/tokenizer/piece_trie.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer_json/text_normalizer.h"

struct added_token {
    struct token_text content; /* in the file; belongs to the object it was read from */
    char *normal;              /* content as a text has it after normalizing; NULL: the same */
    int32_t token;
    bool special;
    bool normalized;  /* looked for in normalized text, not in the text as it is */
    bool single_word; /* nothing that is part of a word is beside it */
    bool strips_left; /* white space before it, and behind it, is part of it */
    bool strips_right;
};

struct added_tokens {
    struct added_token *items; /* [count] */
    int64_t count;
    struct piece_trie tries[2];  /* of those in the text as it is, and of normalized ones: items by content */
    bool any[2], starts[2][256]; /* whether there are some; and some that begin with this byte */
};

enum { ADDED_TOKENS_MAX = 1 << 16, ADDED_TOKEN_BYTES = 1 << 12 };

/* Reads the list of the file `path`; NULL and null are an empty one. The contents belong to the list. What is
 * invalid is ROTARY_BAD_FILE; the caller frees the tokens in any case. */
ROTARY_CHECKED rotary_status added_tokens_read(struct added_tokens *tokens, const json_t *list,
                                               const struct text_normalizer *normalizer, const char *path,
                                               rotary_error *error);
void added_tokens_free(struct added_tokens *tokens); /* a zeroed one too */

/* A place of a text that is an added token. */
struct added_place {
    int64_t begin, end;              /* with the white space that the token strips */
    int64_t next;                    /* where to look for the one behind it */
    const struct added_token *token; /* NULL: there is none */
};
/* The first added token of a text at `from` or behind it; `normalized` says of which kind. White space before
 * `taken`, the end of the token before, is not this token's. */
struct added_place added_tokens_find(const struct added_tokens *tokens, bool normalized,
                                     const struct token_text *text, int64_t from, int64_t taken);

#endif
