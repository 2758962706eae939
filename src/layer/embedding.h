/* SPDX-License-Identifier: Apache-2.0
 *
 * Token embedding, plus those of absolute positions and of token types, and a norm, where a model has them
 * (BERT has all):
 *
 *     out[b, t] = dropout(norm(scale * table[token[b, t]] + position_table[p[b, t]] + type_table[type[b,
 * t]]))
 */
#ifndef ROTARY_LAYER_EMBEDDING_H
#define ROTARY_LAYER_EMBEDDING_H

#include "base/arena.h"
#include "layer/norm.h"

struct embedding {
    int64_t width;
    float scale;
    int table;          /* "<name>.weight" [vocabulary, width], or that of another embedding */
    int position_table; /* learned: "<name>.position.weight" [positions, width]; -1: none */
    int type_table;     /* "<name>.type.weight" [types, width]; -1: none */
    struct norm norm;   /* "<name>.norm"; of kind NORM_NONE where there is none */
    const struct backend *backend;
    void *sinusoids; /* fixed: f32 [positions, width], owned; NULL: none */
    /* With a norm: its input, [rows, width] f32, and for the backward pass [rows] each. */
    float *sum, *mean, *rstd;
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
    int64_t types; /* of tokens; 0: there is no table of them */
    bool has_norm; /* of the sum: */
    enum norm_kind norm;
    float norm_epsilon;
    float initial_scale; /* standard deviation of the trained tables; 0 initialises them to zero */
    bool glorot;         /* they are drawn as INITIALISE_GLOROT says (layer/sublayer.h) instead */
};

ROTARY_CHECKED rotary_status embedding_create(struct embedding *embedding,
                                              const struct embedding_config *config,
                                              struct parameters *parameters, rotary_error *error);
void embedding_destroy(struct embedding *embedding);
/* Called twice (base/arena.h), before the first pass: the memory of a norm, for calls of at most `rows` rows.
 */
void embedding_carve(struct embedding *embedding, int64_t rows, bool training, struct rotary_arena *arena);

/* tokens, positions and types are backend memory. The caller has checked that tokens are in the vocabulary,
 * and positions and types in their tables. */
struct embedding_call {
    int64_t batch, time;
    const int32_t *tokens;    /* [batch, time] */
    const int32_t *positions; /* [batch, time]; NULL: 0, 1, 2, ... in every sequence */
    const int32_t *types;     /* [batch, time]; NULL: all 0 */
    struct dropout dropout;
};
/* out [batch * time, width] f32. */
ROTARY_CHECKED rotary_status embedding_forward(const struct embedding *embedding,
                                               const struct parameters *parameters,
                                               const struct embedding_call *call, float *out,
                                               rotary_error *error);
/* Accumulates the gradients of the tables, in row order for any number of threads. d_out is overwritten
 * where there is a norm. */
ROTARY_CHECKED rotary_status embedding_backward(const struct embedding *embedding,
                                                struct parameters *parameters,
                                                const struct embedding_call *call, float *d_out,
                                                rotary_error *error);

#endif
