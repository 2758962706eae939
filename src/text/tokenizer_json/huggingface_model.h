/* SPDX-License-Identifier: Apache-2.0
 *
 * The "model" of a tokenizer.json: BPE, Unigram, WordLevel or WordPiece. Used by huggingface_tokenizer_file.c
 * alone.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_HUGGINGFACE_MODEL_H
#define ROTARY_TEXT_TOKENIZER_JSON_HUGGINGFACE_MODEL_H

#include "text/tokenizer_json/huggingface_tokenizer.h"
#include "text/tokenizer_json/json_part.h"

/* What is read, with the file's own texts. */
struct reading {
    struct huggingface_tokenizer *made;
    const json_t *model;
    json_t *vocabulary; /* of the model: tokens by piece; the reading owns a reference */
    const char *path;
    const char **raw; /* of each token, [size], as the file has it; NULL: none */
    int64_t size;
    struct text_buffer text, scratch;
};

/* Sets the vocabulary. ROTARY_BAD_FILE if the type of the model is not supported, or it has none. */
ROTARY_CHECKED rotary_status huggingface_vocabulary_read(struct reading *reading,
                                                         const struct json_part *part, rotary_error *error);
/* The token of a piece of the vocabulary; -1: there is none. */
int32_t huggingface_find_piece(const struct reading *reading, const char *piece);
/* Reads the rest of the model, once the pieces of the tokenizer are there. */
ROTARY_CHECKED rotary_status huggingface_model_read(struct reading *reading, const struct json_part *part,
                                                    rotary_error *error);

#endif
