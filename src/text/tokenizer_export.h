/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokenizers as other programs read them.
 */
#ifndef ROTARY_TEXT_TOKENIZER_EXPORT_H
#define ROTARY_TEXT_TOKENIZER_EXPORT_H

#include "text/tokenizer.h"

#include <jansson.h>

/* The bytes of SentencePiece's .model file, which live as long as the tokenizer; count 0 for other kinds. */
struct token_text tokenizer_model_file(const struct tokenizer *tokenizer);

/* The object of a tokenizer.json, which Hugging Face's tokenizers reads, with the same tokens of every text;
 * but the name of a special token in a text is that token there. Characters and bytes are the words of
 * WordLevel that ByteLevel makes of them; words are cut by a regular expression. The caller owns *object,
 * which is NULL for kinds that have no such file. */
ROTARY_CHECKED rotary_status tokenizer_export_json(const struct tokenizer *tokenizer, json_t **object,
                                                   rotary_error *error);

#endif
