/* SPDX-License-Identifier: Apache-2.0
 *
 * How SentencePiece normalises a text before it cuts it into pieces: characters by the model's table, spaces
 * as U+2581.
 */
#ifndef ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_NORMALIZER_H
#define ROTARY_TEXT_TOKENIZER_SENTENCEPIECE_NORMALIZER_H

#include "text/text_buffer.h"
#include "text/tokenizer/double_array.h"
#include "text/tokenizer/piece_trie.h"
#include "text/tokenizer/sentencepiece_pieces.h"

struct sentencepiece_normalizer {
    struct double_array table;        /* without units: every character stays what it is */
    const char *texts;                /* what its values lead to, each with a zero byte behind it */
    bool prefix;                      /* a space comes before the text */
    bool squeeze;                     /* of spaces side by side one remains, of those at the ends none */
    const struct piece_trie *defined; /* whose continuing pieces are user-defined: they stay what they are */
};

/* Borrows the table of a file that sentencepiece_check_file accepts. */
void sentencepiece_normalizer_start(struct sentencepiece_normalizer *normalizer,
                                    const struct sentencepiece_pieces *pieces,
                                    const struct piece_trie *defined);
/* Appends what becomes of valid UTF-8 text. */
ROTARY_CHECKED rotary_status sentencepiece_normalize(const struct sentencepiece_normalizer *normalizer,
                                                     const char *text, int64_t bytes, struct text_buffer *to,
                                                     rotary_error *error);

#endif
