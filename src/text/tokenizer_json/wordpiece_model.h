/* SPDX-License-Identifier: Apache-2.0
 *
 * WordPiece as the model of a tokenizer.json: of a word the longest piece that it begins with, then of what
 * is left the longest that continues a word, and so on. A word of which a part is no piece is the unknown
 * token, as is one that is too long. Tokens are those of the library `tokenizers`.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_WORDPIECE_MODEL_H
#define ROTARY_TEXT_TOKENIZER_JSON_WORDPIECE_MODEL_H

#include "text/tokenizer_json/piece_table.h"

struct wordpiece_model_config {
    const struct piece_table *pieces; /* needed while the model is created */
    const char *prefix;               /* of pieces that continue a word, such as "##" */
    int64_t max_characters;           /* of a word */
    int32_t unknown;
};

struct wordpiece_model;

/* ROTARY_INVALID_ARGUMENT if the pieces have too many bytes, ROTARY_OUT_OF_MEMORY without memory. */
ROTARY_CHECKED rotary_status wordpiece_model_create(struct wordpiece_model **model,
                                                    const struct wordpiece_model_config *config,
                                                    rotary_error *error);
void wordpiece_model_destroy(struct wordpiece_model *model); /* NULL is allowed */

/* Appends the tokens of a word, which is UTF-8. */
void wordpiece_model_encode(const struct wordpiece_model *model, const char *word, int64_t bytes,
                            struct token_list *list);

#endif
