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

/* What a query of a head gives its keys. Arrays belong to the caller of `see`, and are [keys], of which those
 * from `first` to `end` - 1 are seen by the query, and have scores and biases. */
struct attention_row {
    enum attention_kind kind;
    int64_t layer, heads, head, query; /* heads: of the layer */
    int64_t first, end;
    const double *scores; /* before the softmax */
    const double *biases; /* the part of each score that depends on the places of query and key alone */
    const float *weights; /* after the softmax; 0 at keys that are not seen */
    double output_norm;   /* Euclidean, of the head's output */
};
struct attention_row_observer {
    rotary_status (*see)(void *context, const struct attention_row *row, rotary_error *error);
    void *context;
};
/* Shows every row of every layer, in memory that grows with the tokens and not with their square: an
 * encoder's layers, then the decoder's, self-attention before cross-attention; head by head, query by query.
 * Errors: those of attention_weights_create, and what `see` returns, which ends the pass. */
ROTARY_CHECKED rotary_status attention_rows(struct transformer *transformer,
                                            const struct attention_weights_call *call,
                                            const struct attention_row_observer *observer,
                                            rotary_error *error);

#endif
