/* SPDX-License-Identifier: Apache-2.0
 *
 * The score term of queries by distance (rotary/attention.h), scale k_n . B(n - m). It is that of keys by
 * distance with queries and keys in each other's place, and so transposed. It goes through the keys in
 * slices, because a tile may have many more keys than queries.
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/vector_tile.h"

enum { SLICE = ROTARY_ATTENTION_VECTOR_ROWS };
_Static_assert(SLICE % LANES == 0 && SLICE % ROWS == 0, "slices are full tiles and vectors");

static bool is_present(const rotary_attention_problem *problem)
{
    return problem->distance_queries.data != NULL;
}

static struct rotary_attention_term_bound bound(const rotary_attention_problem *problem, int64_t head)
{
    float largest = largest_product(&problem->packed_queries, &problem->key_rotation, head);
    if (largest == INFINITY)
        return (struct rotary_attention_term_bound){.constant = INFINITY};
    return (struct rotary_attention_term_bound){.by_key = largest * problem->scale};
}

/* The slice of a tile from key `first` on, of `keys` keys. */
static struct vector_tile slice_of(const rotary_attention_problem *problem,
                                   const struct rotary_attention_tile *tile, int64_t first, int64_t keys,
                                   int64_t queries, float *scratch)
{
    struct rotary_attention_table table =
        table_of(problem, &problem->distance_queries, &problem->packed_queries, true);
    struct rotary_attention_extent extent = {tile->key + first, keys, tile->query, queries};
    return vector_tile_of(problem, &table, tile->head, extent, scratch);
}

/* Those that the tile has. */
static void load_keys(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                      struct vector_tile *slice)
{
    if (tile->key_rows) {
        slice->query = tile->key_rows + (slice->extent.query - tile->key) * slice->width;
        return;
    }
    const struct vector_rows rows = {.view = problem->key, .factor = problem->scale};
    int64_t left = tile->key + tile->keys - slice->extent.query;
    load_vector_rows(problem, tile->sequence, slice, max_i64(0, min_i64(slice->extent.queries, left)), &rows);
}

/* Does so for products alone: in bf16 where they lie, if their rows are full, without the scale, which the packed
 * table has. */
static void load_product_keys(const rotary_attention_problem *problem,
                              const struct rotary_attention_tile *tile, struct vector_tile *slice)
{
    if (!has_pairs(slice)) {
        load_keys(problem, tile, slice);
        return;
    }
    int64_t key = slice->extent.query, count = max_i64(0, min_i64(slice->rows, tile->key + tile->keys - key)),
            head = tile->head / (problem->heads / problem->key_value_heads);
    slice->half_query = vector_at(problem, problem->key, tile->sequence, key, head);
    slice->half_row = problem->key.time_stride;
    if (count == slice->rows && slice->head_dim == slice->width)
        return;
    copy_halves(slice, slice->half_query, slice->half_row, count);
    slice->half_query = slice->halves;
    slice->half_row = slice->width;
}

/* The scores of one query, as in decoding, key by key. */
static struct rotary_attention_term_tile scores_of_one(const rotary_attention_problem *problem,
                                                       const struct rotary_attention_tile *tile,
                                                       float *scratch)
{
    struct vector_tile slice = slice_of(problem, tile, 0, 1, 1, scratch + tile->columns);
    for (int64_t key = 0; key < tile->columns; key++) {
        scratch[key] = 0;
        if (key >= tile->keys)
            continue;
        slice.extent.query = tile->key + key;
        slice.entries = rotary_attention_entries_of(&slice.table, slice.extent);
        load_keys(problem, tile, &slice);
        multiply_entries_by_one(&slice);
        scratch[key] = slice.product[first_product(&slice)];
    }
    return rotary_attention_whole_tile(scratch, tile->columns);
}

static struct rotary_attention_term_tile scores(const rotary_attention_problem *problem,
                                                const struct rotary_attention_tile *tile, float *scratch)
{
    struct rotary_attention_extent padded = padded_extent(tile);
    if (tile->rows == 1)
        return scores_of_one(problem, tile, scratch);
    int64_t queries = round_up(padded.queries, LANES);
    float *all = scratch, *rest = scratch + queries * padded.keys;
    for (int64_t first = 0; first < padded.keys; first += SLICE) {
        int64_t keys = min_i64(SLICE, padded.keys - first);
        struct vector_tile slice = slice_of(problem, tile, first, keys, queries, rest);
        load_product_keys(problem, tile, &slice);
        struct rotary_attention_term_tile products = vector_products(&slice, false, false);
        if (tile->transposed)
            for (int64_t row = 0; row < keys; row++)
                memcpy(all + (first + row) * tile->columns, products.from + row * products.row_stride,
                       (size_t)tile->columns * sizeof *all);
        else
            transpose_tile(all + first, tile->columns, products.from, products.row_stride, keys, queries);
    }
    return rotary_attention_whole_tile(all, tile->columns);
}

static void add_gradient(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct rotary_attention_tile *tile,
                         const struct rotary_attention_term_gradient *gradient)
{
    int64_t keys = tile->transposed ? tile->rows : tile->columns;
    for (int64_t first = 0; first < keys; first += SLICE) {
        struct vector_tile slice =
            slice_of(problem, tile, first, min_i64(SLICE, keys - first), tile->queries, gradient->scratch);
        const float *from = gradient->from + first * (tile->transposed ? gradient->row_stride : 1);
        struct numbers ds = numbers_of(&slice, tile->transposed, from, gradient->row_stride);
        add_to_queries(&slice, &ds,
                       gradient->sums->unrotated_key + (tile->key + first - work->key_begin) * slice.width);
        if (!gradient->sums->distance_queries)
            continue;
        load_keys(problem, tile, &slice);
        add_to_entries(problem, work, &slice, &ds, gradient->sums->distance_queries);
    }
}

const struct rotary_attention_score_term ROTARY_KERNEL(rotary_attention_distance_queries_term) = {
    .is_present = is_present, .bound = bound, .scores = scores, .add_gradient = add_gradient};
