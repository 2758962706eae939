/* SPDX-License-Identifier: Apache-2.0
 *
 * Special tokens in files: by number in this program's own, by name in the tokenizer_config.json of others.
 */
#ifndef ROTARY_TEXT_TOKENIZER_SPECIAL_TOKENS_H
#define ROTARY_TEXT_TOKENIZER_SPECIAL_TOKENS_H

#include "text/tokenizer/tokenizer.h"

#include <jansson.h>

/* {"padding": 0, "unknown": 1, ...}; NULL without memory. */
json_t *special_tokens_object(const struct special_tokens *special);
/* Reads the "special_tokens" of `object`: numbers below TOKENIZER_MAX_TOKENS, or -1. ROTARY_BAD_FILE if one
 * is missing or invalid. */
ROTARY_CHECKED rotary_status special_tokens_read(struct special_tokens *special, const json_t *object,
                                                 const char *path, rotary_error *error);

/* The name of a special token: a text, or an object with it as its "content"; NULL where the key is null.
 * Where it is missing, *name stays. */
ROTARY_CHECKED rotary_status special_name_read(const json_t *object, const char *key, const char **name,
                                               const char *path, rotary_error *error);

#endif
