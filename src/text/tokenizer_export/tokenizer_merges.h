/* SPDX-License-Identifier: Apache-2.0
 *
 * SentencePiece's model as Hugging Face's tokenizers has it.
 */
#ifndef ROTARY_TEXT_TOKENIZER_EXPORT_TOKENIZER_MERGES_H
#define ROTARY_TEXT_TOKENIZER_EXPORT_TOKENIZER_MERGES_H

#include "text/tokenizer/sentencepiece_pieces.h"

#include <jansson.h>

/* The object of a tokenizer.json: for BPE with the merges that its scores stand for, for unigram with the
 * scores. It takes `post_processor`. NULL without memory. */
json_t *tokenizer_merges_json(const struct sentencepiece_pieces *pieces, json_t *post_processor);

#endif
