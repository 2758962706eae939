/* SPDX-License-Identifier: Apache-2.0
 *
 * The score term of a bias by distance (rotary/attention.h). Scores of a tile depend on column - row alone,
 * so a tile is a part of the table whose rows are one entry apart: each row starts one entry before the row
 * above it. Where the tile reaches past an end of the table, that part is copied, with its end repeated.
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/tile.h"

static bool is_present(const rotary_attention_problem *problem)
{
    return problem->distance_bias.data != NULL;
}

static const float *table_of(const rotary_attention_problem *problem, int64_t head)
{
    return problem->distance_bias.data + head * problem->distance_bias.head_stride;
}

static float bound(const rotary_attention_problem *problem, int64_t head)
{
    const float *table = table_of(problem, head);
    int64_t distances = problem->distance_bias.distances;
    vfloat max = {0};
    for (int64_t entry = 0; entry < distances; entry += LANES) {
        vfloat bias = load_columns(table + entry, distances - entry);
        max = v_max(v_max(bias, -bias), max);
    }
    return v_max_lane(max);
}

static const float *scores(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                           float *scratch, int64_t *row_stride)
{
    const float *table = table_of(problem, tile->head);
    int64_t last = problem->distance_bias.distances - 1, count = tile->rows + tile->columns - 1;
    int64_t corner = tile->key - tile->query - problem->query_offset - problem->distance_bias.first;
    *row_stride = -1;
    if (!tile->transposed && corner >= tile->rows - 1 && corner + tile->columns - 1 <= last)
        return table + corner;
    int64_t step = tile->transposed ? -1 : 1, entry = corner - step * (tile->rows - 1);
    for (int64_t at = 0; at < count; at++, entry += step)
        scratch[at] = table[entry < 0 ? 0 : entry > last ? last : entry];
    return scratch + tile->rows - 1;
}

const struct rotary_attention_score_term ROTARY_KERNEL(rotary_attention_distance_bias_term) = {
    .is_present = is_present, .bound = bound, .scores = scores};
