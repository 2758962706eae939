/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8, as Unicode 15 defines it (table 3-7): no surrogates, nothing above U+10FFFF, no sequence longer than
 * it needs to be. A zero byte is no text either: what is encoded in 16 bits has many.
 */
#ifndef ROTARY_TEXT_UTF8_H
#define ROTARY_TEXT_UTF8_H

#include <stdint.h>

/* The bytes, 1 to 4, of the character that a text of `bytes` > 0 bytes begins with; 0 if it begins with none.
 */
int64_t utf8_character_bytes(const char *text, int64_t bytes);
/* The code point of a character of 1 to 4 bytes. */
uint32_t utf8_code_point(const char *text, int64_t bytes);
/* The bytes before the first that belongs to no character; `bytes` if the text is valid. */
int64_t utf8_valid_bytes(const char *text, int64_t bytes);

#endif
