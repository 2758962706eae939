/* SPDX-License-Identifier: Apache-2.0
 *
 * The value term of values by distance (rotary/attention.h): V(n - m) is added to U_n v_n.
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/vector_tile.h"

static bool is_present(const rotary_attention_problem *problem)
{
    return problem->distance_values.data != NULL;
}

static struct vector_tile tile_of_values(const rotary_attention_problem *problem, int64_t head,
                                         struct rotary_attention_extent extent, float *scratch)
{
    struct rotary_attention_table table =
        table_of(problem, &problem->distance_values, &problem->packed_values, false);
    return vector_tile_of(problem, &table, head, extent, scratch);
}

static void add_output(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                       const float *weights, int64_t row_stride, float *output, float *scratch)
{
    struct rotary_attention_extent extent = {tile->query, tile->queries, tile->key, tile->keys};
    struct vector_tile vector_tile = tile_of_values(problem, tile->head, extent, scratch);
    if (tile->rows == 1) {
        add_to_one_query(&vector_tile, weights, output);
        return;
    }
    struct numbers numbers = tile->half_weights
                                 ? half_numbers_of(&vector_tile, tile->half_weights, tile->half_row)
                             : tile->margins ? numbers_of(&vector_tile, false, weights, row_stride)
                                             : copied_numbers(&vector_tile, false, weights, row_stride);
    add_to_queries(&vector_tile, &numbers, output);
}

static void load_gradients(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                           struct vector_tile *vector_tile)
{
    if (tile->gradient_rows) {
        vector_tile->query = tile->gradient_rows;
        return;
    }
    const struct vector_rows rows = {
        .view = problem->output_gradient, .rotation = problem->output_rotation, .factor = 1.0f};
    load_vector_rows(problem, tile->sequence, vector_tile, tile->queries, &rows);
}

static struct rotary_attention_term_tile products(const rotary_attention_problem *problem,
                                                  const struct rotary_attention_tile *tile, float *scratch)
{
    struct vector_tile vector_tile = tile_of_values(problem, tile->head, padded_extent(tile), scratch);
    load_gradients(problem, tile, &vector_tile);
    return vector_products(&vector_tile, tile->transposed, tile->ends);
}

static void add_gradient(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct rotary_attention_tile *tile,
                         const struct rotary_attention_term_gradient *gradient)
{
    struct vector_tile vector_tile =
        tile_of_values(problem, tile->head, exact_extent(tile), gradient->scratch);
    struct numbers w =
        tile->margins ? numbers_of(&vector_tile, tile->transposed, gradient->from, gradient->row_stride)
                      : copied_numbers(&vector_tile, tile->transposed, gradient->from, gradient->row_stride);
    load_gradients(problem, tile, &vector_tile);
    add_to_entries(problem, work, &vector_tile, &w, gradient->sums->distance_values);
}

const struct rotary_attention_value_term ROTARY_KERNEL(rotary_attention_distance_values_term) = {
    .is_present = is_present, .add_output = add_output, .products = products, .add_gradient = add_gradient};
