/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of tokenizer_export_gguf.
 */
#ifndef ROTARY_TEXT_TOKENIZER_GGUF_H
#define ROTARY_TEXT_TOKENIZER_GGUF_H

#include "text/sentencepiece_pieces.h"

#include <jansson.h>

/* The lists by token: texts, scores, and types (enum piece_type). */
struct tokenizer_gguf_lists {
    json_t *tokens, *scores, *types;
};

/* Adds unused tokens until there are `size`: llama.cpp wants as many as the embedding has rows. */
void tokenizer_gguf_add_unused(struct tokenizer_gguf_lists *lists, int64_t size);

/* The metadata of a tokenizer.json of byte-level BPE, "gpt2" of llama.cpp; NULL where that has no name for
 * the words that its text is cut into. */
json_t *tokenizer_gguf_bpe(const json_t *file, int64_t size);

#endif
