/* SPDX-License-Identifier: Apache-2.0
 *
 * The normalizers of a tokenizer.json, which change a text before it is split: normal forms of Unicode, lower
 * case, what is stripped, prepended and replaced. Results are those of the library `tokenizers`.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_TEXT_NORMALIZER_H
#define ROTARY_TEXT_TOKENIZER_JSON_TEXT_NORMALIZER_H

#include "text/text_buffer.h"

#include <jansson.h>

struct text_normalizer {
    struct normalizer_step *steps; /* [count], one after the other */
    int64_t count;
};

/* Reads the "normalizer" of the file `path`: NULL and null do nothing. What is invalid or not supported is
 * ROTARY_BAD_FILE; the caller frees the normalizer in any case. */
ROTARY_CHECKED rotary_status text_normalizer_read(struct text_normalizer *normalizer, const json_t *object,
                                                  const char *path, rotary_error *error);
void text_normalizer_free(struct text_normalizer *normalizer); /* a zeroed one too */

/* Normalizes UTF-8 text in place; *stripped is whether its beginning was left out. `scratch` is overwritten.
 * ROTARY_INVALID_ARGUMENT if the text becomes very much longer, ROTARY_OUT_OF_MEMORY without memory. */
ROTARY_CHECKED rotary_status text_normalizer_apply(const struct text_normalizer *normalizer,
                                                   struct text_buffer *text, struct text_buffer *scratch,
                                                   bool *stripped, rotary_error *error);

#endif
