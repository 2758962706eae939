/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings beside a tokenizer: tokenizer_config.json, and what older versions of transformers kept elsewhere:
 * the names of special tokens in special_tokens_map.json, and added tokens in added_tokens.json.
 */
#ifndef ROTARY_TEXT_TOKENIZER_TOKENIZER_SETTINGS_H
#define ROTARY_TEXT_TOKENIZER_TOKENIZER_SETTINGS_H

#include <jansson.h>
#include <rotary/status.h>
#include <stdbool.h>

/* Whether "tokenizer_class" is this class; "Fast" behind its name says how transformers computes it. */
bool tokenizer_class_is(const json_t *settings, const char *name);

/* The key under which the settings have the object of added_tokens.json, ids by token. */
extern const char tokenizer_added_key[];

/* Reads the tokenizer_config.json at `path`; where it has no "added_tokens_decoder" also the names of the
 * special_tokens_map.json and the tokens of the added_tokens.json beside it, as transformers does. The caller owns
 * *settings; NULL: there is no such file. */
ROTARY_CHECKED rotary_status tokenizer_settings_read(const char *path, json_t **settings,
                                                     rotary_error *error);

#endif
