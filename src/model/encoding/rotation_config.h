/* SPDX-License-Identifier: Apache-2.0
 *
 * The rotation of a model's layers: what the keys of its configuration say, read as Hugging Face's are
 * (rope_config/rope_config.h).
 */
#ifndef ROTARY_MODEL_ENCODING_ROTATION_CONFIG_H
#define ROTARY_MODEL_ENCODING_ROTATION_CONFIG_H

#include "model/transformer_config.h"
#include "rope_config/rope_config.h"

struct rotation_config {
    struct rope_config rope; /* of queries and keys; value_rope shares its lists */
    rotary_rope_config value_rope;
    unsigned rotate; /* a sum of rotary_attention_rotate; 0: nothing, and the others are not set */
};

/* Reads the rotation of the layers of `layer_type` of a configuration whose head_dim and
 * max_position_embeddings are set. Scalings that depend on the length of the sequences (dynamic, longrope)
 * are those of rope_sequence_length, or else of max_position_embeddings, the longest: a plan never changes,
 * so that cached keys stay valid. The magnitudes of xpos have their origin in the middle of
 * max_position_embeddings, and must not overflow. With randomised positions, their number stands for
 * max_position_embeddings. Nothing is rotated where the encoding does not, where rope_parameters has null for
 * the layer type, and where the fraction of a head is less than a channel. Values that are keys rotate as
 * keys do; ROTARY_ROTATE_OUTPUT then says that outputs are rotated back. ROTARY_INVALID_ARGUMENT if the keys are
 * wrong. rotation_config_free frees what a success allocated. */
ROTARY_CHECKED rotary_status rotation_config_read(const struct transformer_config *config,
                                                  const char *layer_type, struct rotation_config *rotation,
                                                  rotary_error *error);
void rotation_config_free(struct rotation_config *rotation);

#endif
