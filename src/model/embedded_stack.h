/* SPDX-License-Identifier: Apache-2.0
 *
 * An embedding and the stack that reads it: the decoder of a transformer, or an encoder.
 */
#ifndef ROTARY_MODEL_EMBEDDED_STACK_H
#define ROTARY_MODEL_EMBEDDED_STACK_H

#include "base/batch.h"
#include "layer/embedding.h"
#include "layer/encoding/distance_bias.h"
#include "layer/encoding/distance_rows.h"
#include "model/encoding/attention_plans.h"
#include "model/stack.h"

struct embedded_stack {
    const struct backend *backend;
    enum attention_kind kind;        /* of its self-attention: that of a decoder is causal */
    int64_t vocabulary, batch, time; /* tokens; the maximum per call */
    struct embedding embedding;
    struct attention_plans plans;           /* of self-attention */
    struct distance_bias distance_bias;     /* of self-attention; empty where the encoding has none */
    struct distance_bias_config layer_bias; /* of a bias that each layer has for itself; function NULL */
    struct distance_rows distance_rows;     /* likewise */
    struct stack *stack;                    /* NULL: the transformer has no such part */
    uint32_t dropout_site;                  /* of the embedding; those of the stack follow it */
    /* These are of a call, in the backend's memory: [rows]. */
    int32_t *tokens, *positions; /* positions where they are not 0, 1, 2, ... */
    int32_t *types;              /* of tokens; NULL: the embedding has none */
    /* On the host. */
    int32_t *host_positions; /* [rows] */
};

/* The maximum number of rows per call. */
static inline int64_t embedded_stack_rows(const struct embedded_stack *part)
{
    return part->batch * part->time;
}

/* Called twice (base/arena.h), with memory of the backend and of the host. */
void embedded_stack_carve(struct embedded_stack *part, bool training, struct rotary_arena *arena,
                          struct rotary_arena *host);
void embedded_stack_destroy(struct embedded_stack *part);

/* The call of a stack for these sequences, which were checked: without dropout, source and gradients.
 * Sequences of one length stay apart, so that attention runs their heads side by side and draws the dropout
 * of each by its number; others are packed. */
struct stack_call embedded_stack_call(const struct token_sequences *input);

/* From tokens to the stack's output; dropout of the embedding is that of `call`. */
ROTARY_CHECKED rotary_status embedded_stack_forward(struct embedded_stack *part,
                                                    const struct parameters *parameters,
                                                    const struct token_sequences *input,
                                                    const struct stack_call *call, rotary_error *error);
/* After embedded_stack_forward of the same call. Adds to the gradients of the parameters. */
ROTARY_CHECKED rotary_status embedded_stack_backward(struct embedded_stack *part,
                                                     struct parameters *parameters,
                                                     const struct token_sequences *input,
                                                     const struct stack_call *call, rotary_error *error);

/* Before a forward pass or decoding: what the layers share of terms by distance, for the parameters as they
 * are. */
ROTARY_CHECKED rotary_status embedded_stack_update(struct embedded_stack *part,
                                                   const struct parameters *parameters, rotary_error *error);

/* The embedding of tokens that lie in the backend's memory, in the stack's input. */
ROTARY_CHECKED rotary_status embedded_stack_embed(struct embedded_stack *part,
                                                  const struct parameters *parameters,
                                                  const struct embedding_call *call, rotary_error *error);

#endif
