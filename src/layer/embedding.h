/* SPDX-License-Identifier: Apache-2.0
 *
 * Token embedding, plus absolute position embeddings where a model has them:
 *
 *     out[b, t] = dropout(scale * table[token[b, t]] + position_table[p[b, t]])
 */
#ifndef ROTARY_LAYER_EMBEDDING_H
#define ROTARY_LAYER_EMBEDDING_H

#include "backend/parameters.h"

struct embedding {
    int64_t width;
    float scale;
    int table;          /* "<name>.weight" [vocabulary, width], or that of another embedding */
    int position_table; /* learned: "<name>.position.weight" [positions, width]; -1: none */
    const struct backend *backend;
    void *sinusoids; /* fixed: f32 [positions, width], owned; NULL: none */
};

enum embedding_position {
    EMBEDDING_POSITION_NONE,
    EMBEDDING_POSITION_LEARNED,
    EMBEDDING_POSITION_SINUSOIDAL
};

struct embedding_config {
    const char *name;
    int64_t vocabulary, width, positions;
    float scale; /* of token embeddings: 1, or sqrt(width) as in Vaswani et al. 2017 */
    enum embedding_position position;
    bool shared; /* the table of tokens is parameter `shared_table`, of the same shape */
    int shared_table;
    float initial_scale; /* standard deviation of the trained tables; 0 initialises them to zero */
    bool glorot;         /* they are drawn as INITIALISE_GLOROT says (layer/sublayer.h) instead */
};

ROTARY_CHECKED rotary_status embedding_create(struct embedding *embedding,
                                              const struct embedding_config *config,
                                              struct parameters *parameters, rotary_error *error);
void embedding_destroy(struct embedding *embedding);

/* tokens and positions are backend memory. The caller has checked that tokens are in the vocabulary and
 * positions in the table. */
struct embedding_call {
    int64_t batch, time;
    const int32_t *tokens;    /* [batch, time] */
    const int32_t *positions; /* [batch, time]; NULL: 0, 1, 2, ... in every sequence */
    struct dropout dropout;
};
/* out [batch * time, width] f32. */
ROTARY_CHECKED rotary_status embedding_forward(const struct embedding *embedding,
                                               const struct parameters *parameters,
                                               const struct embedding_call *call, float *out,
                                               rotary_error *error);
/* Accumulates the gradients of the tables, in row order for any number of threads. */
ROTARY_CHECKED rotary_status embedding_backward(const struct embedding *embedding,
                                                struct parameters *parameters,
                                                const struct embedding_call *call, const float *d_out,
                                                rotary_error *error);

#endif
