/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts at which what a model generates is to end, beside its tokenizer: a special token has no text, and
 * ends it as a token; of another text the tokens of the vocabulary must be able to make it up.
 */
#ifndef ROTARY_TEXT_STOP_TEXTS_H
#define ROTARY_TEXT_STOP_TEXTS_H

#include "text/tokenizer/tokenizer.h"

struct stop_texts {
    const char **strings; /* [count], borrowed: texts, for text/stop_strings.h */
    int32_t *tokens;      /* [token_count]: special tokens that are named */
    int count, token_count;
};

/* ROTARY_INVALID_ARGUMENT names a text that cannot occur, or has a special token beside other text. */
ROTARY_CHECKED rotary_status stop_texts_create(struct stop_texts *stops, const struct tokenizer *tokenizer,
                                               const char *const *texts, int count, rotary_error *error);
void stop_texts_free(struct stop_texts *stops); /* a zeroed one too */

#endif
