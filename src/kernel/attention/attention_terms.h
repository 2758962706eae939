/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between attention's kernels and its terms. A kernel knows nothing of a term but two pairs of
 * functions, which it calls for a tile of scores at a time. Where there are no terms it calls none.
 *
 *     s(m, n) = cap(scale * (R_m q_m) . (R_n k_n)) + sum of the score terms' t(m, n)
 *     out(m)  = U_m^T sum_n w(m, n) (U_n v_n + V(n - m))       w: what the weight term makes of p =
 * softmax(s)
 *
 * Every quantity is f32 and in natural units, in every kernel. A tile has the queries of one head in its rows
 * and keys in its columns; the kernels of bf16 compute their gradients with keys in rows, and such a tile is
 * `transposed`. A term is a file that is compiled for every instruction set, its arguments in the problem,
 * and a line in the list below.
 *
 * Terms of the queries' or keys' vectors (distance_keys, distance_queries) read them where they lie, since
 * they need them without their rotation, and add their gradient to sums of their own.
 */
#ifndef ROTARY_KERNEL_ATTENTION_ATTENTION_TERMS_H
#define ROTARY_KERNEL_ATTENTION_ATTENTION_TERMS_H

#include "kernel/attention/attention_kernels.h"

/* The score terms, in the order in which they are added. The file of a term defines
 * ROTARY_KERNEL(rotary_attention_<name>_term). */
#define ROTARY_ATTENTION_SCORE_TERM_LIST(TERM, variant)                                                      \
    TERM(bias, variant)                                                                                      \
    TERM(distance_bias, variant)                                                                             \
    TERM(piecewise_bias, variant) TERM(distance_keys, variant) TERM(distance_queries, variant)

/* Queries query ... query + queries - 1 of a head of a sequence, and keys key ... key + keys - 1. A kernel
 * reads `rows` rows and `columns` columns, which may be more than there are queries and keys. */
struct rotary_attention_tile {
    int64_t sequence, head, query, queries, key, keys;
    bool transposed; /* keys are rows, queries are columns */
    int64_t rows, columns;
    bool ends;    /* the kernel takes columns that are alike as ends; it is not transposed */
    bool margins; /* w of a value term has margins as ds has */
    /* Rows as a kernel may have them, otherwise NULL: of the queries, rotated and scaled; of the outputs'
     * gradients, rotated; of the keys, scaled but not rotated. rotary_attention_row floats each, and zero
     * from the last query or key to a full group. */
    const float *query_rows, *gradient_rows, *key_rows;
    /* The weights of a value term in bf16, half_row elements from row to row, and zero up to a multiple of 32 keys: then
     * `w` has none. NULL: `w` has them. */
    const uint16_t *half_weights;
    int64_t half_row;
};

/* What a term makes of a tile, in the term's own memory or in its scratch: row r is at from + r * row_stride.
 * Where the kernel takes ends, each row may have one number for all columns before near_begin and one for all
 * from near_end on, multiples of ROTARY_ATTENTION_TERM_WIDE or past the tile: then `from` has none of these,
 * and before + r * ROTARY_ATTENTION_TERM_WIDE has that number as often, and so has `after`. */
struct rotary_attention_term_tile {
    const float *from;
    int64_t row_stride;
    int64_t near_begin, near_end;
    const float *before, *after;
};

/* A tile that has all its columns. */
static inline struct rotary_attention_term_tile rotary_attention_whole_tile(const float *from,
                                                                            int64_t row_stride)
{
    return (struct rotary_attention_term_tile){.from = from, .row_stride = row_stride, .near_end = INT64_MAX};
}

/* What a term makes its gradient of: for a score term ds, the gradient of the scores of a tile after softcap,
 * with ROTARY_ATTENTION_TERM_MARGIN zeros before and after the `columns` of each row, and, but where vectors are
 * packed in pairs, half as many rows of zeros before and after all rows; for a value term w, with those of rows or
 * without. Rows are row_stride apart, and zero where a query does not see a key. */
struct rotary_attention_term_gradient {
    const float *from;
    int64_t row_stride;
    const rotary_attention_sums *sums; /* of the work item */
    float *scratch;                    /* as that of the scores */
};

/* What a term adds to a score has at most the size constant + by_query |q| + by_key |k|, of the query's
 * scaled vector and the key's as they meet. An infinite constant: nothing is known. */
struct rotary_attention_term_bound {
    float constant, by_query, by_key;
};

struct rotary_attention_score_term {
    /* Whether the problem has the term. */
    bool (*is_present)(const rotary_attention_problem *problem);
    /* How large what is added to scores of a head can be. */
    struct rotary_attention_term_bound (*bound)(const rotary_attention_problem *problem, int64_t head);
    /* What is added to the scores of a tile; `scratch` holds one_term_scratch floats (term_tile.h).
     * ROTARY_ATTENTION_MASKED or less masks. Past the queries and keys of the tile it is finite. */
    struct rotary_attention_term_tile (*scores)(const rotary_attention_problem *problem,
                                                const struct rotary_attention_tile *tile, float *scratch);
    /* NULL: the term has no gradient. Adds its gradient for a tile to the sums of a work item. */
    void (*add_gradient)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct rotary_attention_tile *tile,
                         const struct rotary_attention_term_gradient *gradient);
};

/* A term of the weights. It sees tiles of p as the values do: masked, and in the forward pass not yet divided
 * by the softmax's sum, which is that of p without the term. All tiles have the same row stride. */
struct rotary_attention_weight_term {
    bool (*is_present)(const rotary_attention_problem *problem);
    /* Replaces p by w. */
    void (*forward)(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                    float *p, int64_t row_stride);
    /* Replaces w, which is p at first, and dw = g . U_n v_n, the gradient of w, by dp, that of p. Then ds is
     * p (dp - delta) as ever, because sum_n p dp = sum_n w dw = dout . out. */
    void (*backward)(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                     const float *p, float *w, float *dp, int64_t row_stride);
};

/* A term of the values, which adds V(n - m) to each. Rows of tiles are row_stride apart; `scratch` is that of
 * score terms. */
struct rotary_attention_value_term {
    bool (*is_present)(const rotary_attention_problem *problem);
    /* output, rotary_attention_row floats for each of the queries (and those that pad them to full tiles), +=
     * sum_n w(m, n) V(n - m). w is zero where a query does not see a key. A tile of one row is decoding's. */
    void (*add_output)(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                       const float *w, int64_t row_stride, float *output, float *scratch);
    /* g(m) . V(n - m), which is added to dw. */
    struct rotary_attention_term_tile (*products)(const rotary_attention_problem *problem,
                                                  const struct rotary_attention_tile *tile, float *scratch);
    /* Adds the gradient of V for a tile to the sums of a work item. */
    void (*add_gradient)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct rotary_attention_tile *tile,
                         const struct rotary_attention_term_gradient *gradient);
};

#endif
