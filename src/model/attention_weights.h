/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights of a model's attention: which tokens each head looks at, for pictures and for copying words.
 *
 * Attention stores no matrix of weights. Here they are computed apart from it, on the host and in double
 * precision, from the queries and keys of a forward pass, by the formula of rotary/attention.h.
 */
#ifndef ROTARY_MODEL_ATTENTION_WEIGHTS_H
#define ROTARY_MODEL_ATTENTION_WEIGHTS_H

#include "model/transformer.h"

/* Self-attention of the encoder, of the decoder, and attention of the decoder to the encoder's output. */
enum attention_kind { ATTENTION_ENCODER, ATTENTION_DECODER, ATTENTION_CROSS, ATTENTION_KINDS };
extern const char *const attention_kind_names[]; /* "encoder", "decoder", "cross", NULL */

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

struct attention_weights_call {
    const int32_t *tokens; /* [count]: what the decoder reads */
    int64_t count;
    const int32_t *source; /* [source_count]: what the encoder reads; NULL: the model has no encoder */
    int64_t source_count;
};

/* The weights of every kind, from one forward pass without dropout. The caller frees them with
 * attention_weights_free. Errors: ROTARY_INVALID_ARGUMENT if the tokens do not fit the transformer's limits
 * or its vocabulary, ROTARY_OUT_OF_MEMORY; nothing has to be freed then. */
ROTARY_CHECKED rotary_status attention_weights_create(struct attention_weights weights[ATTENTION_KINDS],
                                                      struct transformer *transformer,
                                                      const struct attention_weights_call *call,
                                                      rotary_error *error);
void attention_weights_free(struct attention_weights weights[ATTENTION_KINDS]);

/* The weights of one head: [queries, keys]. */
static inline const float *attention_weights_head(const struct attention_weights *weights, int64_t layer,
                                                  int64_t head)
{
    return weights->weights + (layer * weights->heads + head) * weights->queries * weights->keys;
}

#endif
