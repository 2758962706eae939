/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokenizers. A line makes a tokenizer known everywhere: it gives the enumerator TOKENIZER_NAME, the name
 * in files, and `tokenizer_name` and `tokenizer_format_name`, which the tokenizer's own files define
 * (text/tokenizer/tokenizer_type.h).
 */
#ifndef ROTARY_TEXT_TOKENIZER_TOKENIZER_LIST_H
#define ROTARY_TEXT_TOKENIZER_TOKENIZER_LIST_H

struct tokenizer_type; /* text/tokenizer/tokenizer_type.h */

#define ROTARY_TOKENIZERS(TOKENIZER)                                                                         \
    TOKENIZER(CHARACTERS, characters)                                                                        \
    TOKENIZER(WORDS, words)                                                                                  \
    TOKENIZER(BYTES, bytes)                                                                                  \
    TOKENIZER(SENTENCEPIECE, sentencepiece)                                                                  \
    TOKENIZER(HUGGINGFACE, huggingface)                                                                      \
    TOKENIZER(WORDPIECE, wordpiece)

#endif
