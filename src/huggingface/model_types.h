/* SPDX-License-Identifier: Apache-2.0
 *
 * The defaults of Hugging Face's model types, from model_types.json, which tests/golden/make_model_types.py
 * writes and the build embeds.
 */
#ifndef ROTARY_HUGGINGFACE_MODEL_TYPES_H
#define ROTARY_HUGGINGFACE_MODEL_TYPES_H

#include "rope_config/rope_config.h"

/* For rope_config_request.find_family: the defaults of a model type, all 0 if it is not known. The caller
 * frees them by rope_family_free. */
ROTARY_CHECKED rotary_status model_types_find(const char *model_type, struct rope_family *family,
                                              rotary_error *error);
/* Finds it in a table that is already parsed. A table of another form is ROTARY_BAD_FILE; of the families
 * only the one that is found is checked: an unknown key or a wrong value is ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status model_types_find_in(const json_t *table, const char *model_type,
                                                 struct rope_family *family, rotary_error *error);

extern const char model_types_json[]; /* the text of model_types.json */

#endif
