/* SPDX-License-Identifier: Apache-2.0
 *
 * The characters that stand for bytes in the vocabularies of GPT-2 (Radford et al., 2019) and those after it:
 * a byte that is printed in Latin-1 is itself, and the others are U+0100 and those that follow.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_BYTE_CHARACTERS_H
#define ROTARY_TEXT_TOKENIZER_JSON_BYTE_CHARACTERS_H

#include "text/text_buffer.h"

/* Appends the bytes that the characters of a piece stand for; *complete is false, and nothing is appended, if
 * some character stands for none. */
ROTARY_CHECKED rotary_status byte_characters_append(const char *piece, int64_t bytes, struct text_buffer *to,
                                                    bool *complete, rotary_error *error);

/* Writes the character of a byte in UTF-8, and a zero byte behind it. */
enum { BYTE_CHARACTER_BYTES = 3 };
void byte_characters_write(unsigned char byte, char character[BYTE_CHARACTER_BYTES]);

#endif
