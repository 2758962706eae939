/* SPDX-License-Identifier: Apache-2.0
 *
 * A tile of queries and keys with the vectors of its distances (rotary_attention_distance_vectors), for the
 * terms that have such vectors.
 *
 * Products: the queries' rows are multiplied with the entries that the tile's distances use. The products of
 * a query are a row in the order of distances, where distances beyond an end of the table repeat the entry at
 * that end. A key is one distance on from the key before it, and a query one back from the query above it. So
 * in the rows of products, those of the tile are a tile whose rows start one product before the row above,
 * and nothing is moved. Far from the entries of a clipped table all keys of a query have one product: a
 * kernel that takes ends gets it once.
 *
 * Sums: numbers of the tile (weights, or ds) are read likewise, each row of a group one number later than the
 * row above, so that a column holds those of one entry. They times the entries are sums for the queries; they
 * times the queries' rows, sums for the entries. Numbers beyond an end of the table are summed first.
 *
 * Kernels of bf16 have the table packed in pairs. Then rows, entries and numbers are rounded to bf16 as factors,
 * but not those beyond an end of the table.
 */
#ifndef ROTARY_KERNEL_ATTENTION_VECTOR_TILE_H
#define ROTARY_KERNEL_ATTENTION_VECTOR_TILE_H

#include "kernel/attention/attention_terms.h"
#include "kernel/attention/distance_vectors.h"
#include "kernel/attention/number_pairs.h"
#include "kernel/attention/tile.h"

enum { ENTRIES = ROTARY_ATTENTION_ENTRIES };
_Static_assert(ENTRIES % COLUMNS == 0 && ENTRIES % ROWS == 0 && ROTARY_ATTENTION_VECTOR_ROWS % ROWS == 0 &&
                   ROWS <= 8 && ROTARY_ATTENTION_TERM_WIDE % COLUMNS == 0,
               "entries and queries are full tiles");

/* The tile, and its scratch. */
struct vector_tile {
    struct rotary_attention_table table;
    int64_t head, head_dim;
    struct rotary_attention_extent extent;
    struct rotary_attention_entries entries;
    int64_t rows, width; /* of the queries, padded */
    int64_t product_row;
    const float *query; /* [rows, width]: the queries' rows */
    /* In bf16: the queries' rows for products, this many elements apart; NULL: those of `query`, rounded. */
    const uint16_t *half_query;
    int64_t half_row;
    float *loaded;  /* likewise: where load_vector_rows puts them */
    float *product; /* [rows, product_row]: products by distance */
    float *entry;   /* [ENTRIES, width] */
    float *below;   /* [rows]: the sums of numbers of distances before the table's first */
    float *above;   /* likewise, after its last */
    float *ends;    /* [2, rows, ROTARY_ATTENTION_TERM_WIDE]: the products beyond the tile's near columns */
    float *columns; /* [head_dim, product_row]: the entries transposed, where the call has not packed them */
    /* In bf16: the queries' rows; pairs of these, [rows / 2, width]; and the pairs of keys and of queries that
     * pair_keys and pair_queries make of numbers. */
    uint16_t *halves;
    uint32_t *query_pairs, *number_pairs;
    float *square; /* a tile of numbers with margins, or one that is transposed in the kernel */
};

/* The table of a term of the problem. */
static inline struct rotary_attention_table table_of(const rotary_attention_problem *problem,
                                                     const rotary_attention_distance_vectors *vectors,
                                                     const struct rotary_attention_columns *packed,
                                                     bool by_key)
{
    struct rotary_attention_table table = rotary_attention_table_of(vectors, problem->query_offset, by_key);
    table.columns = packed->data || packed->channel_pairs ? packed : NULL;
    return table;
}

/* Whether the vectors are packed in pairs of bf16. */
static inline bool has_pairs(const struct vector_tile *t)
{
#if defined(__AVX512BF16__)
    return t->table.columns && t->table.columns->channel_pairs;
#else
    (void)t;
    return false;
#endif
}

/* The largest product of a vector of a head with a unit vector, where the call has found it and the vectors
 * that meet them have the norms that `rotation` leaves them: otherwise infinity. */
static inline float largest_product(const struct rotary_attention_columns *packed,
                                    const struct rotary_attention_rotation *rotation, int64_t head)
{
    return packed->norm && !rotation->cosine ? packed->norm[head] : INFINITY;
}

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
    made.query = made.loaded = scratch;
    made.product = made.loaded + made.rows * made.width;
    made.entry = made.product + made.rows * made.product_row;
    made.below = made.entry + ENTRIES * made.width;
    made.above = made.below + round_up(made.rows, LANES);
    made.ends = made.above + round_up(made.rows, LANES);
    made.columns = made.ends + 2 * made.rows * ROTARY_ATTENTION_TERM_WIDE;
    float *words = made.columns + made.head_dim * made.product_row;
    made.halves = (uint16_t *)(void *)words;
    made.query_pairs = (uint32_t *)(void *)(words + made.rows / 2 * made.width);
    made.number_pairs = made.query_pairs + made.rows / 2 * made.width;
    made.square = words + rotary_attention_pair_words(made.rows, extent.keys, made.width);
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
    bool rotated = from->rotation.cosine;
    for (int64_t at = 0; at < count; at++) {
        float *row = t->loaded + at * width;
        int64_t query = t->extent.query + at, place = t->table.by_key ? key_row(problem, query) : query;
        const void *vector = vector_at(problem, from->view, sequence, place, head);
        if (rotated) {
            memset(row + head_dim, 0, (size_t)(width - head_dim) * sizeof *row);
            load_elements(row, vector, problem->dtype, head_dim);
            rotate_row(row, &from->rotation, query, 1.0f);
        }
        for (int64_t channel = 0; channel < width; channel += LANES) {
            int64_t left = head_dim - channel;
            vfloat lanes = !rotated && problem->dtype != ROTARY_F32
                               ? load_half_columns((const uint16_t *)vector + channel, problem->dtype, left)
                               : load_columns((rotated ? row : (const float *)vector) + channel, left);
            if (from->bias)
                lanes += load_columns(from->bias + channel, head_dim - channel);
            v_store(row + channel, lanes * v_set(from->factor));
        }
    }
    memset(t->loaded + count * width, 0, (size_t)((t->rows - count) * width) * sizeof(float));
}

static inline const float *entry_at(const struct vector_tile *t, int64_t entry)
{
    const rotary_attention_distance_vectors *vectors = &t->table.vectors;
    return vectors->data + t->head * vectors->head_stride + entry * vectors->distance_stride;
}

/* Entries first ... first + count - 1 in rows of width floats: packed, where they lie, or a copy. */
struct entry_rows {
    const float *from;
    int64_t row;
};

static inline struct entry_rows load_entries(const struct vector_tile *t, int64_t first, int64_t count)
{
    const struct rotary_attention_columns *packed = t->table.columns;
    if (packed && packed->rows)
        return (struct entry_rows){
            packed->rows + t->head * packed->rows_head_stride + (first - packed->first) * t->width, t->width};
    if (t->head_dim == t->width)
        return (struct entry_rows){entry_at(t, first), t->table.vectors.distance_stride};
    for (int64_t at = 0; at < count; at++) {
        float *row = t->entry + at * t->width;
        memcpy(row, entry_at(t, first + at), (size_t)t->head_dim * sizeof *row);
        memset(row + t->head_dim, 0, (size_t)(t->width - t->head_dim) * sizeof *row);
    }
    return (struct entry_rows){t->entry, t->width};
}

/* The entry of a query's first key, as if the table had all distances. */
static inline int64_t entry_of_query(const struct vector_tile *t, int64_t query)
{
    return t->entries.low + t->extent.queries - 1 - query;
}

/* The entries whose distances some of queries row ... row + ROWS - 1 have; there may be none. */
static inline struct range entries_of_rows(const struct vector_tile *t, int64_t row)
{
    int64_t first = entry_of_query(t, row);
    return (struct range){max_i64(t->entries.begin, first - (ROWS - 1)),
                          min_i64(t->entries.end, first + t->extent.keys)};
}

/* Where the products of entry `begin` are in their rows. */
static inline int64_t first_product(const struct vector_tile *t)
{
    return max_i64(0, min_i64(t->entries.begin - t->entries.low, t->extent.queries + t->extent.keys - 2));
}

/* Multiplies each group of rows with the entries that it uses, COLUMNS at a time: the last time may take
 * some after them. Those of one group are nearly those of the next, which finds them in the cache. */
static inline void multiply_entries(const struct vector_tile *t)
{
    const struct rotary_attention_columns *packed = t->table.columns;
    const float *columns = t->columns;
    int64_t stride = t->product_row, first = t->entries.begin;
    if (packed) {
        columns = packed->data + t->head * packed->head_stride;
        stride = packed->row;
        first = packed->first;
    } else {
        rotary_attention_pack_columns(&t->table.vectors, t->head, t->entries, t->head_dim, t->columns,
                                      stride);
    }
    float *product = t->product + first_product(t);
    int64_t most = min_i64(t->entries.end - t->entries.begin, t->extent.keys + ROWS - 1);
    for (int64_t at = 0; at < most; at += COLUMNS)
        for (int64_t row = 0; row < t->rows; row += ROWS) {
            struct range used = entries_of_rows(t, row);
            /* An end of the table that is repeated is among them. */
            int64_t entry = min_i64(used.begin, t->entries.end - 1) + at;
            if (entry < max_i64(used.end, t->entries.begin + 1))
                multiply_tile(t->head_dim, t->query + row * t->width, t->width, 1, columns + entry - first,
                              stride, product + row * t->product_row + entry - t->entries.begin,
                              t->product_row, false);
        }
}

/* The pairs of bf16 of column `entry` of a head's table. */
static inline const uint32_t *pair_column(const struct vector_tile *t, int64_t entry)
{
    const struct rotary_attention_columns *packed = t->table.columns;
    return packed->channel_pairs + t->head * packed->head_stride + entry - packed->first;
}

/* Copies `count` rows of halves, which are padded to the tile's, to t->halves. */
static inline void copy_halves(const struct vector_tile *t, const uint16_t *from, int64_t row, int64_t count)
{
    memset(t->halves, 0, (size_t)(t->rows * t->width) * sizeof *t->halves);
    for (int64_t at = 0; at < count; at++)
        memcpy(t->halves + at * t->width, from + at * row, (size_t)t->head_dim * sizeof *from);
}

/* The queries' rows in bf16 as a left-hand side of products. */
static inline struct left_pairs half_rows(const struct vector_tile *t)
{
    if (t->half_query)
        return (struct left_pairs){t->half_query, t->half_row, 2};
    for (int64_t at = 0; at < t->rows * t->width; at += LANES)
        v_store_bf16(t->halves + at, v_load(t->query + at));
    return (struct left_pairs){t->halves, t->width, 2};
}

/* multiply_entries in bf16. */
static inline void multiply_entry_pairs(const struct vector_tile *t)
{
    float *product = t->product + first_product(t);
    const struct left_pairs rows = half_rows(t);
    for (int64_t row = 0; row < t->rows; row += ROWS) {
        struct range used = entries_of_rows(t, row);
        const struct left_pairs left = {rows.from + row * rows.row, rows.row, rows.step};
        int64_t entry = min_i64(used.begin, t->entries.end - 1),
                end = max_i64(used.end, t->entries.begin + 1);
        for (; entry < end; entry += PAIR_VECTORS * LANES) {
            const struct right_pairs right = {pair_column(t, entry), t->table.columns->row};
            multiply_pair_columns(t->width / 2, &left, &right, end - entry,
                                  product + row * t->product_row + entry - t->entries.begin, t->product_row);
        }
    }
}

/* The products of LANES queries, transposed to words [width, LANES], or [width / 2, LANES] of pairs, with the only
 * entry. */
static inline vfloat multiply_columns(const struct vector_tile *t, const float *words)
{
    vfloat sum = {0};
    const float *vector = entry_at(t, t->entries.begin);
    for (int64_t channel = 0; channel < t->head_dim && !has_pairs(t); channel++)
        sum = v_fma(v_load(words + channel * LANES), v_set(vector[channel]), sum);
    for (int64_t pair = 0; pair < t->width / 2 && has_pairs(t); pair++) {
        int32_t both = (int32_t) * (pair_column(t, t->entries.begin) + pair * t->table.columns->row);
        sum = v_add_pairs((vint)v_load(words + pair * LANES), both - (vint){0}, sum);
    }
    return sum;
}

/* Computes it with one entry, rounded alike: LANES queries at a time, which are transposed. That of query i
 * goes to to[i * stride]. */
static inline void multiply_one_entry(const struct vector_tile *t, float *to, int64_t stride)
{
    float *columns = t->columns, products[LANES];
    const float *rows = has_pairs(t) ? (const float *)(const void *)t->halves : t->query;
    int64_t words = has_pairs(t) ? t->width / 2 : t->width;
    if (has_pairs(t) && half_rows(t).from != t->halves)
        copy_halves(t, t->half_query, t->half_row, t->extent.queries);
    for (int64_t row = 0; row < t->extent.queries; row += LANES) {
        for (int64_t word = 0; word < words; word += LANES)
            transpose_square(columns + word * LANES, LANES, rows + row * words + word, words);
        v_store(products, multiply_columns(t, columns));
        for (int64_t at = row; at < min_i64(row + LANES, t->extent.queries); at++)
            to[at * stride] = products[at - row];
    }
}

/* Does so for one query, as in decoding. */
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

/* The columns that have products with other entries than the table's first in some row and its last in some
 * row, with those around them up to a multiple of ROTARY_ATTENTION_TERM_WIDE. */
static inline struct range near_columns(const struct vector_tile *t)
{
    int64_t keys = t->extent.keys, begin = t->entries.begin - t->entries.low,
            end = t->entries.end - t->entries.low;
    int64_t first = max_i64(0, min_i64(keys, begin - t->extent.queries + 2));
    int64_t last = round_up(max_i64(0, min_i64(keys, end - 1)), ROTARY_ATTENTION_TERM_WIDE);
    if (first < keys)
        first -= first % ROTARY_ATTENTION_TERM_WIDE;
    return (struct range){first, max_i64(first, last)};
}

/* Repeats the products with the ends of the table for the distances beyond them, in some columns. */
static inline void repeat_ends(const struct vector_tile *t, struct range columns)
{
    int64_t begin = first_product(t), end = begin + t->entries.end - t->entries.begin;
    for (int64_t row = 0; row < t->extent.queries; row++) {
        float *product = t->product + row * t->product_row;
        int64_t corner = t->extent.queries - 1 - row, first = corner + columns.begin,
                last = corner + min_i64(columns.end, t->extent.keys);
        if (first < begin)
            fill(product + first, product[begin], min_i64(begin, last) - first);
        if (last > end)
            fill(product + max_i64(end, first), product[end - 1], last - max_i64(end, first));
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

/* Fills the ends of a tile with these near columns. */
static inline void widen_ends(const struct vector_tile *t, struct range near)
{
    int64_t first = first_product(t), last = first + t->entries.end - t->entries.begin - 1;
    float *after = t->ends + t->rows * ROTARY_ATTENTION_TERM_WIDE;
    for (int64_t row = 0; row < t->extent.queries; row++) {
        const float *product = t->product + row * t->product_row;
        int64_t at = row * ROTARY_ATTENTION_TERM_WIDE;
        if (near.begin > 0)
            fill(t->ends + at, product[first], ROTARY_ATTENTION_TERM_WIDE);
        if (near.end < t->extent.keys)
            fill(after + at, product[last], ROTARY_ATTENTION_TERM_WIDE);
    }
}

/* The products of the queries' rows, which are loaded, with the vectors of the tile's distances, as the
 * kernel has its tile; with ends, if it takes them. */
static inline struct rotary_attention_term_tile vector_products(const struct vector_tile *t, bool transposed,
                                                                bool ends)
{
    struct range near = {0, t->extent.keys};
    bool one_entry = t->extent.queries > 1 && t->entries.end - t->entries.begin == 1;
    if (one_entry && transposed) {
        multiply_one_entry(t, t->square, 1); /* all rows are this one */
        return rotary_attention_whole_tile(t->square, 0);
    }
    if (ends)
        near = near_columns(t);
    if (t->extent.queries == 1) /* as in decoding alone: other tiles have padded rows */
        multiply_entries_by_one(t);
    else if (one_entry)
        multiply_one_entry(t, t->product + first_product(t), t->product_row);
    else if (has_pairs(t))
        multiply_entry_pairs(t);
    else
        multiply_entries(t);
    repeat_ends(t, near);
    struct rotary_attention_term_tile tile = {.from = t->product + t->extent.queries - 1,
                                              .row_stride = t->product_row - 1,
                                              .near_begin = near.begin,
                                              .near_end = near.end,
                                              .before = t->ends,
                                              .after = t->ends + t->rows * ROTARY_ATTENTION_TERM_WIDE};
    if (ends)
        widen_ends(t, near);
    if (!transposed)
        return tile;
    transpose_tile(t->square, t->extent.queries, tile.from, tile.row_stride, t->extent.queries,
                   t->extent.keys);
    return rotary_attention_whole_tile(t->square, t->extent.queries);
}

/* For queries first ... first + LANES - 1, whose numbers are side by side: the sums of those of keys begin +
 * i ... of query first + i, or, `below`, of the keys before begin + i. */
static inline vfloat sum_beyond(const struct vector_tile *t, const struct numbers *numbers, int64_t first,
                                int64_t begin, bool below)
{
    int64_t from = below ? 0 : max_i64(0, begin), keys = t->extent.keys;
    int64_t to = below ? min_i64(keys, begin + LANES - 1) : keys;
    vfloat sum = {0};
    for (int64_t key = from; key < to; key++) {
        vfloat row = v_load(numbers->from + first * numbers->query + key * numbers->key);
        if (key >= begin && key < begin + LANES) {
            vint before = v_lanes() > (int32_t)(key - begin);
            row = v_select(below ? before : ~before, row, (vfloat){0});
        }
        sum += row;
    }
    return sum;
}

/* Fills in t->below and t->above. */
static inline void sum_ends(const struct vector_tile *t, const struct numbers *numbers)
{
    int64_t keys = t->extent.keys;
    memset(t->below, 0, (size_t)(2 * round_up(t->rows, LANES)) * sizeof(float));
    for (int64_t row = 0; row < t->extent.queries && numbers->key != 1; row += LANES) {
        int64_t entry = entry_of_query(t, row);
        v_store(t->below + row, sum_beyond(t, numbers, row, t->entries.begin - entry, true));
        v_store(t->above + row, sum_beyond(t, numbers, row, t->entries.end - entry, false));
    }
    for (int64_t row = 0; row < t->extent.queries && numbers->key == 1; row++) {
        int64_t entry = entry_of_query(t, row), last = max_i64(0, min_i64(t->entries.end - entry, keys));
        t->below[row] = sum_of_keys(numbers, row, 0, min_i64(t->entries.begin - entry, keys));
        t->above[row] = sum_of_keys(numbers, row, last, keys - last);
    }
}

/* Whether some distances of the tile are before the table's first, or after its last. */
static inline bool is_below(const struct vector_tile *t)
{
    return t->entries.low < t->entries.begin;
}

static inline bool is_above(const struct vector_tile *t)
{
    return t->entries.low + t->extent.queries + t->extent.keys - 1 > t->entries.end;
}

/* The numbers of a tile as the kernel has it, whose rows and columns have margins of zeros. A table by key
 * has them in each other's place. */
static inline struct numbers numbers_of(const struct vector_tile *t, bool transposed, const float *from,
                                        int64_t row_stride)
{
    struct numbers numbers = {from, row_stride, 1, t->extent.queries, t->extent.keys, NULL};
    if (transposed != t->table.by_key)
        numbers = (struct numbers){from, 1, row_stride, t->extent.queries, t->extent.keys, NULL};
    if (is_below(t) || is_above(t))
        sum_ends(t, &numbers);
    return numbers;
}

/* Numbers in bf16, in rows. */
static inline struct numbers half_numbers_of(const struct vector_tile *t, const uint16_t *halves,
                                             int64_t row_stride)
{
    struct numbers numbers = {NULL, row_stride, 1, t->extent.queries, t->extent.keys, halves};
    if (is_below(t) || is_above(t))
        sum_ends(t, &numbers);
    return numbers;
}

/* Whether some distance of the tile is one of the table. */
static inline bool has_entries(const struct vector_tile *t)
{
    return t->entries.low < t->entries.end &&
           t->entries.low + t->extent.queries + t->extent.keys - 1 > t->entries.begin;
}

/* Does so for a tile without margins, which is copied unless the sums of its rows are enough. */
static inline struct numbers copied_numbers(const struct vector_tile *t, bool transposed, const float *from,
                                            int64_t row_stride)
{
    bool sums = !transposed && t->entries.low + t->extent.queries + t->extent.keys - 1 <= t->entries.begin;
    if (sums || has_pairs(t))
        return numbers_of(t, transposed, from, row_stride);
    int64_t rows = transposed ? t->extent.keys : t->extent.queries,
            columns = transposed ? t->extent.queries : t->extent.keys, to_row = columns + MARGIN;
    int64_t above = transposed ? MARGIN : 0, below = transposed ? MARGIN : t->rows - rows;
    float *to = t->square + MARGIN;
    memset(t->square, 0, (size_t)(MARGIN + above * to_row) * sizeof *to);
    to += above * to_row;
    for (int64_t row = 0; row < rows; row++) {
        memcpy(to + row * to_row, from + row * row_stride, (size_t)columns * sizeof *to);
        memset(to + row * to_row + columns, 0, MARGIN * sizeof *to);
    }
    memset(to + rows * to_row, 0, (size_t)(below * to_row) * sizeof *to);
    return numbers_of(t, transposed, to, to_row);
}

/* sums, a row for each query, += factors, one for each query, times a vector. */
static inline void add_outer(const struct vector_tile *t, const float *factors, int64_t entry, float *sums)
{
    struct entry_rows vector = load_entries(t, entry, 1);
    for (int64_t row = 0; row < t->rows; row += ROWS)
        for (int64_t channel = 0; channel < t->width; channel += COLUMNS)
            multiply_tile(1, factors + row, 1, 0, vector.from + channel, 0, sums + row * t->width + channel,
                          t->width, true);
}

/* add_to_queries in bf16, without what is beyond the table's ends. */
static inline void add_pairs_to_queries(const struct vector_tile *t, const struct numbers *numbers,
                                        float *sums)
{
    const struct rotary_attention_columns *packed = t->table.columns;
    const uint32_t *entries = packed->entry_pairs + t->head * packed->rows_head_stride;
    if (!has_entries(t))
        return;
    const struct paired_numbers pairs = pair_keys(numbers, t->rows, t->number_pairs);
    for (int64_t row = 0; row < t->rows; row += ROWS) {
        struct range used = entries_of_rows(t, row);
        int64_t first = (used.begin - packed->first) / 2, begin = packed->first + 2 * first;
        const struct left_pairs left = {pairs.from + row * pairs.query +
                                            (begin - entry_of_query(t, row)) * pairs.key,
                                        pairs.query + pairs.key, 2 * pairs.key};
        for (int64_t channel = 0; channel < t->width && used.begin < used.end; channel += COLUMNS) {
            const struct right_pairs right = {entries + first * t->width + channel, t->width};
            multiply_pairs(divide_up(used.end - begin, 2), &left, &right, sums + row * t->width + channel,
                           t->width, true, 2);
        }
    }
}

/* Adds the numbers times the entries within the table. */
static inline void add_near_to_queries(const struct vector_tile *t, const struct numbers *numbers,
                                       float *sums)
{
    bool copied = !t->table.columns && t->head_dim != t->width;
    int64_t chunk = copied ? ENTRIES : t->entries.end - t->entries.begin;
    for (int64_t first = t->entries.begin; first < t->entries.end; first += chunk) {
        int64_t last = min_i64(first + chunk, t->entries.end);
        struct entry_rows rows = load_entries(t, first, last - first);
        for (int64_t channel = 0; channel < t->width; channel += COLUMNS)
            for (int64_t row = 0; row < t->rows; row += ROWS) {
                struct range used = entries_of_rows(t, row);
                int64_t begin = max_i64(used.begin, first), end = min_i64(used.end, last);
                const float *from =
                    numbers->from + row * numbers->query + (begin - entry_of_query(t, row)) * numbers->key;
                if (begin < end)
                    multiply_tile(end - begin, from, numbers->query + numbers->key, numbers->key,
                                  rows.from + (begin - first) * rows.row + channel, rows.row,
                                  sums + row * t->width + channel, t->width, true);
            }
    }
}

/* sums, t->rows rows, += the numbers times the entries. */
static inline void add_to_queries(const struct vector_tile *t, const struct numbers *numbers, float *sums)
{
    if (has_pairs(t))
        add_pairs_to_queries(t, numbers, sums);
    else
        add_near_to_queries(t, numbers, sums);
    if (is_below(t))
        add_outer(t, t->below, t->entries.begin, sums);
    if (is_above(t))
        add_outer(t, t->above, t->entries.end - 1, sums);
}

/* Does so for one query, as in decoding: one row. */
static inline void add_to_one_query(const struct vector_tile *t, const float *weights, float *sums)
{
    int64_t begin = t->entries.begin, end = t->entries.end, entry = entry_of_query(t, 0),
            keys = t->extent.keys;
    int64_t last = max_i64(0, min_i64(end - entry, keys));
    for (int64_t at = begin; at < end; at++) {
        float factor = at >= entry && at < entry + keys ? weights[at - entry] : 0;
        if (at == begin)
            factor += sum_of(weights, min_i64(begin - entry, keys));
        if (at == end - 1)
            factor += sum_of(weights + last, keys - last);
        for (int64_t channel = 0; channel < t->head_dim; channel += LANES) {
            vfloat vector = load_columns(entry_at(t, at) + channel, t->head_dim - channel);
            v_store(sums + channel, v_fma(v_set(factor), vector, v_load(sums + channel)));
        }
    }
}

/* A row += the queries' rows, each times its factor. */
static inline void add_weighted(const struct vector_tile *t, const float *factors, float *sums)
{
    for (int64_t channel = 0; channel < t->width; channel += LANES) {
        vfloat sum = v_load(sums + channel);
        for (int64_t row = 0; row < t->extent.queries; row++)
            sum = v_fma(v_set(factors[row]), v_load(t->query + row * t->width + channel), sum);
        v_store(sums + channel, sum);
    }
}

/* The sums of the tile's entries += the pairs of numbers, transposed, times the queries' rows, as
 * add_to_entries. */
static inline void add_pairs_to_entries(const struct vector_tile *t, const struct numbers *numbers,
                                        float *sums)
{
    if (!has_entries(t))
        return;
    const struct paired_numbers pairs = pair_queries(numbers, t->rows, t->number_pairs);
    pair_rows(t->query_pairs, t->query, t->rows, t->width);
    for (int64_t entry = t->entries.begin; entry < t->entries.end; entry += ROWS) {
        int64_t first = entry_of_query(t, 0) - entry, pair = max_i64(0, first - (ROWS - 1)) / 2,
                end = divide_up(min_i64(t->extent.queries, first + t->extent.keys), 2);
        const struct left_pairs left = {pairs.from + pair * pairs.query + (2 * pair - first) * pairs.key,
                                        pairs.key, pairs.query + 2 * pairs.key};
        for (int64_t channel = 0; channel < t->width && pair < end; channel += COLUMNS) {
            const struct right_pairs right = {t->query_pairs + pair * t->width + channel, t->width};
            multiply_pairs(end - pair, &left, &right, sums + (entry - t->entries.begin) * t->width + channel,
                           t->width, true, 2);
        }
    }
}

/* The sums of a work item, [heads of the group], += the numbers, transposed, times the queries' rows, which
 * are loaded. Of a group of ROWS entries, those past the last one are past the table, and in padding, or past
 * the tile's keys, where numbers are zero. */
static inline void add_to_entries(const rotary_attention_problem *problem, const rotary_attention_work *work,
                                  const struct vector_tile *t, const struct numbers *numbers,
                                  float *item_sums)
{
    struct rotary_attention_entries all =
        rotary_attention_entries_of(&t->table, rotary_attention_extent_of(&t->table, work));
    int64_t member = t->head % (problem->heads / problem->key_value_heads);
    float *sums = item_sums + member * rotary_attention_vector_sums(all.end - all.begin, t->head_dim) +
                  (t->entries.begin - all.begin) * t->width;
    if (has_pairs(t))
        add_pairs_to_entries(t, numbers, sums);
    for (int64_t entry = t->entries.begin; entry < t->entries.end && !has_pairs(t); entry += ROWS) {
        int64_t first = entry_of_query(t, 0) - entry; /* the query whose first key has the entry */
        int64_t begin = max_i64(0, first - (ROWS - 1)),
                end = min_i64(t->extent.queries, first + t->extent.keys);
        const float *from = numbers->from + begin * numbers->query + (begin - first) * numbers->key;
        for (int64_t channel = 0; channel < t->width && begin < end; channel += COLUMNS)
            multiply_tile(end - begin, from, numbers->key, numbers->query + numbers->key,
                          t->query + begin * t->width + channel, t->width,
                          sums + (entry - t->entries.begin) * t->width + channel, t->width, true);
    }
    if (is_below(t))
        add_weighted(t, t->below, sums);
    if (is_above(t))
        add_weighted(t, t->above, sums + (t->entries.end - 1 - t->entries.begin) * t->width);
}

#endif
