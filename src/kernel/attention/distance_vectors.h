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

/* A table, and which vectors meet it: queries, or keys. Keys that meet vectors by distance are queries of a
 * problem whose keys are the queries: distances change their sign, and so the table its order. */
struct rotary_attention_table {
    rotary_attention_distance_vectors vectors;
    int64_t query_offset;
    bool by_key;
    const struct rotary_attention_columns *columns; /* NULL: not packed */
};

static inline struct rotary_attention_table
rotary_attention_table_of(const rotary_attention_distance_vectors *vectors, int64_t query_offset, bool by_key)
{
    struct rotary_attention_table table = {*vectors, query_offset, by_key, NULL};
    if (!by_key || !vectors->data)
        return table;
    int64_t last = vectors->distances - 1;
    table.query_offset = -query_offset;
    table.vectors.first = -(vectors->first + last);
    table.vectors.data += last * vectors->distance_stride;
    table.vectors.distance_stride = -vectors->distance_stride;
    if (vectors->gradient)
        table.vectors.gradient += last * vectors->distance_stride;
    return table;
}

/* The entries begin ... end - 1 of a table that the distances of an extent use. Distance i of these, counted
 * from 0, is that of entry low + i, if the table has it, and otherwise of the entry at that end. */
struct rotary_attention_entries {
    int64_t low, begin, end;
};

static inline struct rotary_attention_entries
rotary_attention_entries_of(const struct rotary_attention_table *table, struct rotary_attention_extent extent)
{
    int64_t last = table->vectors.distances - 1;
    int64_t low =
        extent.key - (extent.query + extent.queries - 1) - table->query_offset - table->vectors.first;
    int64_t high = low + extent.queries + extent.keys - 2;
    return (struct rotary_attention_entries){low, max_i64(0, min_i64(low, last)),
                                             max_i64(0, min_i64(high, last)) + 1};
}

/* Entries begin ... end - 1 of a head, transposed: to, [head_dim, row]. */
static inline void rotary_attention_pack_columns(const rotary_attention_distance_vectors *vectors,
                                                 int64_t head, struct rotary_attention_entries entries,
                                                 int64_t head_dim, float *to, int64_t row)
{
    const float *from = vectors->data + head * vectors->head_stride;
    for (int64_t entry = entries.begin; entry < entries.end; entry++)
        for (int64_t channel = 0; channel < head_dim; channel++)
            to[channel * row + entry - entries.begin] = from[entry * vectors->distance_stride + channel];
}

/* The extent of a work item of the backward pass, for a table. */
static inline struct rotary_attention_extent
rotary_attention_extent_of(const struct rotary_attention_table *table, const rotary_attention_work *work)
{
    int64_t queries = work->query_end - work->query_begin, keys = work->key_end - work->key_begin;
    if (table->by_key)
        return (struct rotary_attention_extent){work->key_begin, keys, work->query_begin, queries};
    return (struct rotary_attention_extent){work->query_begin, queries, work->key_begin, keys};
}

/* Floats in the sums of one head over so many entries: rotary_attention_row floats an entry, then padding. */
static inline int64_t rotary_attention_vector_sums(int64_t entries, int64_t head_dim)
{
    return (entries + 8) * rotary_attention_row(head_dim);
}

/* Entries whose vectors are copied at a time, and what queries, or keys in their place, are padded to:
 * multiples of ROWS, COLUMNS and LANES (tile.h) of every instruction set. */
enum { ROTARY_ATTENTION_ENTRIES = 96, ROTARY_ATTENTION_VECTOR_ROWS = 48 };

/* Floats in a row of products of a query with the entries of a tile's distances: after them there is room for
 * COLUMNS more. */
static inline int64_t rotary_attention_product_row(int64_t queries, int64_t keys)
{
    return round_up(queries + keys, 16) + 32;
}

/* Words of 32 bits that a tile in bf16 takes: rows of queries, these in pairs, and pairs of numbers with
 * margins. */
static inline int64_t rotary_attention_pair_words(int64_t rows, int64_t keys, int64_t width)
{
    return rows * width + round_up(rows, 16) * (round_up(keys, 16) + 2 * ROTARY_ATTENTION_TERM_MARGIN);
}

/* Floats of scratch that a term of vectors by distance needs for a tile: the tile, another with margins,
 * products, rows of queries and entries, two numbers for each row, two wide ends, the entries' columns, and
 * what bf16 takes. */
static inline int64_t rotary_attention_vector_scratch(int64_t queries, int64_t keys, int64_t head_dim)
{
    int64_t rows = round_up(queries, ROTARY_ATTENTION_VECTOR_ROWS), width = rotary_attention_row(head_dim),
            margins = 2 * ROTARY_ATTENTION_TERM_MARGIN, product = rotary_attention_product_row(rows, keys);
    return rows * keys + (rows + margins + 1) * (keys + ROTARY_ATTENTION_VECTOR_ROWS + margins) +
           rows * (product + width + 2 + 2 * ROTARY_ATTENTION_TERM_WIDE) + ROTARY_ATTENTION_ENTRIES * width +
           head_dim * product + rotary_attention_pair_words(rows, keys, width);
}

#endif
