/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of tokenizer_export_gguf.
 */
#ifndef ROTARY_TEXT_TOKENIZER_EXPORT_TOKENIZER_GGUF_H
#define ROTARY_TEXT_TOKENIZER_EXPORT_TOKENIZER_GGUF_H

#include "text/tokenizer_export/tokenizer_export.h"

/* The metadata of a tokenizer.json of byte-level BPE, and of characters or bytes, as "gpt2" of llama.cpp;
 * NULL, and the reason, where llama.cpp would give other tokens. */
json_t *tokenizer_gguf_bpe(const json_t *file, int64_t size, char reason[TOKENIZER_REASON_BYTES]);
json_t *tokenizer_gguf_bytes(const struct tokenizer *tokenizer, int64_t size,
                             char reason[TOKENIZER_REASON_BYTES]);

#endif
