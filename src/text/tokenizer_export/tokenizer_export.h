/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokenizers as other programs read them.
 */
#ifndef ROTARY_TEXT_TOKENIZER_EXPORT_TOKENIZER_EXPORT_H
#define ROTARY_TEXT_TOKENIZER_EXPORT_TOKENIZER_EXPORT_H

#include "text/tokenizer/tokenizer.h"

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

/* The metadata of GGUF, "tokenizer.ggml...", where llama.cpp gives the same tokens of every text as the
 * tokenizer.json (text/tokenizer_export/gguf_rule.h): of SentencePiece its "llama" (BPE) or "t5" (unigram),
 * of an alphabet, bytes and a tokenizer.json of byte-level BPE its "gpt2". Else it is "no_vocab", and reason[]
 * says why, which is "" where it has the tokenizer. Ids that the tokenizer lacks are unused tokens. The
 * caller owns *metadata. */
enum { TOKENIZER_REASON_BYTES = 256 };
struct tokenizer_gguf_call {
    int64_t size;       /* tokens of the model */
    int32_t begin, end; /* tokens that texts begin and end with; -1: none */
};
ROTARY_CHECKED rotary_status tokenizer_export_gguf(const struct tokenizer *tokenizer,
                                                   const struct tokenizer_gguf_call *call, json_t **metadata,
                                                   char reason[TOKENIZER_REASON_BYTES], rotary_error *error);

#endif
