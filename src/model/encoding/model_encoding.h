/* SPDX-License-Identifier: Apache-2.0
 *
 * The position encoding of a configuration: a named one, or one that the configuration describes.
 */
#ifndef ROTARY_MODEL_ENCODING_MODEL_ENCODING_H
#define ROTARY_MODEL_ENCODING_MODEL_ENCODING_H

#include "model/encoding/custom_encoding.h"
#include "model/transformer_config.h"

/* What the configuration describes; NULL: it names an encoding. */
const struct custom_encoding *model_encoding_custom(const struct transformer_config *config);
/* The terms of the encoding, and its name. They live as long as the configuration. */
const struct position_encoding *model_encoding(const struct transformer_config *config);
const char *model_encoding_name(const struct transformer_config *config);
/* What layers that rotate do: a sum of rotary_attention_rotate, 0 where the encoding has no rotation. */
unsigned model_rotates(const struct transformer_config *config);

/* The values of the encoding's own keys. */
union encoding_options model_encoding_options(const struct transformer_config *config);
/* The distance from which on all share their vectors by distance; 0: there is no table of them. */
int64_t model_encoding_clip(const struct transformer_config *config);

/* The encoding of a model, which lives no longer than its configuration. */
struct model_encoding {
    const struct position_encoding *terms;
    const struct custom_encoding *custom; /* NULL: a named one */
    struct formula_bias bias;             /* formula NULL: there is none */
};
/* ROTARY_INVALID_ARGUMENT where a description is not for as many heads. model_encoding_free frees it. */
ROTARY_CHECKED rotary_status model_encoding_create(const struct transformer_config *config,
                                                   struct model_encoding *encoding, rotary_error *error);
void model_encoding_free(struct model_encoding *encoding);
/* What a bias by distance depends on, whoever computes it: the keys of the configuration, and the formula or
 * table of `encoding`, which stays borrowed. */
struct distance_bias_settings model_encoding_bias_settings(const struct transformer_config *config,
                                                           const struct model_encoding *encoding);
/* The frequencies that a description gives for so many pairs of rotated channels, as a list that the caller
 * releases; NULL: it gives none. */
ROTARY_CHECKED rotary_status model_encoding_frequencies(const struct transformer_config *config,
                                                        int64_t pairs, json_t **list, rotary_error *error);
bool model_encoding_has_frequencies(const struct transformer_config *config);
/* Checks that the values of the encoding's keys agree; that a description is for the model, and its bias
 * finite at first. */
ROTARY_CHECKED rotary_status model_encoding_check(const struct transformer_config *config,
                                                  rotary_error *error);

#endif
