/* SPDX-License-Identifier: Apache-2.0
 *
 * The attention plans of a stack of layers: full or within a sliding window, rotated or not, with the base of
 * the layer's type. Layers that are alike share a plan.
 *
 * layer_types, sliding_window and no_rope_layers are about the self-attention of the decoder, or of an
 * encoder without a decoder, which has no sliding window. Every layer of an encoder-decoder's encoder sees
 * all of the source, and rotates as one of type full_attention does. So does cross-attention with
 * cross_rotary, queries and keys each by their own positions, but it never rotates values; without, it
 * rotates nothing.
 */
#ifndef ROTARY_MODEL_ENCODING_ATTENTION_PLANS_H
#define ROTARY_MODEL_ENCODING_ATTENTION_PLANS_H

#include "base/attention_maps.h"
#include "layer/encoding/position.h"
#include "model/transformer_config.h"

/* Two layer types, each with and without rotation. */
enum { MAX_ATTENTION_PLANS = 4 };

struct attention_plans {
    struct position_attention plans[MAX_ATTENTION_PLANS]; /* the distinct ones; the others are empty */
    const struct attention_plan **of_layer;               /* [layers], borrowed from `plans` */
    enum attention_kind kind;
    int64_t layers;
};

/* The plans of a configuration that transformer_config_check accepted. Their tables of cosines and sines
 * are for table_positions positions; 0: they have no memory. */
ROTARY_CHECKED rotary_status attention_plans_create(struct attention_plans *plans,
                                                    const struct backend *backend,
                                                    const struct transformer_config *config,
                                                    enum attention_kind kind, int64_t table_positions,
                                                    rotary_error *error);
void attention_plans_destroy(struct attention_plans *plans);

/* Checks layer_types, no_rope_layers, sliding_window and the rotation of every layer of every kind, as for
 * attention_plans_create. head_dim, num_key_value_heads and max_position_embeddings are set. */
ROTARY_CHECKED rotary_status attention_plans_check(const struct transformer_config *config,
                                                   rotary_error *error);

/* Bytes of the tables with all positions of the configuration, whatever number they were made with. */
double attention_plans_table_bytes(const struct attention_plans *plans,
                                   const struct transformer_config *config);

#endif
