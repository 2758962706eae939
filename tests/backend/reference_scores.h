/* SPDX-License-Identifier: Apache-2.0
 *
 * The scores of one head of one sequence in the reference backend: all of them in double, nothing in tiles.
 */
#ifndef REFERENCE_SCORES_H
#define REFERENCE_SCORES_H

#include <rotary/attention.h>

/* Rotated queries and keys, [queries, head_dim] and [keys, head_dim]. Row m of the queries is at position
 * first_query + m, row n of the keys at first_key + n. */
struct reference_head {
    const rotary_attention_config *config;
    int64_t queries, keys, first_query, first_key;
    double *query, *key, *value;
    const float *bias; /* of the first query and key; NULL: none */
    int64_t bias_stride;
    rotary_attention_distance_bias distance_bias;                     /* of this head */
    rotary_attention_distance_vectors distance_keys, distance_values; /* likewise */
    rotary_attention_distance_vectors distance_queries; /* likewise; keys that meet them are not rotated */
    double *unrotated_query; /* [queries, head_dim]: of distance_keys, with query_bias; NULL without them */
    rotary_attention_piecewise_bias piecewise_bias; /* with the functions of this head */
    rotary_attention_dropout dropout;
    double sink;            /* -infinity: none */
    double *sink_gradient;  /* NULL: not wanted */
    int64_t head, sequence; /* what numbers the head and the sequence for dropout */
    double *p, *d_softcap;  /* [keys], of one query */
};

/* Zeros, to be freed. */
double *reference_doubles(int64_t count);
void reference_head_free(struct reference_head *head);

/* The context of query m, rotated as the values are, is added to [head_dim]; returns the log-sum-exp. */
double reference_attend(const struct reference_head *head, int64_t m, double *context);

/* Gradients, to which those of a query are added. */
struct reference_head_gradients {
    double *query;           /* [queries, head_dim] */
    double *unrotated_query; /* likewise; of distance_keys alone */
    double *key, *value;     /* [keys, head_dim], shared by the heads of a group */
};

/* Of query m, whose rotated output gradient is d_context, [head_dim]; and those of what is by distance. */
void reference_attend_backward(const struct reference_head *head, int64_t m, double log_sum_exp,
                               const double *d_context, const struct reference_head_gradients *to);

#endif
