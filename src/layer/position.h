/* SPDX-License-Identifier: Apache-2.0
 *
 * Position encodings, a row each, and the attention they make. There is one attention; an encoding says which
 * of its terms are there.
 */
#ifndef ROTARY_LAYER_POSITION_H
#define ROTARY_LAYER_POSITION_H

#include "layer/embedding.h"
#include "tensor/compute.h"

#include <rotary/attention.h>

enum position {
    POSITION_NONE,       /* nothing (NoPE): a causal mask alone tells the order */
    POSITION_LEARNED,    /* a trained table added to the embedding */
    POSITION_SINUSOIDAL, /* a fixed one (Vaswani et al. 2017) */
    POSITION_ROPE,       /* queries and keys turned (Su et al. 2021) */
    POSITION_ROPER,      /* values too, and the output turned back (Harik and Jayasiri 2022) */
    POSITIONS
};

struct position_encoding {
    enum embedding_position embedding; /* what is added to the embedding */
    bool rotate_query_key, rotate_value;
};

const struct position_encoding *position_encoding(enum position position);
/* The names in the order of the enum, NULL-terminated. */
extern const char *const position_names[];

struct position_config {
    enum position position;
    int64_t heads, key_value_heads, head_dim;
    rotary_pairing pairing;
    double base;
    double query_key_fraction, value_fraction; /* of a head's channels that turn */
    int64_t table_positions;                   /* positions whose cosines and sines are kept ready */
};

/* Channels that turn when `fraction` of `head_dim` should. */
int64_t position_rotary_dim(int64_t head_dim, double fraction);

/* Causal self-attention under an encoding. All layers of a model share one. */
struct position_attention {
    rotary_rope *rope, *value_rope; /* NULL where the encoding does not turn */
    rotary_attention *attention;
};
ROTARY_CHECKED rotary_status position_attention_create(struct position_attention *attention,
                                                       const struct compute *compute,
                                                       const struct position_config *config,
                                                       rotary_error *error);
void position_attention_destroy(struct position_attention *attention);

#endif
