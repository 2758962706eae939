/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a transformer, for the files of this module: an embedding, one causal stack, the output
 * projection and the loss.
 */
#ifndef ROTARY_MODEL_TRANSFORMER_PARTS_H
#define ROTARY_MODEL_TRANSFORMER_PARTS_H

#include "layer/embedding.h"
#include "layer/loss.h"
#include "model/attention_plans.h"
#include "model/stack.h"
#include "model/transformer.h"

struct transformer {
    struct transformer_config config;
    struct transformer_limits limits;
    const struct backend *backend;
    struct parameters parameters;
    struct rotary_arena arena; /* backend memory: of the activations, and of the tokens of a call */

    struct attention_plans plans;
    struct embedding embedding;
    struct stack *stack;
    struct linear *output;
    struct loss *loss;
    int32_t *tokens, *positions, *targets; /* [rows] of a call; positions where they are not 0, 1, 2, ... */
    int32_t *host_positions;               /* [rows] on the host */
    int64_t *host_lengths;                 /* [batch] on the host */
    struct rotary_arena host_arena;
};

/* The maximum number of rows per call. */
static inline int64_t transformer_rows(struct transformer_limits limits)
{
    return limits.batch * limits.time;
}

struct transformer_cache {
    int64_t batch, capacity;
    int32_t *tokens, *positions; /* [rows] of a call, without padding */
    /* On the host: */
    int64_t *lengths;     /* [batch] tokens in the cache */
    int64_t *counts;      /* [batch] new tokens of a call */
    int64_t *old_lengths; /* [batch] before a reordering */
    int32_t *source;      /* [batch] of a reordering */
    int64_t *ends;        /* [batch] the last row of each sequence in a call */
    int32_t *host_tokens, *host_positions;
    struct matrix last; /* [batch, width]: the last rows of the sequences */
    struct stack_cache stack;
    struct rotary_arena arena, host_arena;
    const struct backend *backend;
};

/* Checks that the tokens are in the vocabulary. */
ROTARY_CHECKED rotary_status transformer_check_tokens(const struct transformer *transformer,
                                                      const int32_t *tokens, int64_t count,
                                                      rotary_error *error);
/* Checks that the model has position `last`. */
ROTARY_CHECKED rotary_status transformer_check_position(const struct transformer *transformer, int64_t last,
                                                        rotary_error *error);

#endif
