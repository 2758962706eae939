/* SPDX-License-Identifier: Apache-2.0
 *
 * The score term of keys by distance (rotary/attention.h), scale (q_m + b) . A(n - m).
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/vector_tile.h"

static bool is_present(const rotary_attention_problem *problem)
{
    return problem->distance_keys.data != NULL;
}

static struct rotary_attention_term_bound bound(const rotary_attention_problem *problem, int64_t head)
{
    float largest = largest_product(&problem->packed_keys, &problem->query_rotation, head), squares = 0;
    for (int64_t channel = 0; problem->query_bias && channel < problem->head_dim; channel++) {
        float bias = problem->query_bias[head * problem->head_dim + channel] * problem->scale;
        squares += bias * bias;
    }
    if (largest == INFINITY)
        return (struct rotary_attention_term_bound){.constant = INFINITY};
    return (struct rotary_attention_term_bound){.constant = largest * sqrtf(squares), .by_query = largest};
}

static struct vector_tile tile_of_keys(const rotary_attention_problem *problem, int64_t head,
                                       struct rotary_attention_extent extent, float *scratch)
{
    struct rotary_attention_table table =
        table_of(problem, &problem->distance_keys, &problem->packed_keys, false);
    return vector_tile_of(problem, &table, head, extent, scratch);
}

static void load_queries(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                         struct vector_tile *vector_tile)
{
    const float *bias = problem->query_bias;
    if (tile->query_rows && !bias && !problem->query_rotation.cosine) {
        vector_tile->query = tile->query_rows;
        return;
    }
    const struct vector_rows rows = {.view = problem->query,
                                     .bias = bias ? bias + tile->head * problem->head_dim : NULL,
                                     .factor = problem->scale};
    load_vector_rows(problem, tile->sequence, vector_tile, tile->queries, &rows);
}

static struct rotary_attention_term_tile scores(const rotary_attention_problem *problem,
                                                const struct rotary_attention_tile *tile, float *scratch)
{
    struct vector_tile vector_tile = tile_of_keys(problem, tile->head, padded_extent(tile), scratch);
    load_queries(problem, tile, &vector_tile);
    return vector_products(&vector_tile, tile->transposed, tile->ends);
}

static void add_gradient(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct rotary_attention_tile *tile,
                         const struct rotary_attention_term_gradient *gradient)
{
    struct vector_tile vector_tile = tile_of_keys(problem, tile->head, exact_extent(tile), gradient->scratch);
    struct numbers ds = numbers_of(&vector_tile, tile->transposed, gradient->from, gradient->row_stride);
    int64_t head_rows = round_up(work->query_end - work->query_begin, ROTARY_ATTENTION_ROW_MULTIPLE);
    int64_t row = tile->head % (problem->heads / problem->key_value_heads) * head_rows + tile->query -
                  work->query_begin;
    add_to_queries(&vector_tile, &ds, gradient->sums->unrotated_query + row * vector_tile.width);
    if (!gradient->sums->distance_keys)
        return;
    load_queries(problem, tile, &vector_tile);
    add_to_entries(problem, work, &vector_tile, &ds, gradient->sums->distance_keys);
}

const struct rotary_attention_score_term ROTARY_KERNEL(rotary_attention_distance_keys_term) = {
    .is_present = is_present, .bound = bound, .scores = scores, .add_gradient = add_gradient};
