/* SPDX-License-Identifier: Apache-2.0
 *
 * A tile of queries and keys with the vectors of its distances (rotary_attention_distance_vectors), for the
 * terms that have such vectors.
 *
 * Products: the queries' rows are multiplied with the entries that the tile's distances use. The products of
 * a query are a row in the order of distances, where distances beyond an end of the table repeat the entry at
 * that end. A key is one distance on from the key before it, and a query one back from the query above it. So
 * in the rows of products, those of the tile are a tile whose rows start one product before the row above,
 * and nothing is moved.
 *
 * Sums: numbers of the tile (weights, or ds) are sorted into rows by entry in the same way, and what is
 * beyond an end is summed. Those rows times the entries are sums for the queries; transposed, times the
 * queries' rows, sums for the entries.
 */
#ifndef ROTARY_KERNEL_ATTENTION_VECTOR_TILE_H
#define ROTARY_KERNEL_ATTENTION_VECTOR_TILE_H

#include "kernel/attention/attention_terms.h"
#include "kernel/attention/distance_vectors.h"
#include "kernel/attention/tile.h"

enum { ENTRIES = ROTARY_ATTENTION_ENTRIES };
_Static_assert(ENTRIES % COLUMNS == 0 && ENTRIES % ROWS == 0 && ROTARY_ATTENTION_VECTOR_ROWS % ROWS == 0 &&
                   ROWS <= 8 && COLUMNS <= 32,
               "entries and queries are full tiles");

/* The tile, and its scratch. */
struct vector_tile {
    struct rotary_attention_table table;
    int64_t head, head_dim;
    struct rotary_attention_extent extent;
    struct rotary_attention_entries entries;
    int64_t rows, width; /* of the queries, padded */
    int64_t product_row;
    float *query;   /* [rows, width]: the queries' rows */
    float *product; /* [rows, product_row]: products by distance, or numbers by entry */
    float *entry;   /* [ENTRIES, width] */
    float *panel;   /* [width, COLUMNS]: some entries transposed */
    float *square;  /* [queries, keys]: a tile that is transposed in the kernel */
};

/* Where the rows of queries come from: a view, with a rotation (cosine NULL: none), a bias of the head (NULL:
 * none) and a factor. */
struct vector_rows {
    rotary_attention_const_view view;
    struct rotary_attention_rotation rotation;
    const float *bias;
    float factor;
};

/* The part of a tile with these queries and keys, which may be more than there are. For a table by key, both
 * are each other. */
static inline struct vector_tile vector_tile_of(const rotary_attention_problem *problem,
                                                const struct rotary_attention_table *table, int64_t head,
                                                struct rotary_attention_extent extent, float *scratch)
{
    struct vector_tile made = {.table = *table,
                               .head = head,
                               .head_dim = problem->head_dim,
                               .extent = extent,
                               .rows = round_up(extent.queries, ROWS),
                               .width = rotary_attention_row(problem->head_dim),
                               .product_row = rotary_attention_product_row(extent.queries, extent.keys)};
    made.entries = rotary_attention_entries_of(table, extent);
    made.query = scratch;
    made.product = made.query + made.rows * made.width;
    made.entry = made.product + made.rows * made.product_row;
    made.panel = made.entry + ENTRIES * made.width;
    made.square = made.panel + ENTRIES * made.width;
    return made;
}

/* The tile as the kernel reads it, with its padding; or its queries and keys alone. */
static inline struct rotary_attention_extent padded_extent(const struct rotary_attention_tile *tile)
{
    return (struct rotary_attention_extent){tile->query, tile->transposed ? tile->columns : tile->rows,
                                            tile->key, tile->transposed ? tile->rows : tile->columns};
}

static inline struct rotary_attention_extent exact_extent(const struct rotary_attention_tile *tile)
{
    return (struct rotary_attention_extent){tile->query, tile->queries, tile->key,
                                            tile->transposed ? tile->rows : tile->columns};
}

/* Fills the rows of the tile's first `count` queries; the others are zero. */
static inline void load_vector_rows(const rotary_attention_problem *problem, int64_t sequence,
                                    const struct vector_tile *t, int64_t count,
                                    const struct vector_rows *from)
{
    int64_t width = t->width, head_dim = problem->head_dim;
    int64_t head = t->table.by_key ? t->head / (problem->heads / problem->key_value_heads) : t->head;
    for (int64_t at = 0; at < count; at++) {
        float *row = t->query + at * width;
        int64_t query = t->extent.query + at, place = t->table.by_key ? key_row(problem, query) : query;
        memset(row + head_dim, 0, (size_t)(width - head_dim) * sizeof *row);
        load_row(row, vector_at(problem, from->view, sequence, place, head), problem->bf16, head_dim);
        rotate_row(row, &from->rotation, query, 1.0f);
        for (int64_t channel = 0; channel < width; channel += LANES) {
            vfloat vector = v_load(row + channel);
            if (from->bias)
                vector += load_columns(from->bias + channel, head_dim - channel);
            v_store(row + channel, vector * v_set(from->factor));
        }
    }
    memset(t->query + count * width, 0, (size_t)((t->rows - count) * width) * sizeof(float));
}

static inline const float *entry_at(const struct vector_tile *t, int64_t entry)
{
    const rotary_attention_distance_vectors *vectors = &t->table.vectors;
    return vectors->data + t->head * vectors->head_stride + entry * vectors->distance_stride;
}

/* Copies entries first ... first + count - 1, padded with zeros to full tiles. */
static inline void load_entries(const struct vector_tile *t, int64_t first, int64_t count)
{
    for (int64_t at = 0; at < count; at++) {
        float *row = t->entry + at * t->width;
        memcpy(row, entry_at(t, first + at), (size_t)t->head_dim * sizeof *row);
        memset(row + t->head_dim, 0, (size_t)(t->width - t->head_dim) * sizeof *row);
    }
    memset(t->entry + count * t->width, 0,
           (size_t)((round_up(count, COLUMNS) - count) * t->width) * sizeof(float));
}

/* The entries, of those of the tile, that its queries row ... row + ROWS - 1 use. */
static inline struct range entries_of_rows(const struct vector_tile *t, int64_t row)
{
    int64_t first = t->entries.low + t->extent.queries - 1 - row; /* of query `row` and the first key */
    struct range range = {first - (ROWS - 1), first + t->extent.keys};
    range.begin = max_i64(t->entries.begin, min_i64(range.begin, t->entries.end - 1));
    range.end = min_i64(t->entries.end, max_i64(range.end, t->entries.begin + 1));
    return range;
}

/* Where the products of entry `begin` are in their rows. */
static inline int64_t first_product(const struct vector_tile *t)
{
    return max_i64(0, min_i64(t->entries.begin - t->entries.low, t->extent.queries + t->extent.keys - 2));
}

static inline void multiply_entries(const struct vector_tile *t)
{
    float *product = t->product + first_product(t);
    for (int64_t first = t->entries.begin; first < t->entries.end; first += COLUMNS) {
        load_entries(t, first, min_i64(COLUMNS, t->entries.end - first));
        transpose_rows(t->panel, t->entry, COLUMNS, t->width);
        for (int64_t row = 0; row < t->rows; row += ROWS) {
            struct range used = entries_of_rows(t, row);
            if (used.begin < first + COLUMNS && used.end > first)
                multiply_tile(t->width, t->query + row * t->width, t->width, 1, t->panel, COLUMNS,
                              product + row * t->product_row + first - t->entries.begin, t->product_row,
                              false);
        }
    }
}

/* The same for one query, as in decoding. */
static inline void multiply_entries_by_one(const struct vector_tile *t)
{
    float *product = t->product + first_product(t);
    for (int64_t entry = t->entries.begin; entry < t->entries.end; entry++) {
        const float *vector = entry_at(t, entry);
        vfloat sum = {0};
        for (int64_t channel = 0; channel < t->head_dim; channel += LANES)
            sum =
                v_fma(load_columns(vector + channel, t->head_dim - channel), v_load(t->query + channel), sum);
        product[entry - t->entries.begin] = v_sum(sum);
    }
}

static inline void fill(float *to, float value, int64_t count)
{
    int64_t at = 0;
    for (; at + LANES <= count; at += LANES)
        v_store(to + at, v_set(value));
    if (at < count)
        v_store_part(to + at, v_set(value), count - at);
}

/* Repeats the products with the ends of the table for the distances beyond them. */
static inline void repeat_ends(const struct vector_tile *t)
{
    int64_t begin = first_product(t), end = begin + t->entries.end - t->entries.begin,
            last = t->extent.queries + t->extent.keys - 1;
    for (int64_t row = 0; row < t->extent.queries; row++) {
        float *product = t->product + row * t->product_row;
        fill(product, product[begin], begin);
        fill(product + end, product[end - 1], last - end);
    }
}

/* to[columns][rows] = from[rows][columns], both multiples of LANES. */
static inline void transpose_tile(float *to, int64_t to_row, const float *from, int64_t from_row,
                                  int64_t rows, int64_t columns)
{
    for (int64_t row = 0; row < rows; row += LANES)
        for (int64_t column = 0; column < columns; column += LANES)
            transpose_square(to + column * to_row + row, to_row, from + row * from_row + column, from_row);
}

/* The products of the queries' rows, which are loaded, with the vectors of the tile's distances, as the
 * kernel has its tile: row r is at r * *row_stride. */
static inline const float *vector_products(const struct vector_tile *t, bool transposed, int64_t *row_stride)
{
    if (t->extent.queries == 1) /* as in decoding alone: other tiles have padded rows */
        multiply_entries_by_one(t);
    else
        multiply_entries(t);
    repeat_ends(t);
    const float *corner = t->product + t->extent.queries - 1;
    *row_stride = t->product_row - 1;
    if (!transposed)
        return corner;
    transpose_tile(t->square, t->extent.queries, corner, *row_stride, t->extent.queries, t->extent.keys);
    *row_stride = t->extent.queries;
    return t->square;
}

static inline float sum_of(const float *from, int64_t count)
{
    vfloat sum = {0};
    for (int64_t at = 0; at < count; at += LANES)
        sum += load_columns(from + at, count - at);
    return v_sum(sum);
}

/* Sorts the numbers of a tile, as the kernel has it, into t->product, by entry from `begin` on; zero
 * elsewhere. A transposed tile has zeros in full squares of LANES past its queries and keys. */
static inline void sort_by_entry(const struct vector_tile *t, bool transposed, const float *from,
                                 int64_t row_stride)
{
    int64_t keys = t->extent.keys, last = t->entries.end - 1 - t->entries.begin;
    if (transposed) {
        int64_t columns = round_up(keys, LANES);
        transpose_tile(t->square, columns, from, row_stride, columns, round_up(t->extent.queries, LANES));
        from = t->square;
        row_stride = columns;
    }
    memset(t->product, 0, (size_t)(t->rows * t->product_row) * sizeof(float));
    for (int64_t row = 0; row < t->extent.queries; row++, from += row_stride) {
        float *to = t->product + row * t->product_row;
        /* Of the first key, counted from entry `begin`. */
        int64_t entry = t->entries.low + t->extent.queries - 1 - row - t->entries.begin;
        int64_t below = max_i64(0, min_i64(-entry, keys)),
                above = max_i64(below, min_i64(last + 1 - entry, keys));
        if (below < above)
            memcpy(to + entry + below, from + below, (size_t)(above - below) * sizeof *to);
        to[0] += sum_of(from, below);
        to[last] += sum_of(from + above, keys - above);
    }
}

/* sums, a row for each query, += the sorted numbers times entries first ... first + count - 1, loaded. */
static inline void add_entries(const struct vector_tile *t, int64_t first, int64_t count, float *sums)
{
    for (int64_t row = 0; row < t->rows; row += ROWS) {
        struct range used = entries_of_rows(t, row);
        int64_t begin = max_i64(used.begin, first), end = min_i64(used.end, first + count);
        for (int64_t channel = 0; channel < t->width && begin < end; channel += COLUMNS)
            multiply_tile(end - begin, t->product + row * t->product_row + begin - t->entries.begin,
                          t->product_row, 1, t->entry + (begin - first) * t->width + channel, t->width,
                          sums + row * t->width + channel, t->width, true);
    }
}

/* The same with all entries. The sums have t->rows rows. */
static inline void add_to_queries(const struct vector_tile *t, float *sums)
{
    for (int64_t first = t->entries.begin; first < t->entries.end; first += ENTRIES) {
        int64_t count = min_i64(ENTRIES, t->entries.end - first);
        load_entries(t, first, count);
        add_entries(t, first, count, sums);
    }
}

/* The same for one query, as in decoding: one row. */
static inline void add_to_one_query(const struct vector_tile *t, float *sums)
{
    for (int64_t entry = t->entries.begin; entry < t->entries.end; entry++) {
        vfloat factor = v_set(t->product[entry - t->entries.begin]);
        for (int64_t channel = 0; channel < t->head_dim; channel += LANES) {
            vfloat vector = load_columns(entry_at(t, entry) + channel, t->head_dim - channel);
            v_store(sums + channel, v_fma(factor, vector, v_load(sums + channel)));
        }
    }
}

/* The sums of a work item, [heads of the group], += the sorted numbers, transposed, times the queries' rows,
 * which are loaded. */
static inline void add_to_entries(const rotary_attention_problem *problem, const rotary_attention_work *work,
                                  const struct vector_tile *t, float *item_sums)
{
    struct rotary_attention_entries all =
        rotary_attention_entries_of(&t->table, rotary_attention_extent_of(&t->table, work));
    int64_t member = t->head % (problem->heads / problem->key_value_heads);
    float *sums = item_sums + member * rotary_attention_vector_sums(all.end - all.begin, t->head_dim) +
                  (t->entries.begin - all.begin) * t->width;
    for (int64_t entry = 0; entry < t->entries.end - t->entries.begin; entry += ROWS)
        for (int64_t channel = 0; channel < t->width; channel += COLUMNS)
            multiply_tile(t->extent.queries, t->product + entry, 1, t->product_row, t->query + channel,
                          t->width, sums + entry * t->width + channel, t->width, true);
}

#endif
