/* SPDX-License-Identifier: Apache-2.0
 *
 * What a WordPiece tokenizer does (text/tokenizer_type.h), for the file that has its type.
 */
#ifndef ROTARY_TEXT_WORDPIECE_PARTS_H
#define ROTARY_TEXT_WORDPIECE_PARTS_H

#include "text/tokenizer_type.h"

enum { WORDPIECE_CONTINUATION_BYTES = 2 }; /* of "##" */

void wordpiece_destroy(struct tokenizer *tokenizer);
struct token_text wordpiece_text(const struct tokenizer *tokenizer, int32_t token);
bool wordpiece_continues_word(const struct tokenizer *tokenizer, int32_t token);
rotary_status wordpiece_encode(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                               struct token_list *list, rotary_error *error);
int64_t wordpiece_decode(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count, char *text,
                         int64_t capacity);
bool wordpiece_save(const struct tokenizer *tokenizer, json_t *object);

#endif
