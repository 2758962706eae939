/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens of a file of GGUF.
 */
#ifndef ROTARY_TEXT_TOKENIZER_EXPORT_GGUF_TOKENS_H
#define ROTARY_TEXT_TOKENIZER_EXPORT_GGUF_TOKENS_H

#include <jansson.h>
#include <stdint.h>

/* Lists by token: texts, scores, and types (enum piece_type). */
struct gguf_tokens {
    json_t *texts, *scores, *types;
};

void gguf_tokens_start(struct gguf_tokens *tokens); /* empty lists */
void gguf_tokens_drop(struct gguf_tokens *tokens);
/* Adds a token with its text, of which it takes the reference. */
void gguf_tokens_add(struct gguf_tokens *tokens, json_t *text, double score, int type);
/* Adds unused tokens until there are `size`: llama.cpp wants as many as the embedding has rows. */
void gguf_tokens_add_unused(struct gguf_tokens *tokens, int64_t size);

#endif
