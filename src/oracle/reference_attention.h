/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention by its equation in double, one score after another: exact, slow, and without librotary's kernels.
 *
 *     score(m, n) = cap(scale * (q_m + u) . k_n) + mask(m, n) + bias(n - m) + pair_bias(m, n)
 *                   + scale * (q_m + v) . keys(n - m) + scale * k_n . queries(n - m)
 *     cap(x)      = softcap * tanh(x / softcap)
 *     output(m)   = sum_n softmax_n(score(m, n)) (v_n + values(n - m))
 */
#ifndef ROTARY_ORACLE_REFERENCE_ATTENTION_H
#define ROTARY_ORACLE_REFERENCE_ATTENTION_H

#include <rotary/status.h>

/* Added to scores: element [b, h, m, n] by strides, which are 0 where one holds for all. */
struct reference_mask {
    const double *values; /* NULL: no mask */
    int64_t strides[4];
    int64_t keys; /* those beyond are masked */
    bool allows;  /* the values are 1 where a query may attend to a key, else 0, and nothing is added */
};

/* What a position encoding adds at each distance n - m; entry i of a head is that of distance first + i. All
 * distances between queries and keys are there. */
struct reference_distances {
    int64_t first, count;
    const double *bias; /* [heads, count], added to scores; NULL: none */
    const double *keys,
        *queries;         /* [heads, count, head_dim], multiplied with queries and with keys; or NULL */
    const double *values; /* [heads, count, value_dim], added to values; or NULL */
    /* Added to queries, [heads, head_dim]: those that meet keys, and those that meet `keys`. NULL: nothing.
     */
    const double *content_bias, *position_bias;
};

/* What it adds to the score of a head's query and key, at these positions. */
struct reference_pairs {
    double (*bias)(const void *context, int64_t head, int64_t query, int64_t key); /* NULL: nothing */
    const void *context;
};

/* Queries that meet the keys of the chunk before their own, and of all before, in place of `query`: chunk i has
 * the positions from i length on. */
struct reference_chunks {
    int64_t length; /* 0: there is one chunk */
    const double *successive, *distant;
};

/* Stages of a score. */
enum reference_stage {
    REFERENCE_SCALED, /* scale * q . k */
    REFERENCE_CAPPED,
    REFERENCE_MASKED, /* with all that is added; minus infinity where a key is masked */
};

/* One sequence of a batch. */
struct reference_sequence {
    int64_t first_query; /* position of the first query */
    int64_t keys;        /* how many of the keys it has; those beyond are masked */
};

struct reference_attention {
    int64_t batch, queries, keys, heads, key_value_heads, head_dim, value_dim;
    const struct reference_sequence *sequences; /* [batch] */
    double scale, softcap;                      /* softcap 0: none */
    /* A query at position p attends to the keys at p - before ... p + after; -1: to all on that side. */
    int64_t before, after;
    const int64_t *key_positions; /* [keys]; NULL: 0, 1, ... */
    struct reference_chunks chunks;
    struct reference_mask mask;
    struct reference_distances distances;
    struct reference_pairs pairs;
    const double
        *sinks; /* [heads]: logits in the denominator of the softmax, whose values are 0; NULL: none */
    /* [batch, time, heads, channels], rotated already; the output is not rotated back. */
    const double *query, *key, *value;
    double *output;             /* [batch, queries, heads, value_dim] */
    double *weights;            /* [batch, heads, queries, keys]; NULL: not wanted */
    double *scores;             /* likewise */
    enum reference_stage stage; /* of `scores` */
};

/* What is added to the score of query at[2] and key at[3] of sequence at[0] and head at[1]: the mask's value
 * and that of the pair, or minus infinity where the key is masked. */
double reference_attention_bias(const struct reference_attention *attention, const int64_t at[4]);

/* A fully masked query gets zeros for output and weights; *masked_rows counts them. */
ROTARY_CHECKED rotary_status reference_attention_run(const struct reference_attention *attention,
                                                     int64_t *masked_rows, rotary_error *error);

#endif
