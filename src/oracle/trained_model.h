/* SPDX-License-Identifier: Apache-2.0
 *
 * What the layers of a model that was trained here rotate, by its configuration.
 */
#ifndef ROTARY_ORACLE_TRAINED_MODEL_H
#define ROTARY_ORACLE_TRAINED_MODEL_H

#include "model/transformer_config.h"

/* Reads the object of a file that `where` names in messages. Of the keys that say it those count that are not
 * among `ignored` (NULL-terminated; NULL: none). Without its "position" the model is of another program, or is to
 * be read as if it were: then trained_here is false, and the model a default one. */
ROTARY_CHECKED rotary_status trained_model_read(const json_t *object, const char *where,
                                                const char *const *ignored, struct transformer_config *model,
                                                bool *trained_here, rotary_error *error);

/* Likewise; ROTARY_BAD_FILE if the model was trained here and its layers rotate nothing: the frequencies of its
 * configuration are those of no layer. */
ROTARY_CHECKED rotary_status trained_model_check(const json_t *object, const char *where,
                                                 const char *const *ignored, rotary_error *error);

#endif
