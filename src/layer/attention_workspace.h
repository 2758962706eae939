/* SPDX-License-Identifier: Apache-2.0
 *
 * The workspace of attention in a sublayer: as much as any call that the configuration allows needs.
 */
#ifndef ROTARY_LAYER_ATTENTION_WORKSPACE_H
#define ROTARY_LAYER_ATTENTION_WORKSPACE_H

#include "layer/sublayer.h"

/* The sizes of a call. Of packed sequences, shape has the sums. */
struct attention_extent {
    rotary_attention_shape shape;
    rotary_attention_packed_sequences packed_sequences;
};

/* Bytes for calls of this extent: for the forward pass, and with training for the backward pass too. */
size_t attention_workspace_bytes(const struct sublayer *sublayer, const struct attention_extent *extent);
/* Bytes for calls of at most config.batch sequences of at most `queries` queries and `keys` keys each; with
 * config.packed also for packed sequences of as many tokens in all. */
size_t attention_max_workspace_bytes(const struct sublayer *sublayer, int64_t queries, int64_t keys);

#endif
