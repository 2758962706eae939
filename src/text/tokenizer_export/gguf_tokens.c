/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_export/gguf_tokens.h"

#include "text/tokenizer/sentencepiece_pieces.h"

#include <stdio.h>

void gguf_tokens_start(struct gguf_tokens *tokens)
{
    *tokens = (struct gguf_tokens){json_array(), json_array(), json_array()};
}

void gguf_tokens_drop(struct gguf_tokens *tokens)
{
    json_decref(tokens->texts);
    json_decref(tokens->scores);
    json_decref(tokens->types);
}

void gguf_tokens_add(struct gguf_tokens *tokens, json_t *text, double score, int type)
{
    json_array_append_new(tokens->texts, text);
    json_array_append_new(tokens->scores, json_real(score));
    json_array_append_new(tokens->types, json_integer(type));
}

/* llama.cpp's unigram takes unused tokens too: this score loses against any other. */
static const double unused_score = -1e30;

void gguf_tokens_add_unused(struct gguf_tokens *tokens, int64_t size)
{
    for (int64_t i = (int64_t)json_array_size(tokens->texts); i < size; i++) {
        char text[32];
        snprintf(text, sizeof text, "[UNUSED%lld]", (long long)i);
        gguf_tokens_add(tokens, json_string(text), unused_score, PIECE_UNUSED);
    }
}
