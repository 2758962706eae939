/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between attention and its kernels. A kernel call does one work item: a block of queries of the
 * heads that share one key-value head of one sequence. It computes the formula of rotary/attention.h:
 *
 *     s(m, n)  = cap(scale * (R_m q_m) . (R_n k_n)) + bias(m, n) + distance_bias(n - m)
 *                + piecewise_bias(m, n) + scale * (q_m + b) . A(n - m) + scale * k_n . B(n - m)
 *     lse(m)   = log (sum_n exp(s(m, n)) + exp(sink))     p(m, n) = exp(s(m, n) - lse(m))
 *     out(m)   = U_m^T sum_n p(m, n) (U_n v_n + V(n - m))
 *
 * with s(m, n) = -infinity where m does not see n,
 *
 * and backward, with the names of FlashAttention and g(m) = U_m dout(m):
 *
 *     dp(m, n) = g(m) . (U_n v_n + V(n - m))        delta(m) = dout(m) . out(m)
 *     ds(m, n) = p(m, n) (dp(m, n) - delta(m)) cap'(m, n)
 *     dq(m) = scale R_m^T sum_n ds(m, n) R_n k_n    dk(n) = scale R_n^T sum_m ds(m, n) R_m q_m
 *     dv(n) = U_n^T sum_m p(m, n) g(m)
 *
 * The terms after cap get their gradients from ds without cap'. Those of q through A and of k through B are
 * not rotated: they add scale sum_n ds(m, n) A(n - m) to dq(m) and scale sum_m ds(m, n) B(n - m) to dk(n).
 *
 * U is a pure rotation, so U^T is its inverse; R may carry a magnitude, so R^T is only its transpose. A fully
 * masked query has output 0, lse -infinity, or the sink, and no gradient. The gradient of a sink is
 * - sum_m exp(sink - lse(m)) delta(m).
 *
 * Inputs are f32, bf16 or f16; all sums are f32. An output row depends on its query and on the keys it sees, not
 * on how queries are cut into work items.
 *
 * A bias of ROTARY_ATTENTION_MASKED or below masks its key, like -infinity. Biases may mask all keys of a
 * block, also of the first blocks, or every key of a query. A kernel reads biases only of queries and keys of
 * the problem.
 */
#ifndef ROTARY_KERNEL_ATTENTION_ATTENTION_KERNELS_H
#define ROTARY_KERNEL_ATTENTION_ATTENTION_KERNELS_H

#include "base/arena.h"
#include "base/integer.h"

#include <rotary/attention.h>

/* Rows of cosines and sines, [rows, dim / 2], for the queries or keys of one or all sequences; cosine NULL:
 * no rotation. */
struct rotary_attention_rotation {
    const float *cosine, *sine;
    const int32_t *rows; /* the row of each query or key; NULL: query or key n has row n */
    int64_t start, dim;
    bool interleaved;
};

/* The row of query or key `index`. */
static inline int64_t rotation_row(const struct rotary_attention_rotation *rotation, int64_t index)
{
    return rotation->rows ? rotation->rows[index] : index;
}

enum {
    ROTARY_ATTENTION_MAX_TERMS = 5,
    ROTARY_ATTENTION_TERM_MARGIN = 16,
    ROTARY_ATTENTION_TERM_WIDE = 32,
    ROTARY_ATTENTION_MAX_SEGMENTS = 1024 /* of a piecewise bias */
};
struct rotary_attention_score_term; /* attention_terms.h */
struct rotary_attention_weight_term;
struct rotary_attention_value_term;

/* Vectors by distance, packed for a call: entry `first` + i of the table of a head (distance_vectors.h) is
 * column i of [head_dim, row] floats at data + head * head_stride, and row i, of rotary_attention_row floats,
 * at rows + head * rows_head_stride. Or, for kernels that multiply them in pairs of bf16, it is column i of
 * [rotary_attention_row / 2, row] pairs of channels at channel_pairs + head * head_stride, times the scale in a
 * table by key, and with entry
 * first + i ^ 1 row i / 2, of rotary_attention_row pairs, at entry_pairs + head * rows_head_stride. norm[head],
 * if there are norms, is the largest |vector|. */
struct rotary_attention_columns {
    const float *data, *rows;
    const uint32_t *channel_pairs, *entry_pairs;
    int64_t head_stride, rows_head_stride, row, first;
    const float *norm;
};

/* Dropout of attention weights: those whose 16 random bits are below `threshold` are dropped. */
struct rotary_attention_dropout_mask {
    uint64_t seed;      /* of the layer and the step */
    uint32_t threshold; /* 0: no dropout */
    float scale;        /* of the others */
    int64_t sequence;   /* the number of sequence 0 */
};

struct rotary_attention_problem {
    int64_t heads, key_value_heads, head_dim;
    rotary_dtype dtype;
    bool causal;
    /* The rotated keys are the values: `value` is `key`, and its gradient joins that of keys. Of outputs and their
     * gradients other channels than value_start ... value_start + value_channels - 1 are 0; 0 channels: none are. */
    bool key_is_value;
    int64_t value_start, value_channels;
    int64_t window; /* 0: none */
    float scale, softcap;
    int64_t queries; /* rows of log_sum_exp; work items may cover fewer */
    int64_t keys;
    int64_t query_offset;  /* query m has the position of key m + query_offset */
    int64_t first_query;   /* the position of query 0 */
    int64_t ring_capacity; /* of the ring buffer: key n is row (ring_first + n) mod ring_capacity of its view;
                              0: row n */
    int64_t ring_first;
    rotary_attention_const_view query, key, value, saved_output, output_gradient;
    rotary_attention_view output, query_gradient, key_gradient, value_gradient;
    rotary_attention_bias bias;                         /* data NULL: none */
    rotary_attention_distance_bias distance_bias;       /* data NULL: none */
    rotary_attention_piecewise_bias piecewise_bias;     /* intercepts NULL: none */
    rotary_attention_distance_vectors distance_keys;    /* A; data NULL: none */
    const float *query_bias;                            /* b, [heads, head_dim]; NULL: none */
    rotary_attention_distance_vectors distance_queries; /* B, and */
    rotary_attention_distance_vectors distance_values;  /* V; data NULL: none */
    /* These are the same packed; data NULL: a kernel packs what it needs. */
    struct rotary_attention_columns packed_keys, packed_queries, packed_values;
    /* Those of the kernels' score terms that the problem has; then NULL. */
    const struct rotary_attention_score_term *score_terms[ROTARY_ATTENTION_MAX_TERMS + 1];
    struct rotary_attention_dropout_mask dropout;
    const struct rotary_attention_weight_term *weight_term; /* NULL: none */
    const struct rotary_attention_value_term *value_term;   /* likewise */
    const float *sinks;                                     /* [heads]; NULL: none */
    float *log_sum_exp;                                     /* [batch, heads, queries], or NULL */
    const float *saved_log_sum_exp;                         /* likewise, read by backward */
    /* rotation_row(m) of query_rotation and output_rotation is for query m, rotation_row(n) of the others for
     * key n. */
    struct rotary_attention_rotation query_rotation, output_rotation, key_rotation, value_rotation;
};

/* A work item: queries query_begin ... query_end - 1 of all heads that share key-value head key_value_head of
 * sequence `sequence`. Forward ignores key_begin and key_end; backward, packing and decoding read keys
 * key_begin ... key_end - 1. */
struct rotary_attention_work {
    int64_t sequence, key_value_head, query_begin, query_end, key_begin, key_end;
};

/* Sums of gradients, f32, in a layout private to the kernel. `query` starts at query_begin and
 * has query_end - query_begin rows for each head of the group; `key` and `value` start at key_begin and have
 * key_end - key_begin rows; these counts are rounded up to ROTARY_ATTENTION_ROW_MULTIPLE. A row is
 * rotary_attention_row floats. Only the first rows are used, their count rounded up to the kernel's sum_rows.
 * These are zero at first. */
struct rotary_attention_sums {
    float *query, *key, *value;
    bool score_terms; /* score terms add their gradients, to the sums that follow */
    /* The work item has these: for each head of the group rotary_attention_distance_sums floats, zero at
     * first; NULL: not wanted. */
    float *distance_bias;
    /* It is laid out as query is, but always as rows, and of queries before their rotation: sum_n ds(m, n)
     * A(n - m). */
    float *unrotated_query;
    float *unrotated_key; /* likewise, as key: sum_m ds(m, n) B(n - m) */
    /* The work item has these: for each head of the group rotary_attention_vector_sums floats
     * (distance_vectors.h), zero at first; NULL: not wanted. */
    float *distance_keys;
    float *distance_queries, *distance_values; /* likewise */
    float *piecewise_bias; /* of the work item (piecewise_sums.h), zero at first; NULL: not wanted */
};

/* Floats in the sums of a distance bias of one head, over so many queries and keys of a work item. With q and
 * k counted from the first of these, the sum over a distance k - q is element k - q + queries - 1, or, from
 * kernels whose tiles are transposed, q - k + keys - 1. The rest is padding. */
static inline int64_t rotary_attention_distance_sums(int64_t queries, int64_t keys)
{
    return round_up(queries + keys, 16) + 16;
}

enum { ROTARY_ATTENTION_ROW_MULTIPLE = 192, ROTARY_ATTENTION_MAX_HEAD_DIM = 1024 };
#define ROTARY_ATTENTION_MASKED (-1e30f)
enum { ROTARY_ATTENTION_KEY_BLOCK = 192, ROTARY_ATTENTION_BF16_KEY_BLOCK = 512 };
enum { ROTARY_ATTENTION_SUM_ROWS = 24, ROTARY_ATTENTION_BF16_SUM_ROWS = 32 };

/* Floats in a padded row of head_dim channels. */
static inline int64_t rotary_attention_row(int64_t head_dim)
{
    return round_up(head_dim, 32);
}

/* Floats in a part of decoding, for rows [heads, queries]: sum_n exp(score - row max) value_n,
 * rotary_attention_row floats a row; then each row's max; then each row's sum of exponentials. Padded so that
 * no two parts share a cache line. */
static inline int64_t rotary_attention_part(const struct rotary_attention_problem *problem)
{
    int64_t rows = problem->heads * problem->queries;
    return round_up(rows * (rotary_attention_row(problem->head_dim) + 2), 16);
}

typedef struct rotary_attention_problem rotary_attention_problem;
typedef struct rotary_attention_work rotary_attention_work;
typedef struct rotary_attention_sums rotary_attention_sums;

/* Bytes of an element of the problem's tensors. */
static inline int64_t element_bytes(const rotary_attention_problem *problem)
{
    return problem->dtype == ROTARY_F32 ? 4 : 2;
}

/* The vector of a head in a view. */
static inline const void *vector_at(const rotary_attention_problem *problem, rotary_attention_const_view view,
                                    int64_t sequence, int64_t row, int64_t head)
{
    int64_t element = sequence * view.batch_stride + row * view.time_stride + head * view.head_stride;
    return (const char *)view.data + element * element_bytes(problem);
}

static inline void *mutable_vector_at(const rotary_attention_problem *problem, rotary_attention_view view,
                                      int64_t sequence, int64_t row, int64_t head)
{
    int64_t element = sequence * view.batch_stride + row * view.time_stride + head * view.head_stride;
    return (char *)view.data + element * element_bytes(problem);
}

/* The kernels of one instruction set for one element type. Scratch is an arena over as many bytes as
 * forward_bytes, backward_bytes or decode_bytes says for the number of queries in the work item. */
struct rotary_attention_kernels {
    const struct rotary_attention_score_term *const *score_terms; /* all there are; then NULL */
    const struct rotary_attention_weight_term *weight_term;
    const struct rotary_attention_value_term *value_term;
    bool transposed_backward; /* the tiles of the backward pass are transposed (attention_terms.h) */
    bool vector_pairs;        /* vectors by distance are packed in pairs of bf16 */

    /* Forward reads keys and values rotated and packed in blocks of key_block: block b at packed_keys + b *
     * packed_keys_bytes, 64-byte aligned. Where packed_keys is NULL it packs each block itself, in scratch.
     * pack_keys packs keys and values key_begin ... key_end - 1, one block. */
    int64_t key_block;
    size_t (*packed_keys_bytes)(const rotary_attention_problem *problem);
    void (*pack_keys)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                      void *packed_keys);
    size_t (*forward_bytes)(const rotary_attention_problem *problem, int64_t queries);
    void (*forward)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                    const void *packed_keys, struct rotary_arena *scratch);

    /* Adds the work item's terms of dq, dk and dv to the sums, of rows in multiples of sum_rows. */
    int64_t sum_rows;
    size_t (*backward_bytes)(const rotary_attention_problem *problem, int64_t queries);
    void (*backward)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                     const rotary_attention_sums *sums, struct rotary_arena *scratch);
    /* Apply the transposed rotation to complete sums and write the gradients. */
    void (*finish_queries)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                           const rotary_attention_sums *sums);
    void (*finish_keys)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                        const rotary_attention_sums *sums);

    /* Decoding with few queries over caches of rotated keys and values. decode_queries rotates and scales the
     * queries of the heads that share a key-value head, into rows [heads, queries] of rotary_attention_row
     * floats. decode computes a part: all heads over keys key_begin ... key_end - 1 of a sequence.
     * decode_join combines `count` contiguous parts in their order and writes the output of the heads that
     * share a key-value head. */
    void (*decode_queries)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                           float *queries);
    size_t (*decode_bytes)(const rotary_attention_problem *problem);
    void (*decode)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                   const float *queries, float *part, struct rotary_arena *scratch);
    void (*decode_join)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                        const float *parts, int64_t count);

    /* The gradient of a head's sink from all queries of a sequence; the problem needs what backward reads of
     * them. */
    double (*sink_gradient)(const rotary_attention_problem *problem, int64_t sequence, int64_t head);

    /* to[0 ... head_dim - 1] = from, rotated by row `row`; both of the problem's element type. */
    void (*rotate)(const rotary_attention_problem *problem, const struct rotary_attention_rotation *rotation,
                   int64_t row, void *to, const void *from);
};

/* The kernels for `isa`, which this machine must have and which is not ROTARY_ISA_AUTO; the scalar ones if
 * the build has none for it. The element type is `dtype`. */
const struct rotary_attention_kernels *rotary_attention_kernels(rotary_isa isa, rotary_dtype dtype);

#endif
