/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop that the forward and backward kernels share: every block of a work item's queries against a block
 * of keys.
 */
#ifndef ROTARY_KERNEL_ATTENTION_BLOCK_PAIR_H
#define ROTARY_KERNEL_ATTENTION_BLOCK_PAIR_H

#include "kernel/attention/term_tile.h"

/* A block of queries of one head, and a block of keys. */
struct block_pair {
    int64_t query, queries; /* the first query, and their number */
    int64_t row; /* of the first query among the rows in scratch: [heads of the group, padded_queries] */
    int64_t key, keys; /* the first key, and their number */
    int64_t member;    /* of the group: the head is key_value_head * group + member */
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
    pair->member = member;
    pair->next++;
    return true;
}

/* The tile of a pair's scores, of which the kernel reads `rows` rows and `columns` columns. */
static inline struct rotary_attention_tile tile_of(const rotary_attention_problem *problem,
                                                   const rotary_attention_work *work,
                                                   const struct block_pair *pair, bool transposed,
                                                   int64_t rows, int64_t columns)
{
    int64_t group = problem->heads / problem->key_value_heads;
    return (struct rotary_attention_tile){
        .sequence = work->sequence,
        .head = work->key_value_head * group + pair->member,
        .query = pair->query,
        .queries = pair->queries,
        .key = pair->key,
        .keys = pair->keys,
        .transposed = transposed,
        .rows = rows,
        .columns = columns,
    };
}

/* The sum of the score terms of a pair; scores NULL: there are none. */
struct terms {
    const float *scores;
    int64_t row; /* floats from one row to the next */
};

static inline struct terms terms_of(const rotary_attention_problem *problem,
                                    const struct rotary_attention_tile *tile, float *scratch)
{
    const struct rotary_attention_term_tile sum = term_scores(problem, tile, scratch);
    return (struct terms){sum.from, sum.row_stride};
}

/* Rows of f32 tiles that a weight term gets at a time: a multiple of ROWS. */
enum { WEIGHT_ROWS = 24 };
_Static_assert(WEIGHT_ROWS % ROWS == 0 && QUERY_BLOCK % WEIGHT_ROWS == 0, "slices are groups of ROWS");

/* The tile of WEIGHT_ROWS rows of a pair from `row` on, and of the keys that some of them see. */
static inline struct rotary_attention_tile weight_tile(const rotary_attention_problem *problem,
                                                       const rotary_attention_work *work,
                                                       const struct block_pair *pair,
                                                       const struct range *visible, int64_t row)
{
    int64_t begin = pair->keys, end = 0, rows = min_i64(WEIGHT_ROWS, pair->queries - row);
    for (int64_t at = row; at < row + rows; at += ROWS) {
        struct range seen = visible[at / ROWS];
        if (seen.begin < seen.end) {
            begin = min_i64(begin, seen.begin);
            end = max_i64(end, seen.end);
        }
    }
    struct rotary_attention_tile tile = tile_of(problem, work, pair, false, rows, max_i64(0, end - begin));
    tile.query += row;
    tile.queries = rows;
    tile.key += begin;
    tile.keys = tile.columns;
    return tile;
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
