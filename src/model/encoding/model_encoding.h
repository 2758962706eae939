/* SPDX-License-Identifier: Apache-2.0
 *
 * The position encoding of a configuration: a named one, or one that the configuration describes.
 */
#ifndef ROTARY_MODEL_ENCODING_MODEL_ENCODING_H
#define ROTARY_MODEL_ENCODING_MODEL_ENCODING_H

#include "model/encoding/custom_encoding.h"
#include "model/transformer_config.h"

/* The terms of the encoding. */
ROTARY_CHECKED rotary_status model_encoding_terms(const struct transformer_config *config,
                                                  struct position_encoding *terms, rotary_error *error);
/* Names it for checks of keys, which end before a model is made: of a description that cannot be read, none.
 */
struct position_encoding model_encoding(const struct transformer_config *config);
/* Writes the encoding's name to `name` and returns that. */
const char *model_encoding_name(const struct transformer_config *config, char name[ENCODING_NAME_BYTES]);

/* Reads the description; of a named encoding only `terms` is set. custom_encoding_free frees it. */
ROTARY_CHECKED rotary_status model_encoding_read(const struct transformer_config *config,
                                                 struct custom_encoding *encoding, rotary_error *error);
/* What a bias by distance depends on, whoever computes it: the keys of the configuration, and the formula or
 * table of `encoding`, which model_encoding_read has read and which stays borrowed. */
struct distance_bias_settings model_encoding_bias_settings(const struct transformer_config *config,
                                                           const struct custom_encoding *encoding);
/* The frequencies that a description gives for so many pairs of rotated channels, as a list that the caller
 * releases; NULL: it gives none. */
ROTARY_CHECKED rotary_status model_encoding_frequencies(const struct transformer_config *config,
                                                        int64_t pairs, json_t **list, rotary_error *error);
bool model_encoding_has_frequencies(const struct transformer_config *config);
/* Checks a description, and that its bias is finite at first. Of a named encoding nothing is to be checked.
 */
ROTARY_CHECKED rotary_status model_encoding_check(const struct transformer_config *config,
                                                  rotary_error *error);

#endif
