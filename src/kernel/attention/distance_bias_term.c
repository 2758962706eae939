/* SPDX-License-Identifier: Apache-2.0
 *
 * The score term of a bias by distance (rotary/attention.h). Scores of a tile depend on column - row alone,
 * so a tile is a part of the table whose rows are one entry apart: each row starts one entry before the row
 * above it. Where the tile reaches past an end of the table, that part is copied, with its end repeated.
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/diagonal_sums.h"

static bool is_present(const rotary_attention_problem *problem)
{
    return problem->distance_bias.data != NULL;
}

static const float *table_of(const rotary_attention_problem *problem, int64_t head)
{
    return problem->distance_bias.data + head * problem->distance_bias.head_stride;
}

static struct rotary_attention_term_bound bound(const rotary_attention_problem *problem, int64_t head)
{
    const float *table = table_of(problem, head);
    int64_t distances = problem->distance_bias.distances;
    vfloat max = {0};
    for (int64_t entry = 0; entry < distances; entry += LANES) {
        vfloat bias = load_columns(table + entry, distances - entry);
        max = v_max(v_max(bias, -bias), max);
    }
    return (struct rotary_attention_term_bound){.constant = v_max_lane(max)};
}

static struct rotary_attention_term_tile scores(const rotary_attention_problem *problem,
                                                const struct rotary_attention_tile *tile, float *scratch)
{
    const float *table = table_of(problem, tile->head);
    int64_t last = problem->distance_bias.distances - 1, count = tile->rows + tile->columns - 1;
    int64_t corner = tile->key - tile->query - problem->query_offset - problem->distance_bias.first;
    if (!tile->transposed && corner >= tile->rows - 1 && corner + tile->columns - 1 <= last)
        return rotary_attention_whole_tile(table + corner, -1);
    int64_t step = tile->transposed ? -1 : 1, entry = corner - step * (tile->rows - 1);
    for (int64_t at = 0; at < count; at++, entry += step)
        scratch[at] = table[entry < 0 ? 0 : entry > last ? last : entry];
    return rotary_attention_whole_tile(scratch + tile->rows - 1, -1);
}

static void add_gradient(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct rotary_attention_tile *tile,
                         const struct rotary_attention_term_gradient *gradient)
{
    if (!gradient->sums->distance_bias)
        return;
    int64_t queries = work->query_end - work->query_begin, keys = work->key_end - work->key_begin;
    int64_t query = tile->query - work->query_begin, key = tile->key - work->key_begin;
    int64_t member = tile->head % (problem->heads / problem->key_value_heads);
    float *corner = gradient->sums->distance_bias + member * rotary_attention_distance_sums(queries, keys) +
                    (tile->transposed ? query - key + keys - 1 : key - query + queries - 1);
    add_diagonals(corner, gradient->from, gradient->row_stride, tile->rows, tile->columns);
}

const struct rotary_attention_score_term ROTARY_KERNEL(rotary_attention_distance_bias_term) = {
    .is_present = is_present, .bound = bound, .scores = scores, .add_gradient = add_gradient};
