/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of tokens for readers: UTF-8, whatever the tokens are.
 */
#ifndef ROTARY_TEXT_DECODED_TEXT_H
#define ROTARY_TEXT_DECODED_TEXT_H

#include "text/text_buffer.h"
#include "text/tokenizer/tokenizer.h"

/* Appends the bytes of the text of the tokens, as tokenizer_decode has them. A zero byte follows them.
 * ROTARY_OUT_OF_MEMORY without memory. */
ROTARY_CHECKED rotary_status decoded_bytes_append(const struct tokenizer *tokenizer, const int32_t *tokens,
                                                  int64_t count, struct text_buffer *to, rotary_error *error);
/* Appends the text of the tokens. They may end within a character: what is not UTF-8 becomes U+FFFD
 * (unicode_mend). A zero byte follows it. ROTARY_OUT_OF_MEMORY without memory. */
ROTARY_CHECKED rotary_status decoded_text_append(const struct tokenizer *tokenizer, const int32_t *tokens,
                                                 int64_t count, struct text_buffer *to, rotary_error *error);

#endif
