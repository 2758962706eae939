/* SPDX-License-Identifier: Apache-2.0
 *
 * What is done with each key of a config.json of transformers, from config_keys.json, which the build embeds.
 * It has an object for each model type that is loaded, and one for all decoders and for all encoders:
 *
 * - "applied": keys that are read, and change the model or what is refused
 * - "refused": keys that change what transformers computes and that no model of this program has: "why" says
 *   what they do and what is wanted, and "unless" lists values with which they do nothing, beside null
 * - "unused": keys that change nothing that is computed here, with the reason; they are not read
 *
 * tests/huggingface/config_keys.py compares the lists with transformers. A key that its classes do not have
 * is stored there and changes nothing, and is not looked at here.
 */
#ifndef ROTARY_HUGGINGFACE_CONFIG_KEYS_H
#define ROTARY_HUGGINGFACE_CONFIG_KEYS_H

#include <jansson.h>
#include <rotary/status.h>

/* ROTARY_UNSUPPORTED for a key of the object that is refused for `kind` ("decoder", "encoder", or "" for
 * neither) or for the model type. */
ROTARY_CHECKED rotary_status config_keys_check(const json_t *object, const char *kind, const char *model_type,
                                               const char *path, rotary_error *error);

/* The object without keys that are unused for the kind or the model type; the caller releases it. */
ROTARY_CHECKED rotary_status config_keys_used(const json_t *object, const char *kind, const char *model_type,
                                              json_t **used, rotary_error *error);

extern const char config_keys_json[]; /* the text of config_keys.json */

#endif
