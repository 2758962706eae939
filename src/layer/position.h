/* SPDX-License-Identifier: Apache-2.0
 *
 * Position encodings, and the attention plan of each.
 */
#ifndef ROTARY_LAYER_POSITION_H
#define ROTARY_LAYER_POSITION_H

#include "backend/backend.h"
#include "layer/embedding.h"

#include <rotary/attention.h>

enum position {
    POSITION_NONE,       /* NoPE: only the causal mask gives order */
    POSITION_LEARNED,    /* a trained table added to the embedding */
    POSITION_SINUSOIDAL, /* a fixed table added to the embedding (Vaswani et al. 2017) */
    POSITION_ROPE,       /* queries and keys rotated (Su et al. 2021) */
    POSITION_ROPER,      /* also values rotated, outputs rotated inversely (Harik and Jayasiri 2022) */
    POSITIONS
};

struct position_encoding {
    enum embedding_position embedding; /* table added to the embedding */
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
    double query_key_fraction, value_fraction; /* fraction of a head's channels that is rotated */
    int64_t table_positions;                   /* positions in the table of cosines and sines */
};

/* Rotated channels: `fraction` of `head_dim`, rounded down. */
int64_t position_rotary_dim(int64_t head_dim, double fraction);

/* Causal self-attention with an encoding. All layers of a model share one. */
struct position_attention {
    rotary_rope *rope, *value_rope; /* NULL: no rotation */
    rotary_attention *attention;
};
ROTARY_CHECKED rotary_status position_attention_create(struct position_attention *attention,
                                                       const struct backend *backend,
                                                       const struct position_config *config,
                                                       rotary_error *error);
void position_attention_destroy(struct position_attention *attention);

#endif
