/* SPDX-License-Identifier: Apache-2.0
 *
 * The config.json of a Hugging Face decoder: Llama, Mistral, Qwen, GPT-NeoX and others of
 * huggingface/decoder_family.h.
 */
#ifndef ROTARY_HUGGINGFACE_DECODER_CONFIG_H
#define ROTARY_HUGGINGFACE_DECODER_CONFIG_H

#include "model/transformer_config.h"

/* Whether a config.json has the model type of such a decoder. */
bool decoder_config_is(const json_t *object);

/* Reads the object, which was read from `path`: the model as this program configures it, and its family,
 * which the caller releases (decoder_family.h). Keys that a file lacks have the defaults of transformers, but
 * the sizes of the model must be there. ROTARY_BAD_FILE names the key of what is out of range, or what no
 * model of this program computes; ROTARY_UNSUPPORTED another architecture, and quantised weights. */
ROTARY_CHECKED rotary_status decoder_config_read(const json_t *object, const char *path,
                                                 struct transformer_config *model, json_t **family,
                                                 rotary_error *error);

#endif
