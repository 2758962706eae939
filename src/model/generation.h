/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing on: batched decoding of many prompts in lock step.
 */
#ifndef ROTARY_MODEL_GENERATION_H
#define ROTARY_MODEL_GENERATION_H

#include "model/decoder.h"

#include <stdatomic.h>

struct generate_config {
    int64_t max_new_tokens; /* new tokens at most, a prompt */
    int32_t stop;           /* a sequence ends after this token; -1: none */
    float temperature;  /* 0: the likeliest token (the first of equals); else sampled from softmax(logits /
                           temperature) */
    uint64_t seed;      /* of sampling */
    bool without_cache; /* recompute everything for every token: slow, for tests */
};

/* Continues `count` prompts, prompt i being lengths[i] >= 1 tokens at prompts[i]. Writes the new tokens (the
 * stop token included) to continuations[i], which has room for `most`, and their number to written[i].
 * `interrupted` may be NULL; when it becomes true the call returns ROTARY_INTERRUPTED soon. */
ROTARY_CHECKED rotary_status generate(struct decoder *decoder, const struct generate_config *config,
                                      int64_t count, const int32_t *const *prompts, const int64_t *lengths,
                                      int32_t *const *outputs, int64_t *generated,
                                      const atomic_bool *interrupted, rotary_error *error);

#endif
