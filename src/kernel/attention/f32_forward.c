/* SPDX-License-Identifier: Apache-2.0
 *
 * Forward attention in f32: blocks of queries against blocks of keys, with online softmax. Each row keeps its
 * max score so far, the sum of p = exp(score - max) and the sum of p times value; a block that raises the max
 * scales both sums down.
 *
 * The max only keeps exponentials from overflowing or vanishing. No score exceeds |q| |k| (Cauchy-Schwarz),
 * or that and the largest biases of the score terms. While that is at most SCORE_BOUND the row's scores are
 * bounded: its softmax offset is 0, its max is not searched and its sums are not scaled, and where all rows
 * of a tile are bounded, exp follows the tile's matmul at once. Whether a row is bounded depends on its query
 * and on a block's keys up to its last visible one, not on the rows beside it, and both ways sum in one
 * order.
 */
#include "base/arena.h"
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/block_pair.h"
#include "kernel/attention/sink.h"

#include <math.h>

struct state {
    int64_t width;      /* floats in a padded row */
    int64_t blocks;     /* of queries, for each head */
    float *query;       /* [heads of the group, blocks, QUERY_BLOCK, width]: rotated and scaled */
    float *output;      /* likewise: sum of p times rotated value */
    float *row_max;     /* [heads of the group, blocks, QUERY_BLOCK]: max score so far; 0 where bounded */
    float *norm;        /* likewise: |q|^2, or more with terms that grow with |k| (bound_row) */
    float *norm_limit;  /* likewise: of |q|^2 |k|^2 where scores are bounded */
    float *sum;         /* [heads of the group, blocks, QUERY_BLOCK, LANES]: of p, lane by lane */
    float *packed_keys; /* the block that is packed here if the caller gives none */
    float *score;       /* [QUERY_BLOCK, TILE_ROW], after a margin */
    bool *starts;       /* [heads of the group]: scores start with the score terms */
    float *term;        /* scratch of score terms */
};

/* A packed block: KEY_BLOCK keys as panels of their transpose, then as many values row by row, then for each
 * key the max |k|^2 of the block up to it. */
static int64_t packed_keys_floats(int64_t width)
{
    return KEY_BLOCK * (2 * width + 1);
}

static void carve(struct state *state, struct rotary_arena *arena, const rotary_attention_problem *problem,
                  int64_t queries)
{
    int64_t group = problem->heads / problem->key_value_heads;
    state->width = rotary_attention_row(problem->head_dim);
    state->blocks = divide_up(queries, QUERY_BLOCK);
    int64_t rows = group * state->blocks * QUERY_BLOCK;
    state->query = rotary_arena_push(arena, rows * state->width, sizeof(float));
    state->output = rotary_arena_push(arena, rows * state->width, sizeof(float));
    state->row_max = rotary_arena_push(arena, rows, sizeof(float));
    state->norm = rotary_arena_push(arena, rows, sizeof(float));
    state->sum = rotary_arena_push(arena, rows * LANES, sizeof(float));
    state->packed_keys = rotary_arena_push(arena, packed_keys_floats(state->width), sizeof(float));
    state->score = rotary_arena_push(arena, SCORE_MARGIN + QUERY_BLOCK * TILE_ROW, sizeof(float));
    if (state->score)
        state->score += SCORE_MARGIN;
    state->starts = rotary_arena_push(arena, group, sizeof *state->starts);
    state->norm_limit = rotary_arena_push(arena, rows, sizeof(float));
    state->term =
        rotary_arena_push(arena, start_scratch(QUERY_BLOCK, KEY_BLOCK, problem->head_dim), sizeof(float));
}

size_t ROTARY_KERNEL(rotary_attention_packed_keys_bytes)(const rotary_attention_problem *problem)
{
    return (size_t)packed_keys_floats(rotary_attention_row(problem->head_dim)) * sizeof(float);
}

/* For each key of the panels, the max |k|^2 up to it. */
static void pack_norms(float *norm, const float *panels, int64_t count, int64_t width)
{
    for (int64_t key = 0; key < count; key += LANES) {
        const float *panel = panels + key / COLUMNS * COLUMNS * width + key % COLUMNS;
        vfloat squares = {0};
        for (int64_t channel = 0; channel < width; channel++) {
            vfloat k = v_load(panel + channel * COLUMNS);
            squares = v_fma(k, k, squares);
        }
        v_store(norm + key, squares);
    }
    for (int64_t key = 1; key < count; key++)
        norm[key] = norm[key - 1] > norm[key] ? norm[key - 1] : norm[key];
}

void ROTARY_KERNEL(rotary_attention_pack_keys)(const rotary_attention_problem *problem,
                                               const rotary_attention_work *work, void *packed_keys)
{
    int64_t width = rotary_attention_row(problem->head_dim), count = work->key_end - work->key_begin;
    float *panels = packed_keys, *value = panels + KEY_BLOCK * width;
    /* Keys are staged in the values' place until they are transposed. */
    load_key_rows(value, problem, work, problem->key, &problem->key_rotation, work->key_begin, count);
    transpose_rows(panels, value, round_up(count, STEP), width);
    pack_norms(panels + 2 * KEY_BLOCK * width, panels, round_up(count, STEP), width);
    if (!problem->key_is_value)
        load_key_rows(value, problem, work, problem->value, &problem->value_rotation, work->key_begin, count);
}

size_t ROTARY_KERNEL(rotary_attention_forward_bytes)(const rotary_attention_problem *problem, int64_t queries)
{
    struct state state;
    struct rotary_arena arena = {0};
    carve(&state, &arena, problem, queries);
    return arena.used;
}

static void load_queries(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         struct state *state)
{
    int64_t group = problem->heads / problem->key_value_heads, width = state->width;
    for (int64_t member = 0; member < group; member++) {
        struct rotary_attention_term_bound left =
            bound_left(problem, work->key_value_head * group + member, SCORE_BOUND, 1.0f);
        state->starts[member] = scores_start(&left);
        for (int64_t at = 0; at < round_up(work->query_end - work->query_begin, ROWS); at++) {
            int64_t index = member * state->blocks * QUERY_BLOCK + at, query = work->query_begin + at;
            float *row = state->query + index * width;
            state->row_max[index] = -INFINITY;
            v_store(state->sum + index * LANES, (vfloat){0});
            memset(row, 0, (size_t)width * sizeof *row);
            memset(state->output + index * width, 0, (size_t)width * sizeof(float));
            if (query >= work->query_end)
                continue;
            fetch_ahead(problem, problem->query, work->sequence, query, work->query_end - 1,
                        work->key_value_head * group + member);
            load_elements(row,
                          vector_at(problem, problem->query, work->sequence, query,
                                    work->key_value_head * group + member),
                          problem->dtype, problem->head_dim);
            rotate_row(row, &problem->query_rotation, query, 1.0f);
            vfloat squares = {0};
            for (int64_t channel = 0; channel < width; channel += LANES) {
                vfloat scaled = v_load(row + channel) * v_set(problem->scale);
                squares = v_fma(scaled, scaled, squares);
                v_store(row + channel, scaled);
            }
            struct row_bound bound = bound_row(&left, v_sum(squares));
            state->norm[index] = bound.norm;
            state->norm_limit[index] = bound.limit;
        }
    }
}

/* Whether a row's scores are bounded: its offset is 0 or still unset, and |q| |k| is small. */
static bool is_bounded(const struct state *state, int64_t index, float key_norm)
{
    float row_max = state->row_max[index];
    return (row_max == 0 || row_max == -INFINITY) &&
           state->norm[index] * key_norm <= state->norm_limit[index];
}

/* Whether all rows of the group of ROWS from `at` on are bounded over the keys that are visible to the last
 * row, and each row sees some of the pair's first `count` keys. */
static bool are_bounded(const rotary_attention_problem *problem, const struct state *state,
                        const float *key_norm, const struct block_pair *pair, int64_t at, int64_t count)
{
    int64_t rows = min_i64(ROWS, pair->queries - at), query = pair->query + at, last = query + rows - 1;
    int64_t index = pair->row + at, end = min_i64(count, end_key(problem, last) - pair->key);
    bool bounded = end_key(problem, query) > pair->key && first_key(problem, last) < pair->key + count;
    for (int64_t row = index; row < index + rows && bounded; row++)
        bounded = is_bounded(state, row, key_norm[end - 1]);
    return bounded;
}

/* Replaces a tile of a pair's bounded scores, of a group from `column` on, by p. */
static void exp_tile(const rotary_attention_problem *problem, const struct state *state,
                     const struct block_pair *pair, const struct terms *terms, int64_t group, int64_t column)
{
    float *score = state->score + group * ROWS * TILE_ROW + column,
          *sum = state->sum + (pair->row + group * ROWS) * LANES;
    int64_t query = pair->query + group * ROWS, first = pair->key + column;
    if (terms->scores)
        add_term_tile(score, TILE_ROW, terms->scores + group * ROWS * terms->row + column, terms->row, ROWS,
                      COLUMNS, 1.0f);
    if (first_key(problem, query + ROWS - 1) > first || end_key(problem, query) < first + COLUMNS)
        for (int64_t row = 0; row < ROWS; row++)
            mask_outside(score + row * TILE_ROW, COLUMNS, first_key(problem, query + row) - first,
                         end_key(problem, query + row) - first, -INFINITY);
#pragma GCC unroll 8
    for (int64_t row = 0; row < ROWS; row++)
        v_store(sum + row * LANES, exp_row(score + row * TILE_ROW, COLUMNS, 0, v_load(sum + row * LANES)));
}

/* Replaces rows begin ... end - 1 of the pair's scores by p. All row maxima are computed first, so that exp
 * of a row does not wait for its max. */
static void exp_group(const rotary_attention_problem *problem, struct state *state,
                      const struct block_pair *pair, struct range visible, const float *key_norm,
                      const struct terms *terms, int64_t begin, int64_t end)
{
    int64_t from = visible.begin / COLUMNS * COLUMNS, columns = round_up(visible.end, COLUMNS) - from;
    float block_max[ROWS], *score = state->score + from;
    if (columns == 0)
        return;
    for (int64_t row = begin; row < end; row++) {
        int64_t query = pair->query + row;
        int64_t visible_begin = max_i64(first_key(problem, query) - pair->key, visible.begin);
        int64_t visible_end = min_i64(end_key(problem, query) - pair->key, visible.end);
        const float *bias = terms->scores ? terms->scores + row * terms->row + from : NULL;
        block_max[row - begin] = finish_scores(score + row * TILE_ROW, columns, visible_begin - from,
                                               visible_end - from, problem->softcap, bias);
        if (visible_begin < visible_end && is_bounded(state, pair->row + row, key_norm[visible_end - 1]))
            block_max[row - begin] = 0;
    }
    for (int64_t row = begin; row < end; row++) {
        int64_t index = pair->row + row;
        float *row_max = &state->row_max[index], *sum = state->sum + index * LANES;
        float factor = update_row_max(row_max, block_max[row - begin]);
        v_store(sum, exp_row(score + row * TILE_ROW, columns, softmax_offset_of(*row_max),
                             v_load(sum) * v_set(factor)));
        float *output = state->output + index * state->width;
        for (int64_t channel = 0; channel < state->width; channel += LANES)
            v_store(output + channel, v_load(output + channel) * v_set(factor));
    }
}

/* Adds the value term's vectors to the outputs of a pair, from its p. */
static void add_value_term(const rotary_attention_problem *problem, const rotary_attention_work *work,
                           const struct state *state, const struct block_pair *pair,
                           const struct range *visible, int64_t count)
{
    int64_t columns = round_up(count, COLUMNS);
    struct rotary_attention_tile tile =
        tile_of(problem, work, pair, false, round_up(pair->queries, ROWS), columns);
    tile.keys = count;
    tile.margins = true;
    for (int64_t row = 0; row < pair->queries; row++)
        mask_with_margin(state->score + row * TILE_ROW, columns, visible[row / ROWS].begin,
                         visible[row / ROWS].end);
    problem->value_term->add_output(problem, &tile, state->score, TILE_ROW,
                                    state->output + pair->row * state->width, state->term);
}

/* Adds a block of packed keys and values to the online softmax of a block of queries. */
static void attend_block(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         struct state *state, const float *packed_keys, const struct block_pair *pair)
{
    int64_t count = visible_keys(problem, pair), width = state->width;
    if (count == 0)
        return;
    const float *key_norm = packed_keys + 2 * KEY_BLOCK * width;
    struct range visible[QUERY_BLOCK / ROWS];
    bool bounded[QUERY_BLOCK / ROWS];
    int64_t groups = visible_ranges(problem, pair->query, pair->queries, pair->key, count, visible);
    struct terms terms = {0};
    struct starts starts = {0};
    struct rotary_attention_tile tile =
        tile_of(problem, work, pair, false, groups * ROWS, round_up(count, COLUMNS));
    tile.query_rows = state->query + pair->row * width;
    if (problem->score_terms[0] && state->starts[pair->member])
        starts = term_starts(problem, &tile, state->term);
    else if (problem->score_terms[0])
        terms = terms_of(problem, &tile, state->term);
    for (int64_t row = 0; row < pair->queries; row += ROWS) {
        int64_t index = pair->row + row, rows = min_i64(ROWS, pair->queries - row);
        bounded[row / ROWS] = are_bounded(problem, state, key_norm, pair, row, count);
        for (int64_t at = index; at < index + rows && bounded[row / ROWS]; at++)
            state->row_max[at] = 0;
    }
    for (int64_t column = 0; column < count; column += COLUMNS)
        for (int64_t group = 0; group < groups; group++) {
            if (!is_visible_tile(visible[group], column))
                continue;
            struct tile_start start = start_of(&starts, group * ROWS, column);
            multiply_group(&start, group, column, width, tile.query_rows, packed_keys, state->score);
            if (bounded[group])
                exp_tile(problem, state, pair, &terms, group, column);
        }
    for (int64_t row = 0; row < pair->queries; row += ROWS)
        if (!bounded[row / ROWS])
            exp_group(problem, state, pair, visible[row / ROWS], key_norm, &terms, row,
                      min_i64(row + ROWS, pair->queries));
    if (problem->weight_term)
        for (int64_t row = 0; row < pair->queries; row += WEIGHT_ROWS) {
            struct rotary_attention_tile weighted = weight_tile(problem, work, pair, visible, row);
            problem->weight_term->forward(problem, &weighted,
                                          state->score + row * TILE_ROW + weighted.key - pair->key, TILE_ROW);
        }
    if (problem->value_term)
        add_value_term(problem, work, state, pair, visible, count);
    accumulate_visible(groups, visible, width, state->score, packed_keys + KEY_BLOCK * width,
                       state->output + pair->row * width);
}

static void store_outputs(const rotary_attention_problem *problem, const rotary_attention_work *work,
                          struct state *state)
{
    int64_t group = problem->heads / problem->key_value_heads, width = state->width;
    for (int64_t member = 0; member < group; member++)
        for (int64_t query = work->query_begin; query < work->query_end; query++) {
            int64_t index = member * state->blocks * QUERY_BLOCK + query - work->query_begin;
            int64_t head = work->key_value_head * group + member;
            float *row = state->output + index * width, sum = v_sum(v_load(state->sum + index * LANES));
            fetch_ahead_to_write(problem, problem->output, work->sequence, query, work->query_end - 1, head);
            struct sink_row with_sink = {.keys = 1.0f};
            if (problem->sinks)
                with_sink = add_sink(problem->sinks[head], state->row_max[index], sum);
            vfloat inverse = v_set(sum == 0 ? 0.0f : with_sink.keys / sum); /* a sum that is NaN stays NaN */
            for (int64_t channel = 0; channel < width; channel += LANES)
                v_store(row + channel, v_load(row + channel) * inverse);
            clear_other_channels(problem, row);
            rotate_row(row, &problem->output_rotation, query, -1.0f);
            store_elements(mutable_vector_at(problem, problem->output, work->sequence, query, head), row,
                           problem->dtype, problem->head_dim);
            if (problem->log_sum_exp)
                problem->log_sum_exp[(work->sequence * problem->heads + head) * problem->queries + query] =
                    problem->sinks ? with_sink.log_sum_exp
                    : sum == 0     ? -INFINITY
                                   : state->row_max[index] + logf(sum);
        }
}

void ROTARY_KERNEL(rotary_attention_forward)(const rotary_attention_problem *problem,
                                             const rotary_attention_work *work, const void *packed_keys,
                                             struct rotary_arena *scratch)
{
    struct state state;
    carve(&state, scratch, problem, work->query_end - work->query_begin);
    load_queries(problem, work, &state);
    if (problem->value_term) /* its margins are read */
        memset(state.score - SCORE_MARGIN, 0, (SCORE_MARGIN + QUERY_BLOCK * TILE_ROW) * sizeof(float));
    rotary_attention_work keys = *work;
    int64_t begin = first_key(problem, work->query_begin), end = end_key(problem, work->query_end - 1);
    for (int64_t first = begin / KEY_BLOCK * KEY_BLOCK; first < end; first += KEY_BLOCK) {
        const float *block = state.packed_keys;
        keys.key_begin = first;
        keys.key_end = min_i64(first + KEY_BLOCK, end);
        if (packed_keys)
            block = (const float *)packed_keys + first / KEY_BLOCK * packed_keys_floats(state.width);
        else
            ROTARY_KERNEL(rotary_attention_pack_keys)(problem, &keys, state.packed_keys);
        struct block_pair pair = {.key = first, .keys = keys.key_end - first};
        while (next_query_block(problem, work, QUERY_BLOCK, state.blocks * QUERY_BLOCK, &pair))
            attend_block(problem, work, &state, block, &pair);
    }
    store_outputs(problem, work, &state);
}

void ROTARY_KERNEL(rotary_attention_rotate)(const rotary_attention_problem *problem,
                                            const struct rotary_attention_rotation *rotation, int64_t row,
                                            void *to, const void *from)
{
    float vector[ROTARY_ATTENTION_MAX_HEAD_DIM];
    load_elements(vector, from, problem->dtype, problem->head_dim);
    rotate_row(vector, rotation, row, 1.0f);
    store_elements(to, vector, problem->dtype, problem->head_dim);
}
