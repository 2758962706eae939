/* SPDX-License-Identifier: Apache-2.0
 *
 * What the layers of a stack share of their vectors by distance (struct distance_vector_terms): the rows that
 * each layer projects (layer/encoding/relative_vectors.h), and the biases of queries.
 *
 * The biases are Transformer-XL's u and v (Dai et al. 2019): queries meet keys with u added to them, and
 * vectors by distance with v. Attention is given queries q + u, and query_bias v - u. Its gradient of
 * query_bias is that of v, and what it takes from u, whose gradient is else the sum of that of the queries.
 *
 * A learned table is DeBERTa's (He et al. 2021): the layers' projections read it in the storage type.
 */
#ifndef ROTARY_LAYER_ENCODING_DISTANCE_ROWS_H
#define ROTARY_LAYER_ENCODING_DISTANCE_ROWS_H

#include "backend/matrix.h"
#include "layer/encoding/encoding.h"

struct distance_rows_config {
    struct distance_vector_terms terms;
    const char *prefix; /* of the parameters' names: "" or "encoder." */
    int64_t width;      /* of a row: the residual stream's */
    int64_t heads, head_dim;
    int64_t positions; /* sequences have at most so many tokens */
    int64_t clip;      /* of a table: it has 2 clip rows, of query minus key from -clip on */
    bool causal, training;
    bool measured; /* only its size is wanted: it gets no memory */
};

struct distance_rows {
    const struct backend *backend;
    int64_t distances, first; /* row i is for the distance first + i, or of a table first - i; 0 distances:
                                 there are no rows */
    struct matrix rows;       /* [distances, width] of the storage type, owned; data NULL: no memory */
    bool is_table;            /* learned, and in the order of query minus key: distances fall from `first` */
    int table;                /* in the table of parameters; -1: none */
    uint64_t table_version;   /* in `rows`; 0: none yet */
    struct matrix d_rows;     /* scratch of a table, in training: as rows, owned */

    int content_bias, position_bias; /* u and v, in the table of parameters; -1: none */
    int64_t bias_elements;           /* [heads, head_dim] */
    float *query_bias;               /* v - u, in the backend's memory, owned; NULL: none */
    float *query_bias_gradient;      /* behind it; NULL without training */
    uint64_t versions[2];            /* of u and v in query_bias; 0: none yet */
    float *host;                     /* [2, bias_elements], owned */
};

/* All zero where the encoding has neither. Adds u and v to the table of parameters, "<prefix>content_bias"
 * and
 * "<prefix>position_bias", [heads, head_dim], or a table "<prefix>relative_embeddings.weight", [distances,
 * width]. */
ROTARY_CHECKED rotary_status distance_rows_create(struct distance_rows *rows, const struct backend *backend,
                                                  const struct distance_rows_config *config,
                                                  struct parameters *parameters, rotary_error *error);
void distance_rows_destroy(struct distance_rows *rows);
/* Bytes of the backend that distance_rows_create allocates where it is not `measured`. */
double distance_rows_bytes(const struct backend *backend, const struct distance_rows_config *config);

/* Before a forward pass or decoding: computes query_bias anew if u or v has changed, and reads a table that
 * has. */
ROTARY_CHECKED rotary_status distance_rows_update(struct distance_rows *rows,
                                                  const struct parameters *parameters, rotary_error *error);
/* Before and after the backward pass of the layers, which add to query_bias_gradient. The second adds it to
 * the gradient of v, and takes it from that of u. */
ROTARY_CHECKED rotary_status distance_rows_clear_gradient(struct distance_rows *rows, rotary_error *error);
ROTARY_CHECKED rotary_status distance_rows_backward(struct distance_rows *rows, struct parameters *parameters,
                                                    rotary_error *error);

#endif
