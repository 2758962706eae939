/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention as its equation has it, in double, one score after another: exact rather than fast, and with
 * nothing of librotary's kernels in it.
 *
 *     score(m, n) = cap(scale * q_m . k_n) + mask(m, n)        cap(x) = softcap * tanh(x / softcap)
 *     output(m)   = sum_n softmax_n(score(m, n)) v_n
 */
#ifndef ROTARY_CLI_REFERENCE_ATTENTION_H
#define ROTARY_CLI_REFERENCE_ATTENTION_H

#include <rotary/status.h>

/* Added to scores: element [b, h, m, n] by strides, which are 0 where one holds for all. */
struct reference_mask {
    const double *values; /* NULL: no mask */
    int64_t strides[4];
    int64_t keys; /* those behind are not seen */
    bool allows;  /* the values are 1 where a query sees a key, else 0, and nothing is added */
};

/* How far a score has come. */
enum reference_stage {
    REFERENCE_SCALED, /* scale * q . k */
    REFERENCE_CAPPED,
    REFERENCE_MASKED, /* minus infinity where a query does not see a key */
};

/* One sequence of a batch. */
struct reference_sequence {
    int64_t first_query; /* position of the first query; the first key's is 0 */
    int64_t keys;        /* how many of the keys there are; those behind are not seen */
};

struct reference_attention {
    int64_t batch, queries, keys, heads, key_value_heads, head_dim, value_dim;
    const struct reference_sequence *sequences; /* [batch] */
    double scale, softcap;                      /* softcap 0: none */
    /* A query at position p sees keys at p - before ... p + after; -1: all on that side. */
    int64_t before, after;
    struct reference_mask mask;
    /* [batch, time, heads, channels], turned already; the output is not turned back. */
    const double *query, *key, *value;
    double *output;             /* [batch, queries, heads, value_dim] */
    double *weights;            /* [batch, heads, queries, keys]; NULL: not wanted */
    double *scores;             /* likewise */
    enum reference_stage stage; /* of `scores` */
};

/* What is added to the score of query at[2] and key at[3] of sequence at[0] and head at[1]: by the mask, or
 * minus infinity where the query does not see the key. */
double reference_attention_bias(const struct reference_attention *attention, const int64_t at[4]);

/* A query that sees no key has zeros for output and weights; *blind counts them. */
ROTARY_CHECKED rotary_status reference_attention_run(const struct reference_attention *attention,
                                                     int64_t *blind, rotary_error *error);

#endif
