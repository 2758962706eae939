/* SPDX-License-Identifier: Apache-2.0
 *
 * Token embedding, with absolute positions added where a model has them:
 *
 *     out[b, t] = dropout(scale * table[token[b, t]] + position[first[b] + t])
 */
#ifndef ROTARY_LAYER_EMBEDDING_H
#define ROTARY_LAYER_EMBEDDING_H

#include "layer/dropout.h"
#include "tensor/compute.h"
#include "tensor/parameters.h"

struct embedding {
    int64_t width;
    float scale;
    int table;          /* "<name>.weight" [vocabulary, width] */
    int position_table; /* learned: "<name>.position.weight" [positions, width]; -1: none */
    float *sinusoids;   /* fixed: [positions, width], owned; NULL: none */
};

enum embedding_position {
    EMBEDDING_POSITION_NONE,
    EMBEDDING_POSITION_LEARNED,
    EMBEDDING_POSITION_SINUSOIDAL
};

struct embedding_config {
    const char *name;
    int64_t vocabulary, width, positions;
    float scale; /* of the token's row: 1, or sqrt(width) as Vaswani et al. 2017 have it */
    enum embedding_position position;
    float initial_scale; /* standard deviation of the tables that are trained; 0 starts them at zero */
};

ROTARY_CHECKED rotary_status embedding_create(struct embedding *embedding,
                                              const struct embedding_config *config,
                                              struct parameters *parameters, rotary_error *error);
void embedding_destroy(struct embedding *embedding);

/* tokens [batch, time]; first [batch] is the position of each sequence's first token, NULL: all 0. out [batch
 * * time, width] f32. Every token must lie in the vocabulary and every position in the table: the caller has
 * checked. */
void embedding_forward(const struct embedding *embedding, const struct compute *compute,
                       const struct parameters *parameters, float *out, const int32_t *tokens,
                       const int64_t *first, int64_t batch, int64_t time, struct dropout dropout);

/* Accumulates into the gradients of the tables, in row order whatever the number of threads. Positions start
 * at 0. */
void embedding_backward(const struct embedding *embedding, const struct compute *compute,
                        struct parameters *parameters, const float *d_out, const int32_t *tokens,
                        int64_t batch, int64_t time, struct dropout dropout);

#endif
