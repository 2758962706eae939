/* SPDX-License-Identifier: Apache-2.0
 *
 * vocab.json and merges.txt, the older files of tokenizers with byte-pair encoding: pieces with their tokens,
 * and a merge on each line. Everything else follows from the class of the tokenizer, which the
 * tokenizer_config.json beside them names: GPT2Tokenizer (also without such a file), CodeGenTokenizer,
 * Qwen2Tokenizer, RobertaTokenizer and BartTokenizer.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_VOCABULARY_MERGES_H
#define ROTARY_TEXT_TOKENIZER_JSON_VOCABULARY_MERGES_H

#include <jansson.h>
#include <rotary/status.h>

/* Whether an object is a vocab.json: it has integers alone, by piece. A piece may be "format": a file of this
 * program has a text beside that key. */
bool vocabulary_merges_is(const json_t *object);
/* The object of the tokenizer.json that says the same as the vocabulary of the file `path` and what is in its
 * folder; the caller owns it. Added tokens are those of "added_tokens_decoder", or the special tokens that
 * the class or the file name. ROTARY_BAD_FILE if a file is invalid or its class is none of those above. */
ROTARY_CHECKED rotary_status vocabulary_merges_object(json_t *vocabulary, const char *path, json_t **object,
                                                      rotary_error *error);

#endif
