/* SPDX-License-Identifier: Apache-2.0
 *
 * Which keys a query sees, and which queries see a key. Every kernel, and every loop over work items, asks
 * here: forward, backward and decoding.
 *
 * Query m has the position of key m + query_offset. It sees the keys of its problem that are, with causal, at
 * its own and earlier positions, and with a window at the last `window` of these. A sequence's own number of
 * keys (key lengths, packed sequences, the tokens of a cache) is `keys` of its problem. Masks by a bias are
 * not asked here: they hide single keys.
 */
#ifndef ROTARY_KERNEL_ATTENTION_VISIBILITY_H
#define ROTARY_KERNEL_ATTENTION_VISIBILITY_H

#include "kernel/attention/attention_kernels.h"

/* begin ... end - 1; empty where begin >= end. */
struct range {
    int64_t begin, end;
};

/* Keys first_key(m) ... end_key(m) - 1 are visible to query m. Both grow with m. */
static inline int64_t first_key(const rotary_attention_problem *problem, int64_t query)
{
    if (problem->window == 0)
        return 0;
    return max_i64(0, min_i64(problem->keys, query + problem->query_offset - problem->window + 1));
}

static inline int64_t end_key(const rotary_attention_problem *problem, int64_t query)
{
    if (!problem->causal)
        return problem->keys;
    return max_i64(0, min_i64(problem->keys, query + problem->query_offset + 1));
}

/* Those of queries first ... first + count - 1 that see some of keys key ... last_key, counted from `first`.
 * {0, 0} if none does. */
static inline struct range visible_queries(const rotary_attention_problem *problem, int64_t first,
                                           int64_t count, int64_t key, int64_t last_key)
{
    struct range visible = {0, count};
    if (problem->causal)
        visible.begin = max_i64(0, key - problem->query_offset - first);
    if (problem->window > 0)
        visible.end = min_i64(count, last_key - problem->query_offset - first + problem->window);
    if (key >= problem->keys || visible.end <= visible.begin)
        return (struct range){0, 0};
    return visible;
}

/* Whether query number i from `query` on sees no key after number i from `key` on. */
static inline bool is_diagonal(const rotary_attention_problem *problem, int64_t query, int64_t key)
{
    return problem->causal && query + problem->query_offset <= key;
}

/* The keys begin ... end - 1 that are visible to some of queries first ... first + count - 1, count >= 1. */
static inline struct range key_range(const rotary_attention_problem *problem, int64_t first, int64_t count)
{
    struct range visible = {first_key(problem, first), end_key(problem, first + count - 1)};
    return visible.begin < visible.end ? visible : (struct range){0, 0};
}

#endif
