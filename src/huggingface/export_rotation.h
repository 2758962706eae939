/* SPDX-License-Identifier: Apache-2.0
 *
 * The rotation of an exported model: "rope_parameters" of transformers, and the keys and the tensor of GGUF.
 *
 * Scalings that depend on the length of the sequences are, in a model of ours, those of its
 * max_position_embeddings at any length. So they are written as what gives these frequencies at any length:
 * dynamic (unless it changes nothing up to there) and ntk as another base, longrope with the list in force in
 * the places of both. With a rope_sequence_length they are written as they are, for all lengths.
 */
#ifndef ROTARY_HUGGINGFACE_EXPORT_ROTATION_H
#define ROTARY_HUGGINGFACE_EXPORT_ROTATION_H

#include "model/encoding/rotation_config.h"

#include <rotary/rope.h>

struct export_rotation {
    struct rotation_config config;
    rotary_rope *plan;
    bool for_a_length; /* rope_sequence_length says for which; else for max_position_embeddings */
    double base;       /* of the frequencies before a scaling that is written */
    double factor;     /* s */
    int64_t original;  /* L0 */
};

/* Reads the rotation of the layers with a sliding window of a checked configuration, or of the others; where
 * there are no such layers, that of all layers. ROTARY_UNSUPPORTED for one that neither format has: the
 * message begins with `where` and names the key. export_rotation_free frees what a success allocated. */
ROTARY_CHECKED rotary_status export_rotation_read(struct export_rotation *rotation,
                                                  const struct transformer_config *config, bool sliding,
                                                  const char *where, rotary_error *error);
/* Sets the configuration's pairing and partial_rotary_factor to those in force, which rope_parameters may
 * name instead. */
ROTARY_CHECKED rotary_status export_rotation_settle(struct transformer_config *config, rotary_error *error);
void export_rotation_free(struct export_rotation *rotation);

/* {"rope_type": ..., "rope_theta": ..., ...}, as transformers reads it: a new object.
 * longrope: of a model that knows no other type beside "default". */
json_t *export_rotation_parameters(const struct export_rotation *rotation, bool longrope);

/* Adds the keys of GGUF, "<architecture>.rope.freq_base" and others. Frequencies that these do not give are
 * those of the base divided by `factors`, [pairs], which a tensor has; *has_factors says
 * whether it is there. */
void export_rotation_gguf(const struct export_rotation *rotation, const char *architecture, json_t *metadata,
                          float *factors, bool *has_factors);

#endif
