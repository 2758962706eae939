/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of attention, as a model gives them and a page shows them.
 */
#ifndef ROTARY_BASE_ATTENTION_MAPS_H
#define ROTARY_BASE_ATTENTION_MAPS_H

#include <stdint.h>

/* Self-attention of the encoder, of the decoder, and attention of the decoder to the encoder's output. */
enum attention_kind { ATTENTION_ENCODER, ATTENTION_DECODER, ATTENTION_CROSS, ATTENTION_KINDS };

/* The name of a kind in files and options. */
static inline const char *attention_kind_name(enum attention_kind kind)
{
    return kind == ATTENTION_ENCODER ? "encoder" : kind == ATTENTION_DECODER ? "decoder" : "cross";
}

/* All layers of one kind, for one sequence. layers is 0 where the model has none of the kind. */
struct attention_weights {
    int64_t layers, heads, queries, keys;
    /* [layers, heads, queries, keys]: after the softmax, without dropout. The weights of a query have the sum
     * 1, and are 0 at keys that it does not see. */
    float *weights;
    int32_t *visible; /* [layers, queries]: how many keys a query sees */
    /* The largest difference, over all layers, between attention's output and the one that these weights
     * give, as a multiple of the largest value of the layer. In f32 it is about 1e-6; in bf16, where
     * attention rounds queries, keys, weights and output, about 1e-2. */
    double difference;
};

/* The weights of one head: [queries, keys]. */
static inline const float *attention_weights_head(const struct attention_weights *weights, int64_t layer,
                                                  int64_t head)
{
    return weights->weights + (layer * weights->heads + head) * weights->queries * weights->keys;
}

#endif
