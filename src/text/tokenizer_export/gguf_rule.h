/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tokenizers llama.cpp has: those of which every part is one that it computes alike, so that its tokens
 * of any text are those of the library `tokenizers`. The reason why another is none of them is for the user.
 */
#ifndef ROTARY_TEXT_TOKENIZER_EXPORT_GGUF_RULE_H
#define ROTARY_TEXT_TOKENIZER_EXPORT_GGUF_RULE_H

#include "text/tokenizer/sentencepiece_pieces.h"
#include "text/tokenizer_export/gguf_tokens.h"
#include "text/tokenizer_export/tokenizer_export.h"

/* The cut where nothing is merged, so that it does not matter: with this one llama.cpp leaves the spaces of
 * text alone. */
extern const char gguf_rule_bytes_cut[];

/* Each is false and says the reason if llama.cpp would give other tokens of some text. */

/* Judges a tokenizer.json of byte-level BPE; *cut is llama.cpp's name for how its text is cut into words. */
bool gguf_rule_file(const json_t *file, const char **cut, char reason[TOKENIZER_REASON_BYTES]);
/* Judges the "added_tokens" of a tokenizer.json, beside the "vocab" of its model (gguf_rule_added.c). */
bool gguf_rule_added(const json_t *added, const json_t *vocabulary, char reason[TOKENIZER_REASON_BYTES]);
/* Judges a model of SentencePiece. */
bool gguf_rule_pieces(const struct sentencepiece_pieces *pieces, char reason[TOKENIZER_REASON_BYTES]);
/* Judges the lists of all tokens, for a model with so many. */
bool gguf_rule_tokens(const struct gguf_tokens *tokens, int64_t size, char reason[TOKENIZER_REASON_BYTES]);

/* Whether llama.cpp changes the tokens of a model with this name. */
bool gguf_rule_changes_name(const char *name);

/* Writes the reason; always false. */
bool gguf_rule_refuse(char reason[TOKENIZER_REASON_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
