/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop that the forward and backward kernels share: every block of a work item's queries against a block
 * of keys.
 */
#ifndef ROTARY_KERNEL_ATTENTION_BLOCK_PAIR_H
#define ROTARY_KERNEL_ATTENTION_BLOCK_PAIR_H

#include "kernel/attention/tile.h"

/* A block of queries of one head, and a block of keys. */
struct block_pair {
    int64_t query, queries; /* the first query, and their number */
    int64_t row; /* of the first query among the rows in scratch: [heads of the group, padded_queries] */
    int64_t key, keys; /* the first key, and their number */
    const float *bias; /* of the head, or NULL */
    int64_t next;
};

/* Moves `pair` to its next block of `block` queries, head after head; its keys stay. A pair starts with next
 * 0. Returns false after the last. */
static inline bool next_query_block(const rotary_attention_problem *problem,
                                    const rotary_attention_work *work, int64_t block, int64_t padded_queries,
                                    struct block_pair *pair)
{
    int64_t group = problem->heads / problem->key_value_heads, queries = work->query_end - work->query_begin;
    int64_t blocks = divide_up(queries, block);
    if (pair->next >= group * blocks)
        return false;
    int64_t member = pair->next / blocks, at = pair->next % blocks * block;
    pair->query = work->query_begin + at;
    pair->queries = min_i64(block, queries - at);
    pair->row = member * padded_queries + at;
    pair->bias = bias_of(problem, work->sequence, work->key_value_head * group + member);
    pair->next++;
    return true;
}

/* The number of keys of the pair up to the last that any of its queries sees; 0 if they see none. */
static inline int64_t visible_keys(const rotary_attention_problem *problem, const struct block_pair *pair)
{
    struct range visible = key_range(problem, pair->query, pair->queries);
    int64_t count = min_i64(pair->keys, visible.end - pair->key);
    return count > 0 && pair->key + count > visible.begin ? count : 0;
}

/* The range of keys of a backward work item that its queries see, begun at the start of a block of keys. */
static inline struct range backward_keys(const rotary_attention_problem *problem,
                                         const rotary_attention_work *work, int64_t block)
{
    struct range visible = key_range(problem, work->query_begin, work->query_end - work->query_begin);
    int64_t begin = max_i64(work->key_begin, visible.begin), end = min_i64(work->key_end, visible.end);
    return (struct range){begin - (begin - work->key_begin) % block, begin < end ? end : 0};
}

#endif
