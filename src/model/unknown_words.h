/* SPDX-License-Identifier: Apache-2.0
 *
 * Which word of the source an unknown word of a translation stands for: the one that the decoder attends to
 * most (Luong et al., 2015; by attention, Jean et al., 2015).
 */
#ifndef ROTARY_MODEL_UNKNOWN_WORDS_H
#define ROTARY_MODEL_UNKNOWN_WORDS_H

#include "model/transformer.h"

struct unknown_words_call {
    const int32_t *source; /* [source_count], with the end token, which stands for no word */
    int64_t source_count;
    const int32_t *output; /* [count], without begin and end */
    int64_t count;
    int32_t begin, unknown;
    int64_t *from; /* [count]: for an unknown token, the place in the source; else -1 */
};

/* The place of each unknown token: where the cross-attention weight of the last layer, its mean over the
 * heads, is largest at the position that gave the token. One forward pass if there is any. The transformer
 * reads `count` tokens at once. */
ROTARY_CHECKED rotary_status unknown_words(struct transformer *transformer,
                                           const struct unknown_words_call *call, rotary_error *error);

#endif
