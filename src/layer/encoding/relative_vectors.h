/* SPDX-License-Identifier: Apache-2.0
 *
 * The vectors by distance that an encoding gives a layer of self-attention (struct distance_vector_terms),
 * and their parameters. A table is read and its gradient added where the parameters are: nothing is copied.
 * What is projected from the rows of the stack is computed when the weight has changed, and kept in memory of
 * its own: a step of decoding reads it.
 */
#ifndef ROTARY_LAYER_ENCODING_RELATIVE_VECTORS_H
#define ROTARY_LAYER_ENCODING_RELATIVE_VECTORS_H

#include "layer/sublayer.h"

/* A projection of the stack's rows to a vector for each head, by a weight [heads head_dim, width]. */
struct vector_projection {
    struct linear *linear;   /* NULL: none */
    struct matrix vectors;   /* f32 [distances, heads head_dim], of the backend, owned */
    uint64_t version;        /* of the weight that it was computed with; 0: not yet */
    uint64_t table_version;  /* of the stack's table, likewise */
    float *gradient;         /* scratch, of training: as vectors */
    struct matrix d_vectors; /* scratch: gradient in the storage type */
};

struct relative_vectors {
    const struct backend *backend;
    struct relative_vectors_config config;
    int64_t head_dim;
    int keys, values; /* tables, in the table of parameters; -1: none */
    struct vector_projection projected_keys, projected_queries;
};

/* What a call of attention is given; all zero where there are no vectors. */
struct relative_vectors_call {
    rotary_attention_distance_vectors keys, queries, values;
    const float *query_bias;
    float *query_bias_gradient;
};

/* The vectors of a sublayer. Adds its parameters to the table: "<config->name>.relative_keys.weight" and
 * "<config->name>.relative_values.weight", which are tables, uniform as Glorot and Bengio 2010 propose, or
 * projections, initialised as others from the residual stream. */
ROTARY_CHECKED rotary_status relative_vectors_create(struct relative_vectors *vectors,
                                                     const struct backend *backend,
                                                     const struct sublayer_config *config,
                                                     struct parameters *parameters, rotary_error *error);
void relative_vectors_destroy(struct relative_vectors *vectors);
/* Counts projected vectors and packed weights. */
size_t relative_vectors_bytes(const struct relative_vectors *vectors);
void relative_vectors_carve_scratch(struct relative_vectors *vectors, struct rotary_arena *arena);

/* Before a forward pass or decoding: what attention is given. Projects anew if the weight has changed. */
ROTARY_CHECKED rotary_status relative_vectors_forward(struct relative_vectors *vectors,
                                                      const struct parameters *parameters,
                                                      struct relative_vectors_call *call,
                                                      rotary_error *error);
/* Adds u, where the encoding has it, to the queries of a pass, [rows, heads head_dim]. */
ROTARY_CHECKED rotary_status relative_vectors_add_bias(const struct relative_vectors *vectors,
                                                       const struct parameters *parameters,
                                                       struct matrix queries, rotary_error *error);

/* Before attention's backward pass: what it is given, with the places of the gradients. After it: from these,
 * and from the gradient of the queries, the gradients of the projection and of u. */
ROTARY_CHECKED rotary_status relative_vectors_clear_gradient(struct relative_vectors *vectors,
                                                             const struct parameters *parameters,
                                                             struct relative_vectors_call *call,
                                                             rotary_error *error);
ROTARY_CHECKED rotary_status relative_vectors_backward(struct relative_vectors *vectors,
                                                       struct parameters *parameters, struct matrix d_queries,
                                                       rotary_error *error);

/* A call with which workspaces are measured: `unread` stands for all arrays that passes have. */
struct relative_vectors_call relative_vectors_unread(const struct sublayer_config *config, float *unread);

#endif
