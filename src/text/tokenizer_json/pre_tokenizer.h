/* SPDX-License-Identifier: Apache-2.0
 *
 * The pre-tokenizers of a tokenizer.json, which split a text into the words that a model makes tokens of.
 * They are those of the library `tokenizers`: ByteLevel, Split, Digits, Metaspace, Whitespace,
 * WhitespaceSplit, Punctuation, and sequences of them. ByteLevel must be the last one: here it leaves the
 * text as bytes, where the library writes a character for each byte, and only what follows it would see them.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_PRE_TOKENIZER_H
#define ROTARY_TEXT_TOKENIZER_JSON_PRE_TOKENIZER_H

#include "text/text_buffer.h"
#include "text/tokenizer/tokenizer.h"

#include <jansson.h>

struct pre_tokenizer {
    struct split_step *steps; /* [count], one after the other */
    int64_t count;
    bool bytes; /* ByteLevel: words are bytes, not characters */
};

/* Reads the "pre_tokenizer" of the file `path`: NULL and null split nothing. What is invalid or not supported
 * is ROTARY_BAD_FILE, and a regular expression is ROTARY_UNSUPPORTED in a program without PCRE2; the caller
 * frees the pre-tokenizer in any case. */
ROTARY_CHECKED rotary_status pre_tokenizer_read(struct pre_tokenizer *pre_tokenizer, const json_t *object,
                                                const char *path, rotary_error *error);
void pre_tokenizer_free(struct pre_tokenizer *pre_tokenizer); /* a zeroed one too */

/* Memory for the texts of one thread; a zeroed one is empty. */
struct split_workspace {
    struct split_memory *steps; /* [count] */
    int64_t count;
};
/* ROTARY_OUT_OF_MEMORY without memory; the caller frees the workspace in any case. */
ROTARY_CHECKED rotary_status split_workspace_create(struct split_workspace *workspace,
                                                    const struct pre_tokenizer *pre_tokenizer,
                                                    rotary_error *error);
void split_workspace_free(struct split_workspace *workspace);

/* Calls take(context, word, bytes) for one word after the other, none of which is empty. `first` is whether
 * the text begins what is encoded. If take fails, so does this; else ROTARY_OUT_OF_MEMORY, or
 * ROTARY_UNSUPPORTED if a regular expression takes too long. */
typedef rotary_status split_take(void *context, const char *word, int64_t bytes, rotary_error *error);
ROTARY_CHECKED rotary_status pre_tokenizer_split(const struct pre_tokenizer *pre_tokenizer,
                                                 struct split_workspace *workspace,
                                                 const struct token_text *text, bool first, split_take *take,
                                                 void *context, rotary_error *error);

#endif
