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
 * but the name of a special token in a text is that token there. Of SentencePiece it has the merges or
 * scores, and the normaliser. Characters and bytes are pieces of BPE on ByteLevel, without merges;
 * words are cut by a regular expression. begin: a token that every text begins with; -1: none. The caller
 * owns *object, which is NULL for kinds that have no such file. */
ROTARY_CHECKED rotary_status tokenizer_export_json(const struct tokenizer *tokenizer, int32_t begin,
                                                   json_t **object, rotary_error *error);

/* The metadata of GGUF, "tokenizer.ggml...": of SentencePiece llama.cpp's "llama" (BPE) or "t5" (unigram), of
 * characters and bytes "llama" with a piece for each, if a text ends with a token, of a tokenizer.json of
 * byte-level BPE "gpt2", if llama.cpp has a name for the words that it cuts, and of others "no_vocab".
 * Ids that the tokenizer lacks are unused tokens. The caller owns *metadata. */
struct tokenizer_gguf_call {
    int64_t size;       /* tokens of the model */
    int32_t begin, end; /* tokens that texts begin and end with; -1: none */
};
ROTARY_CHECKED rotary_status tokenizer_export_gguf(const struct tokenizer *tokenizer,
                                                   const struct tokenizer_gguf_call *call, json_t **metadata,
                                                   rotary_error *error);

#endif
