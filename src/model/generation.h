/* SPDX-License-Identifier: Apache-2.0
 *
 * Text generation: batched decoding of many prompts in lockstep, greedy or by sampling.
 */
#ifndef ROTARY_MODEL_GENERATION_H
#define ROTARY_MODEL_GENERATION_H

#include "model/decoder.h"

#include <stdatomic.h>

struct generate_config {
    int64_t max_new_tokens; /* per prompt */
    int32_t stop;           /* stop token, which ends a sequence; -1: none */
    float temperature;  /* 0: greedy, argmax of the logits; else sampled from softmax(logits / temperature) */
    uint64_t seed;      /* of sampling */
    bool without_cache; /* recomputes all positions for every token: slow, for tests */
};

/* Generates from `count` prompts: prompt i has lengths[i] >= 1 tokens at prompts[i]. Writes the new tokens,
 * including the stop token, to outputs[i], which has room for max_new_tokens, and their number to
 * generated[i]. Argmax takes the first of equal logits. `interrupted` may be NULL; once it is true the call
 * returns ROTARY_INTERRUPTED soon. */
ROTARY_CHECKED rotary_status generate(struct decoder *decoder, const struct generate_config *config,
                                      int64_t count, const int32_t *const *prompts, const int64_t *lengths,
                                      int32_t *const *outputs, int64_t *generated,
                                      const atomic_bool *interrupted, rotary_error *error);

#endif
