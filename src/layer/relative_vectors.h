/* SPDX-License-Identifier: Apache-2.0
 *
 * The vectors by distance that an encoding gives a layer of self-attention (struct distance_vector_terms),
 * and their parameters. A table is read and its gradient added where the parameters are: nothing is copied.
 */
#ifndef ROTARY_LAYER_RELATIVE_VECTORS_H
#define ROTARY_LAYER_RELATIVE_VECTORS_H

#include "layer/sublayer.h"

struct relative_vectors {
    struct relative_vectors_config config;
    int64_t head_dim;
    int keys, values; /* rows in the table of parameters; -1: none */
};

/* What a call of attention is given; all zero where there are no vectors. */
struct relative_vectors_call {
    rotary_attention_distance_vectors keys, values;
};

/* The vectors of a sublayer. Adds its parameters to the table: "<config->name>.relative_keys.weight" and
 * "<config->name>.relative_values.weight", uniform as Glorot and Bengio 2010 propose. */
ROTARY_CHECKED rotary_status relative_vectors_create(struct relative_vectors *vectors,
                                                     const struct sublayer_config *config,
                                                     struct parameters *parameters, rotary_error *error);

/* The vectors for a forward pass or decoding; for a backward pass also where their gradients are added. */
struct relative_vectors_call relative_vectors_forward(const struct relative_vectors *vectors,
                                                      const struct parameters *parameters);
struct relative_vectors_call relative_vectors_backward(const struct relative_vectors *vectors,
                                                       const struct parameters *parameters);

/* Calls with which workspaces are measured: arrays that are not read stand for those that passes have. */
struct relative_vectors_call relative_vectors_unread(const struct sublayer_config *config);

#endif
