/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes that the terms of vectors by distance (rotary_attention_distance_vectors) share with the passes that
 * give them memory.
 */
#ifndef ROTARY_KERNEL_ATTENTION_DISTANCE_VECTORS_H
#define ROTARY_KERNEL_ATTENTION_DISTANCE_VECTORS_H

#include "kernel/attention/attention_kernels.h"

/* Some queries and some keys of a problem: queries query ... query + queries - 1, keys likewise. */
struct rotary_attention_extent {
    int64_t query, queries, key, keys;
};

/* The entries begin ... end - 1 of a table that the distances of an extent use. Distance i of these, counted
 * from 0, is that of entry low + i, if the table has it, and otherwise of the entry at that end. */
struct rotary_attention_entries {
    int64_t low, begin, end;
};

static inline struct rotary_attention_entries
rotary_attention_entries_of(const rotary_attention_distance_vectors *vectors, int64_t query_offset,
                            struct rotary_attention_extent extent)
{
    int64_t last = vectors->distances - 1;
    int64_t low = extent.key - (extent.query + extent.queries - 1) - query_offset - vectors->first;
    int64_t high = low + extent.queries + extent.keys - 2;
    return (struct rotary_attention_entries){low, max_i64(0, min_i64(low, last)),
                                             max_i64(0, min_i64(high, last)) + 1};
}

/* The extent of a work item of the backward pass. */
static inline struct rotary_attention_extent rotary_attention_extent_of(const rotary_attention_work *work)
{
    return (struct rotary_attention_extent){work->query_begin, work->query_end - work->query_begin,
                                            work->key_begin, work->key_end - work->key_begin};
}

/* Floats in the sums of one head over so many entries: rotary_attention_row floats an entry, then padding. */
static inline int64_t rotary_attention_vector_sums(int64_t entries, int64_t head_dim)
{
    return (entries + 8) * rotary_attention_row(head_dim);
}

/* Entries whose vectors are copied at a time, and queries are padded to multiples of: both are multiples of
 * ROWS and COLUMNS (tile.h) of every instruction set. */
enum { ROTARY_ATTENTION_ENTRIES = 96, ROTARY_ATTENTION_PADDED_QUERIES = 24 };

/* Floats in a row of products of a query with the entries of a tile's distances. */
static inline int64_t rotary_attention_product_row(int64_t queries, int64_t keys)
{
    return round_up(queries + keys, 16) + 32;
}

/* Floats of scratch that a term of vectors by distance needs for a tile. */
static inline int64_t rotary_attention_vector_scratch(int64_t queries, int64_t keys, int64_t head_dim)
{
    int64_t rows = round_up(queries, ROTARY_ATTENTION_PADDED_QUERIES), width = rotary_attention_row(head_dim);
    return queries * keys + rows * (rotary_attention_product_row(rows, keys) + width) +
           2 * ROTARY_ATTENTION_ENTRIES * width;
}

#endif
