/* SPDX-License-Identifier: Apache-2.0
 *
 * Which keys of a model's configuration are known, so that none that could change the rotation goes unheard.
 */
#ifndef ROTARY_FILE_ROPE_KEYS_H
#define ROTARY_FILE_ROPE_KEYS_H

#include "file/rope_reader.h"

/* ROTARY_BAD_FILE for a key of reader->parameters, or one of reader->text_config that begins with "rope" or "rotary", that
 * is not known and not among reader->ignored; null is as good as absent. */
ROTARY_CHECKED rotary_status rope_keys_check(const struct rope_reader *reader);

/* ROTARY_BAD_FILE where the model has no rotation, or none that a plan can be: for its "model_type", or by
 * what its keys say. --ignore of the key, "model_type" being one, lets it pass. */
ROTARY_CHECKED rotary_status rope_keys_check_model(const struct rope_reader *reader);

/* What models of this type take; for NULL and types that are not known, a model that takes nothing of its
 * own. */
const struct rope_family *rope_keys_family(const char *type);

#endif
