/* SPDX-License-Identifier: Apache-2.0
 *
 * Text generation: batched decoding of many prompts of different lengths, greedy or by sampling.
 */
#ifndef ROTARY_MODEL_GENERATION_GENERATION_H
#define ROTARY_MODEL_GENERATION_GENERATION_H

#include "model/generation/sampler.h"
#include "model/transformer.h"

#include <stdatomic.h>

struct generate_config {
    int64_t max_new_tokens;        /* per prompt */
    int32_t stop;                  /* stop token, which ends a sequence; -1: none */
    struct sampler_config sampler; /* all zero: greedy */
    uint64_t seed;                 /* of sampling */
    /* Tokens of a sequence in the cache, at most; 0: all. Where more come, the tokens after the first `keep`
     * make room: half of what the cache holds but for these leaves it (context shift). */
    int64_t context, keep;
    bool without_cache; /* recompute all positions for every token: slow, for tests */
    /* Take a token from logits that are not numbers too. For an evaluation, whose loss says afterwards that the
     * model diverged, so that training records it as such. */
    bool unchecked;
};

/* Gets each new token of prompt `prompt` of the call as soon as it is there. Those of one prompt come in
 * order, those of several alternate. Returns whether the sequence ends with it. */
typedef bool generate_listener(void *context, int64_t prompt, int32_t token);

/* Prompts and their outputs. All arrays have `count` elements. */
struct generate_call {
    int64_t count;                 /* prompts */
    const int32_t *const *prompts; /* prompt i: lengths[i] tokens */
    const int64_t *lengths;        /* at least 1 each */
    int32_t *const *outputs;       /* output i: room for max_new_tokens; gets the new tokens of prompt i,
                                       the stop token included */
    int64_t *generated;            /* gets the number of new tokens of each prompt */
    const atomic_bool
        *interrupted; /* once true, generation_run() returns ROTARY_INTERRUPTED soon; may be NULL */
    int64_t
        first; /* the number of prompt 0, where prompts take several calls: each draws numbers of its own */
    generate_listener *listener; /* NULL: none */
    void *context;               /* of the listener */
};

/* Generates from every prompt of the call. The random number of a token is a function of seed, prompt and
 * position alone. ROTARY_INVALID_ARGUMENT if the configuration or a prompt does not fit the model, or if the
 * model's logits are not numbers (token_check_logits), which are no choice of a token. */
ROTARY_CHECKED rotary_status generation_run(struct transformer *transformer,
                                            const struct generate_config *config,
                                            const struct generate_call *call, rotary_error *error);

#endif
