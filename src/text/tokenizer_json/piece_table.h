/* SPDX-License-Identifier: Apache-2.0
 *
 * The pieces of a vocabulary: bytes by token, and the token of given bytes.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_PIECE_TABLE_H
#define ROTARY_TEXT_TOKENIZER_JSON_PIECE_TABLE_H

#include "base/hash_table.h"
#include "text/tokenizer/tokenizer.h"

struct piece_table {
    char *pool;               /* the bytes of all pieces */
    int32_t *starts, *bytes;  /* of each token, [count]; starts is -1 where there is no piece */
    struct hash_table tokens; /* by the hash of their bytes */
    int64_t count, used, capacity;
};

/* Room for pieces of the tokens 0 ... count - 1, of `bytes` bytes in all; there is none yet. Both are less
 * than 2^31. False without memory. */
bool piece_table_create(struct piece_table *table, int64_t count, int64_t bytes);
void piece_table_free(struct piece_table *table); /* a zeroed one too */

/* Copies the piece of a token that has none. False if another token has the same bytes, or if there is no
 * room. */
bool piece_table_add(struct piece_table *table, int32_t token, const char *piece, int64_t bytes);
/* The token of a piece; -1: there is none. */
int32_t piece_table_find(const struct piece_table *table, const char *piece, int64_t bytes);
/* The bytes of a token's piece; no bytes, and NULL, where there is none. */
struct token_text piece_table_text(const struct piece_table *table, int32_t token);

#endif
