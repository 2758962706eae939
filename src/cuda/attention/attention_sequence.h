/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tokens belong to a sequence, which of its keys a query sees, and where their vectors are.
 */
#ifndef ROTARY_CUDA_ATTENTION_ATTENTION_SEQUENCE_H
#define ROTARY_CUDA_ATTENTION_ATTENTION_SEQUENCE_H

#include "cuda/attention/attention_problem.h"
#include "cuda/device.h"

/* A sequence; its queries and keys are counted from its own first ones. */
struct sequence {
    int64_t batch;         /* its place in the batch */
    int64_t query, key;    /* the places of its first query and key in the tensors' time */
    int64_t queries, keys; /* how many it has */
    int64_t stored_keys;   /* those and others, beyond its length, whose gradients are 0 */
    int64_t query_offset;  /* query m has the position of key m + query_offset */
    int64_t first_query;   /* the position of query 0 */
    int64_t number;        /* of dropout */
    int64_t ring_first;    /* the row of key 0 in a cache */
    int64_t bias_key;      /* the column of key 0 in a bias */
};

struct range {
    int64_t begin, end;
};

static __device__ __forceinline__ int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static __device__ __forceinline__ int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Keys before the window of the first new query may be overwritten: key 0 is the first after them. */
static __device__ inline sequence decoded_sequence(const cuda_attention &problem, int64_t index)
{
    sequence s = {};
    int64_t length = problem.lengths[index];
    int64_t first = problem.window > 0 ? larger(0, length - problem.window + 1) : 0;
    first = smaller(first, length + problem.new_keys);
    s.batch = index;
    s.queries = problem.shape.queries;
    s.keys = s.stored_keys = length + problem.new_keys - first;
    s.query_offset = length - first;
    s.first_query = length;
    s.ring_first = problem.capacity > 0 ? first % problem.capacity : 0;
    s.bias_key = first;
    return s;
}

static __device__ inline sequence sequence_at(const cuda_attention &problem, int64_t index)
{
    if (problem.lengths)
        return decoded_sequence(problem, index);
    sequence s = {};
    s.queries = problem.shape.queries;
    s.keys = problem.shape.keys;
    s.query_offset = problem.shape.first_query - problem.shape.first_key;
    s.first_query = problem.shape.first_query;
    if (problem.query_starts) {
        s.query = problem.query_starts[index];
        s.key = problem.key_starts[index];
        s.queries = problem.query_starts[index + 1] - s.query;
        s.keys = problem.key_starts[index + 1] - s.key;
        s.number = problem.dropout.first_sequence + s.query;
        s.bias_key = s.key;
        s.stored_keys = s.keys;
    } else {
        s.batch = index;
        s.stored_keys = s.keys;
        s.number = problem.dropout.first_sequence + index;
        if (problem.key_lengths)
            s.keys = smaller(s.keys, problem.key_lengths[index]);
    }
    if (problem.causal) /* keys that no query sees may hold anything */
        s.keys = larger(0, smaller(s.keys, s.queries + s.query_offset));
    return s;
}

/* The keys that query m sees, as far as a causal mask and a window decide, and the queries that see key n. */
static __device__ __forceinline__ range keys_of(const cuda_attention &problem, const sequence &s,
                                                int64_t query)
{
    const int64_t own = query + s.query_offset;
    return {problem.window > 0 ? own - problem.window + 1 : INT64_MIN, problem.causal ? own + 1 : INT64_MAX};
}

static __device__ __forceinline__ range queries_of(const cuda_attention &problem, const sequence &s,
                                                   int64_t key)
{
    const int64_t own = key - s.query_offset;
    return {problem.causal ? own : INT64_MIN, problem.window > 0 ? own + problem.window : INT64_MAX};
}

/* The keys that some of queries first ... first + count - 1 see; empty where begin >= end. */
static __device__ inline range visible_keys(const cuda_attention &problem, const sequence &s, int64_t first,
                                            int64_t count)
{
    const int64_t last = smaller(first + count, s.queries) - 1;
    return {larger(0, keys_of(problem, s, first).begin), smaller(s.keys, keys_of(problem, s, last).end)};
}

/* The queries that see some of keys first ... first + count - 1. */
static __device__ inline range visible_queries(const cuda_attention &problem, const sequence &s,
                                               int64_t first, int64_t count)
{
    const int64_t last = smaller(first + count, s.keys) - 1;
    return {larger(0, queries_of(problem, s, first).begin),
            smaller(last < first ? 0 : s.queries, queries_of(problem, s, last).end)};
}

/* Which columns of a tile, whose first is `first` of `count`, are in a range: of a row that is none no column
 * is. */
struct columns {
    int begin, end;
};

static __device__ __forceinline__ columns columns_of(const range &range, int64_t first, int64_t count,
                                                     bool row)
{
    const int64_t begin = larger(range.begin, first) - first, end = smaller(range.end, count) - first;
    return {(int)smaller(begin, INT32_MAX), row ? (int)smaller(larger(end, 0), INT32_MAX) : 0};
}

static __device__ __forceinline__ bool sees(const cuda_attention &problem, const sequence &s, int64_t query,
                                            int64_t key)
{
    const range keys = keys_of(problem, s, query);
    return query < s.queries && key < s.keys && key >= keys.begin && key < keys.end;
}

/* Where a row of log_sum_exp and delta begins. */
static __device__ __forceinline__ int64_t head_row(const cuda_attention &problem, const sequence &s,
                                                   int64_t head)
{
    return (s.batch * problem.heads + head) * problem.shape.queries + s.query;
}

/* Rows of packed vectors of a head; `time` is the tokens of the tensor. */
static __device__ __forceinline__ int64_t packed_rows(const cuda_attention &problem, int64_t time)
{
    return problem.shape.batch * time + CUDA_ATTENTION_PAD;
}

static __device__ __forceinline__ int64_t packed_query(const cuda_attention &problem, const sequence &s,
                                                       int64_t head, int64_t query)
{
    int64_t time = problem.shape.queries;
    return (head * packed_rows(problem, time) + s.batch * time + s.query + query) * problem.width;
}

static __device__ __forceinline__ int64_t packed_key(const cuda_attention &problem, const sequence &s,
                                                     int64_t head, int64_t key)
{
    int64_t time = problem.shape.keys;
    return (head * packed_rows(problem, time) + s.batch * time + s.key + key) * problem.width;
}

#endif
