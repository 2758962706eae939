/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between attention and its hot loops. A kernel does one piece of work: some queries of the
 * heads that share one key-value head of one sequence. What it must compute is the formula of
 * rotary/attention.h:
 *
 *     s(m, n)  = cap(scale * (R_m q_m) . (R_n k_n)) + bias(m, n), -infinity where m may not see n
 *     lse(m)   = log sum_n exp(s(m, n))             p(m, n) = exp(s(m, n) - lse(m))
 *     out(m)   = U_m^T sum_n p(m, n) U_n v_n
 *
 * and, with g(m) = U_m dout(m), D(m) = dout(m) . out(m), ds(m, n) = p(m, n) (g(m) . U_n v_n - D(m)) cap'(m,
 * n):
 *
 *     dq(m) = scale R_m^T sum_n ds(m, n) R_n k_n    dk(n) = scale R_n^T sum_m ds(m, n) R_m q_m
 *     dv(n) = U_n^T sum_m p(m, n) g(m)
 *
 * U is a pure rotation, so U^T is its inverse; R may carry a magnitude, so R^T is only its transpose. A query
 * that sees no key has output 0, lse -infinity, and sends no gradient.
 *
 * Inputs may be f32 or bf16; everything is summed in f32. A row of the output depends on its query and on the
 * keys it sees, not on how queries are cut into pieces.
 *
 * A bias of ROTARY_ATTENTION_HIDDEN or below is as -infinity. All that a query sees may be hidden from it so,
 * or blocks of it, the first ones too. A kernel reads biases of queries and keys of the problem alone.
 */
#ifndef ROTARY_KERNEL_ATTENTION_ATTENTION_KERNELS_H
#define ROTARY_KERNEL_ATTENTION_ATTENTION_KERNELS_H

#include <rotary/attention.h>

/* Rows of cosines and sines, [positions, dim / 2]; cosine NULL: nothing turns. */
struct rotary_attention_rotation {
    const float *cosine, *sine;
    int64_t start, dim;
    bool interleaved;
};

struct rotary_attention_problem {
    int64_t heads, key_value_heads, head_dim;
    bool bf16, causal;
    int64_t window; /* 0: none */
    float scale, softcap;
    int64_t queries; /* in log_sum_exp, which may be more than pieces are made of */
    int64_t keys;
    int64_t query_offset;  /* query m stands where key m + lead stands */
    int64_t ring_capacity; /* key n is row (ring_first + n) mod ring of its view, n < ring; 0: row n */
    int64_t ring_first;
    rotary_attention_const_view query, key, value, saved_output, output_gradient;
    rotary_attention_view output, query_gradient, key_gradient, value_gradient;
    rotary_attention_bias bias;     /* data NULL: none */
    float *log_sum_exp;             /* [batch, heads, queries], or NULL */
    const float *saved_log_sum_exp; /* likewise, read by backward */
    /* Row m of the first two is query m's position, row n of the others key n's. */
    struct rotary_attention_rotation query_rotation, output_rotation, key_rotation, value_rotation;
};

/* Queries query_begin ... query_end - 1, keys key_begin ... key_end - 1 (backward alone), of all heads that
 * read key-value head key_value_head of sequence `sequence`. */
struct rotary_attention_work {
    int64_t sequence, key_value_head, query_begin, query_end, key_begin, key_end;
};

/* Sums of gradients, f32, in a layout that is the kernel's own; zero at first. Those of the queries start at
 * query_begin and hold one run of round(query_end - query_begin) rows for each head of the group; those of
 * keys and values start at key_begin and hold round(key_end - key_begin) rows. A row is rotary_attention_row
 * floats. */
struct rotary_attention_sums {
    float *query, *key, *value;
};

enum { ROTARY_ATTENTION_ROUND = 192, ROTARY_ATTENTION_MAX_HEAD_DIM = 1024 };
#define ROTARY_ATTENTION_MASKED (-1e30f)
enum { ROTARY_ATTENTION_KEY_BLOCK = 192, ROTARY_ATTENTION_BF16_KEY_BLOCK = 512 };

static inline int64_t rotary_attention_round(int64_t count, int64_t multiple)
{
    return (count + multiple - 1) / multiple * multiple;
}

/* Floats in a padded row of head_dim channels. */
static inline int64_t rotary_attention_row(int64_t head_dim)
{
    return rotary_attention_round(head_dim, 32);
}

/* Floats in a part of decoding: for each query of each head, as rows [heads, queries], the sum of values
 * weighted by exp(score - largest score), rotary_attention_row of them; then the rows' largest scores; then
 * their sums of weights. Padded, so that no two parts share a cache line. */
static inline int64_t rotary_attention_part(const struct rotary_attention_problem *problem)
{
    int64_t rows = problem->heads * problem->queries;
    return rotary_attention_round(rows * (rotary_attention_row(problem->head_dim) + 2), 16);
}

typedef struct rotary_attention_problem rotary_attention_problem;
typedef struct rotary_attention_work rotary_attention_work;
typedef struct rotary_attention_sums rotary_attention_sums;

/* Where in its view the vector of a head stands. */
static inline const void *vector_at(const rotary_attention_problem *problem, rotary_attention_const_view view,
                                    int64_t sequence, int64_t row, int64_t head)
{
    int64_t element = sequence * view.batch_stride + row * view.time_stride + head * view.head_stride;
    return (const char *)view.data + element * (problem->bf16 ? 2 : 4);
}

static inline void *mutable_vector_at(const rotary_attention_problem *problem, rotary_attention_view view,
                                      int64_t sequence, int64_t row, int64_t head)
{
    int64_t element = sequence * view.batch_stride + row * view.time_stride + head * view.head_stride;
    return (char *)view.data + element * (problem->bf16 ? 2 : 4);
}

/* What one instruction set offers for one element type. Scratch is 64-byte aligned; its size depends on the
 * number of queries in the piece, not on where they lie. */
struct rotary_attention_kernels {
    /* Forward takes keys and values turned and packed, key_block at a time: block b at packed + b *
     * packed_bytes, 64-byte aligned; or it packs them itself, block after block, where packed is NULL. pack
     * makes the block of keys key_begin ... key_end - 1. */
    int64_t key_block;
    size_t (*packed_keys_bytes)(const rotary_attention_problem *problem);
    void (*pack_keys)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                      void *packed);
    size_t (*forward_bytes)(const rotary_attention_problem *problem, int64_t queries);
    void (*forward)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                    const void *packed, void *scratch);

    /* Adds what the queries and keys of the piece give to each other's gradients. */
    size_t (*backward_bytes)(const rotary_attention_problem *problem, int64_t queries);
    void (*backward)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                     const rotary_attention_sums *sums, void *scratch);
    /* Turns finished sums back and writes them to the gradients. */
    void (*finish_queries)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                           const rotary_attention_sums *sums);
    void (*finish_keys)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                        const rotary_attention_sums *sums);

    /* Decoding with few queries, keys and values lying turned in caches. decode_queries turns and scales the
     * queries of the heads that share a key-value head, to the rows [heads, queries] of
     * rotary_attention_row floats. decode makes a part of what the queries of all heads see of keys
     * key_begin ... key_end - 1 of a sequence; decode_join puts `count` parts that lie one behind another
     * together, in their order, and writes the output of the heads that share a key-value head. */
    void (*decode_queries)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                           float *queries);
    size_t (*decode_bytes)(const rotary_attention_problem *problem);
    void (*decode)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                   const float *queries, float *part, void *scratch);
    void (*decode_join)(const rotary_attention_problem *problem, const rotary_attention_work *work,
                        const float *parts, int64_t count);

    /* to[0 ... head_dim - 1] = from, turned by row `row` of `turn`; both of the problem's element type. */
    void (*rotate)(const rotary_attention_problem *problem, const struct rotary_attention_rotation *rotate,
                   int64_t row, void *to, const void *from);
};

/* Never NULL for an instruction set that is available. */
const struct rotary_attention_kernels *rotary_attention_kernels(rotary_isa isa, rotary_dtype dtype);

#endif
