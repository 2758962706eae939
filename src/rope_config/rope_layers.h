/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the object of a configuration that describes the rotation: the language model's among several models,
 * and the layer type's where layer types have different rotations.
 */
#ifndef ROTARY_ROPE_CONFIG_ROPE_LAYERS_H
#define ROTARY_ROPE_CONFIG_ROPE_LAYERS_H

#include "rope_config/rope_reader.h"

/* Finds the language model in reader->root, its type and the defaults of its family. The caller frees
 * reader->family and reader->family_parameters, whatever is returned. */
ROTARY_CHECKED rotary_status rope_layers_find_family(struct rope_reader *reader);

/* Finds the rotation's parameters, those of the requested layer type where there are several: the file's, or
 * the family's where the file has none. */
ROTARY_CHECKED rotary_status rope_layers_find_parameters(struct rope_reader *reader);

/* The key with a base for layers of this type alone, or of any type for NULL; NULL if the file has none. */
const char *rope_layers_local_base(const struct rope_reader *reader, const char *layer_type);

/* Heads of the asked layers in "per_layer_config", {"5": {"head_dim": 128}, ...}, where transformers writes what differs
 * between layers; *head_dim stays where no such layer is in it. */
ROTARY_CHECKED rotary_status rope_layers_head_dim(const struct rope_reader *reader, int64_t *head_dim);

#endif
