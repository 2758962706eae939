/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings beside a tokenizer: tokenizer_config.json, and the names of special tokens that older versions
 * of transformers kept in special_tokens_map.json.
 */
#ifndef ROTARY_TEXT_TOKENIZER_TOKENIZER_SETTINGS_H
#define ROTARY_TEXT_TOKENIZER_TOKENIZER_SETTINGS_H

#include <jansson.h>
#include <rotary/status.h>

/* Reads the tokenizer_config.json at `path`, with the names of the special_tokens_map.json beside it where it
 * has no "added_tokens_decoder", as transformers does. The caller owns *settings; NULL: there is neither
 * file.
 */
ROTARY_CHECKED rotary_status tokenizer_settings_read(const char *path, json_t **settings,
                                                     rotary_error *error);

#endif
