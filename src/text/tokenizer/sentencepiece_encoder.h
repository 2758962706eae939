/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens of a text by a model of SentencePiece, in a fifth of the library's time: they are those that the
 * library gives, down to which of two equal sums its single precision prefers.
 */
#ifndef ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_ENCODER_H
#define ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_ENCODER_H

#include "text/tokenizer/tokenizer.h"

struct sentencepiece_encoder;

/* Makes an encoder of the bytes of a .model file that the library has read, and which are borrowed. *encoder
 * is NULL for a model that the library itself has to encode with: of words or characters, with spaces that
 * are no U+2581 before a word, and those of byte-pair encoding whose merges do not follow from their scores
 * alone. */
ROTARY_CHECKED rotary_status sentencepiece_encoder_create(struct sentencepiece_encoder **encoder,
                                                          const char *bytes, int64_t count,
                                                          rotary_error *error);
void sentencepiece_encoder_destroy(struct sentencepiece_encoder *encoder); /* NULL is allowed */

/* As tokenizer_encode, for valid UTF-8 text. */
ROTARY_CHECKED rotary_status sentencepiece_encoder_encode(const struct sentencepiece_encoder *encoder,
                                                          const char *text, int64_t bytes,
                                                          struct token_list *list, rotary_error *error);

#endif
