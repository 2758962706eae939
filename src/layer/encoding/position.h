/* SPDX-License-Identifier: Apache-2.0
 *
 * The attention plan of a layer, with the rotations that its position encoding asks for.
 */
#ifndef ROTARY_LAYER_ENCODING_POSITION_H
#define ROTARY_LAYER_ENCODING_POSITION_H

#include "backend/backend.h"
#include "layer/encoding/encoding.h"

struct position_config {
    int64_t heads, key_value_heads, head_dim;
    bool causal;
    int64_t window;                       /* rotary_attention_config.window; 0: all keys */
    int score_products;                   /* of struct position_encoding */
    double score_channels;                /* the scale is 1 / sqrt of them; 0: head_dim */
    float softcap;                        /* rotary_attention_config.softcap; 0: none */
    const rotary_rope_config *rope;       /* of queries and keys; NULL: they are not rotated */
    const rotary_rope_config *value_rope; /* of values and outputs; NULL: they are not rotated */
    unsigned rotate;                      /* rotary_attention_config.rotate; 0: all of these */
    /* rotary_attention_config.key_is_value. value_rope, if there is one, is then rope, which rotates outputs back. */
    bool key_is_value;
};

/* Attention with its rotations. Layers that are alike share one. */
struct position_attention {
    rotary_rope *rope, *value_rope; /* NULL: no rotation, or of values that of keys */
    bool scales_queries;            /* rope multiplies queries by a scale of their position */
    struct attention_plan *attention;
    const struct backend *backend;
};
/* Threads and instruction set of the rotations are the backend's, whatever the configurations say. The scale
 * of the scores does not have YaRN's softmax factor (rotary_rope_softmax_factor), which is DeepSeek's alone.
 */
ROTARY_CHECKED rotary_status position_attention_create(struct position_attention *attention,
                                                       const struct backend *backend,
                                                       const struct position_config *config,
                                                       rotary_error *error);
void position_attention_destroy(struct position_attention *attention);

#endif
