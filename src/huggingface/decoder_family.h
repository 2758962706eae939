/* SPDX-License-Identifier: Apache-2.0
 *
 * Families of Hugging Face decoders, as data: decoder_families.json, which the build embeds. Of each
 * "model_type" it says which of this program's models it is, and what its tensors are called. An entry has
 *
 * - "like": a family whose entries, and single defaults and tensors, this one takes where it has none
 * - "architecture": the class of transformers, as config.json names it
 * - "defaults": values of keys that a config.json does not have
 * - "keys": a key of this program's models, and the key of config.json that has its value
 * - "model": keys of this program's models with one value in the whole family
 * - "gated": whether the feed-forward layer has a gate
 * - "activation": the key that names its activation, unless it is "hidden_act"
 * - "windows": which layers have a sliding window: "all" if there is one; "flag": where "use_sliding_window"
 * is true, those from "max_window_layers" on; "pattern": all but every so many, as many as
 * "window_pattern" says, or the key of config.json that "window_pattern_key" names
 * - "rope_types": types of the rotation's scaling that the model type reads as others
 * - "norm_offset": what gains of norms lack in the file: 1 where it has weights and norms multiply by 1 + w
 * - "query_key_value_by_head": rows of the fused projection: query, key and value of one head after another
 * - "tensors": modules of this program and theirs, with {} for the number of a layer; several are one below
 * the other. A folder that is exported has the same names.
 */
#ifndef ROTARY_HUGGINGFACE_DECODER_FAMILY_H
#define ROTARY_HUGGINGFACE_DECODER_FAMILY_H

#include <jansson.h>
#include <rotary/status.h>

/* The family of a model type, an object with the keys above, which the caller releases; NULL where there is
 * none. */
ROTARY_CHECKED rotary_status decoder_family_find(const char *model_type, json_t **family,
                                                 rotary_error *error);
enum { DECODER_FAMILY_NAMES_BYTES = 512 };
/* The model types that there are: "llama, mistral or qwen2". */
const char *decoder_family_names(char text[DECODER_FAMILY_NAMES_BYTES]);

extern const char decoder_families_json[]; /* the text of decoder_families.json */

#endif
