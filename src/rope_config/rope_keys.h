/* SPDX-License-Identifier: Apache-2.0
 *
 * Which keys of a model's configuration are known, so that none that could change the rotation is overlooked.
 */
#ifndef ROTARY_ROPE_CONFIG_ROPE_KEYS_H
#define ROTARY_ROPE_CONFIG_ROPE_KEYS_H

#include "rope_config/rope_reader.h"

/* ROTARY_BAD_FILE for a key of reader->parameters, or one of reader->text_config with a word that begins with
 * "rope" or "rotary", that is neither known nor ignored, also beside the parameters of layer types. A key
 * whose value is null counts as absent. */
ROTARY_CHECKED rotary_status rope_keys_check(const struct rope_reader *reader);

/* Whether a key is known among the parameters of a rotation. */
bool rope_keys_is_parameter(const char *key);

/* ROTARY_BAD_FILE where the model has no rotation, or one that no plan can have: by its "model_type" or by
 * other keys. Ignoring the key (also "model_type") accepts the file. */
ROTARY_CHECKED rotary_status rope_keys_check_model(const struct rope_reader *reader);

#endif
