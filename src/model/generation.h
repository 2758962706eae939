/* SPDX-License-Identifier: Apache-2.0
 *
 * Text generation: batched decoding of many prompts of different lengths, greedy or by sampling.
 */
#ifndef ROTARY_MODEL_GENERATION_H
#define ROTARY_MODEL_GENERATION_H

#include "model/transformer.h"

#include <stdatomic.h>

struct generate_config {
    int64_t max_new_tokens; /* per prompt */
    int32_t stop;           /* stop token, which ends a sequence; -1: none */
    float temperature;  /* 0: greedy, argmax of the logits; else sampled from softmax(logits / temperature) */
    uint64_t seed;      /* of sampling */
    bool without_cache; /* recompute all positions for every token: slow, for tests */
};

/* Prompts and their outputs. All arrays have `count` elements. */
struct generate_call {
    int64_t count;                  /* prompts */
    const int32_t *const *prompts;  /* prompt i: lengths[i] tokens */
    const int64_t *lengths;         /* at least 1 each */
    int32_t *const *outputs;        /* output i: room for max_new_tokens; gets the new tokens of prompt i,
                                       the stop token included */
    int64_t *generated;             /* gets the number of new tokens of each prompt */
    const atomic_bool *interrupted; /* once true, generate() returns ROTARY_INTERRUPTED soon; may be NULL */
};

/* Generates from every prompt of the call. Argmax takes the first of equal logits. */
ROTARY_CHECKED rotary_status generate(struct transformer *transformer, const struct generate_config *config,
                                      const struct generate_call *call, rotary_error *error);

#endif
