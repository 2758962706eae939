/* SPDX-License-Identifier: Apache-2.0
 *
 * The files in which others keep BERT's tokenizers: vocab.txt, tokenizer_config.json, and the tokenizer.json
 * of the library `tokenizers`.
 */
#ifndef ROTARY_TEXT_TOKENIZER_WORDPIECE_FILE_H
#define ROTARY_TEXT_TOKENIZER_WORDPIECE_FILE_H

#include "text/tokenizer/wordpiece.h"

#include <jansson.h>

/* wordpiece_create of what was read from `path`, which is in the message; ROTARY_BAD_FILE if it is invalid.
 */
ROTARY_CHECKED rotary_status wordpiece_create_from(struct tokenizer **tokenizer,
                                                   const struct wordpiece_config *config,
                                                   const struct token_text *pieces, int64_t count,
                                                   const char *path, rotary_error *error);

enum { WORDPIECE_SPECIAL = 5 }; /* padding, unknown, begin, end, mask */

/* What a tokenizer_config.json says; the names belong to `object`. */
struct wordpiece_settings {
    struct bert_rules rules;
    const char *names[WORDPIECE_SPECIAL]; /* NULL: there is none */
    json_t *object;                       /* NULL: there is no such file */
};
/* Reads such a file; without one the settings are the defaults. The caller frees them in any case. */
ROTARY_CHECKED rotary_status wordpiece_settings_read(struct wordpiece_settings *settings, const char *path,
                                                     rotary_error *error);
void wordpiece_settings_free(struct wordpiece_settings *settings);

/* Whether the bytes are those of a vocab.txt: lines, of which one is [UNK]. */
bool wordpiece_is_vocabulary(const char *bytes, int64_t count);
/* The tokenizer of such bytes, read from `path`, with the settings beside it. */
ROTARY_CHECKED rotary_status wordpiece_load_vocabulary(struct tokenizer **tokenizer, const char *bytes,
                                                       int64_t count, const char *path, rotary_error *error);
/* Whether the object is one of `tokenizers` with BERT's normalizer or words; and its tokenizer. Special
 * tokens have the names that the tokenizer_config.json beside it gives them. */
bool wordpiece_is_object(const json_t *object);
ROTARY_CHECKED rotary_status wordpiece_load_object(struct tokenizer **tokenizer, const json_t *object,
                                                   const char *path, rotary_error *error);

#endif
