/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights of a model's attention: which tokens each head looks at, for pictures and for copying words.
 *
 * Attention stores no matrix of weights. Here they are computed apart from it, on the host and in double
 * precision, from the queries and keys of a forward pass, by the formula of rotary/attention.h.
 */
#ifndef ROTARY_MODEL_ATTENTION_WEIGHTS_H
#define ROTARY_MODEL_ATTENTION_WEIGHTS_H

#include "base/attention_maps.h"
#include "model/transformer.h"

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

#endif
