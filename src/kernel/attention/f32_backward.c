/* SPDX-License-Identifier: Apache-2.0
 *
 * Backward attention in f32: for each block of keys, each block of queries that sees some of them. Scores are
 * recomputed, and p follows from them and the saved log-sum-exp. The softmax's derivative needs sum_n p(m, n)
 * dp(m, n), which equals delta(m) = dout(m) . out(m) (Dao et al. 2022).
 */
#include "base/arena.h"
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/block_pair.h"

#include <math.h>

/* Floats of a tile of scores: QUERY_BLOCK rows of TILE_ROW, with a margin and ROWS rows before and after them
 * (attention_terms.h); and those before its first row. */
enum { TILE_BEFORE = SCORE_MARGIN + ROWS * TILE_ROW, TILE_FLOATS = 2 * TILE_BEFORE + QUERY_BLOCK * TILE_ROW };

struct state {
    int64_t width;          /* floats in a padded row */
    int64_t padded_queries; /* of one head, rounded up to ROTARY_ATTENTION_ROW_MULTIPLE */
    float *query;           /* [heads of the group, padded_queries, width]: rotated and scaled */
    float *d_output;        /* likewise: rotated gradient of the output */
    float *log_sum_exp;     /* [heads of the group, padded_queries] */
    float *delta;           /* likewise: dout . out */
    bool *starts;           /* [heads of the group]: scores start with the score terms */
    float *key;             /* [KEY_BLOCK, width] */
    float *value;           /* likewise */
    float *scaled_key;      /* likewise: keys times the scale, where a term reads them */
    float *key_panels;      /* their transposes */
    float *value_panels;
    float *term; /* scratch of score terms */
    /* Tiles of scores. */
    float *p;        /* scores, then p */
    float *dp;       /* dp, then ds, with softcap after its derivative */
    float *ds_score; /* ds before it: dp itself without softcap */
    float *w;        /* p after the weight term: p itself without one */
    float *d_softcap;
};

static float *push_tile(struct rotary_arena *arena)
{
    float *tile = rotary_arena_push(arena, TILE_FLOATS, sizeof(float));
    return tile ? tile + TILE_BEFORE : NULL;
}

/* The margins of a tile, whose columns do not all change with each pair. */
static void clear_margins(float *tile)
{
    memset(tile - TILE_BEFORE, 0, TILE_BEFORE * sizeof *tile);
    for (int64_t row = 0; row < QUERY_BLOCK; row++)
        memset(tile + row * TILE_ROW + KEY_BLOCK, 0, SCORE_MARGIN * sizeof *tile);
}

static void carve(struct state *state, struct rotary_arena *arena, const rotary_attention_problem *problem,
                  int64_t queries)
{
    state->width = rotary_attention_row(problem->head_dim);
    state->padded_queries = round_up(queries, ROTARY_ATTENTION_ROW_MULTIPLE);
    int64_t rows = problem->heads / problem->key_value_heads * state->padded_queries;
    int64_t block = KEY_BLOCK * state->width;
    state->query = rotary_arena_push(arena, rows * state->width, sizeof(float));
    state->d_output = rotary_arena_push(arena, rows * state->width, sizeof(float));
    state->log_sum_exp = rotary_arena_push(arena, rows, sizeof(float));
    state->delta = rotary_arena_push(arena, rows, sizeof(float));
    state->starts =
        rotary_arena_push(arena, problem->heads / problem->key_value_heads, sizeof *state->starts);
    state->key = rotary_arena_push(arena, block, sizeof(float));
    state->value = rotary_arena_push(arena, block, sizeof(float));
    state->scaled_key = rotary_arena_push(arena, block, sizeof(float));
    state->key_panels = rotary_arena_push(arena, block, sizeof(float));
    state->value_panels = rotary_arena_push(arena, block, sizeof(float));
    state->term =
        rotary_arena_push(arena, start_scratch(QUERY_BLOCK, KEY_BLOCK, problem->head_dim), sizeof(float));
    state->p = push_tile(arena);
    state->dp = push_tile(arena);
    state->ds_score = problem->softcap > 0 ? push_tile(arena) : state->dp;
    state->d_softcap = problem->softcap > 0 ? push_tile(arena) : NULL;
    state->w = push_tile(arena);
    if (!problem->weight_term)
        state->w = state->p;
}

size_t ROTARY_KERNEL(rotary_attention_backward_bytes)(const rotary_attention_problem *problem,
                                                      int64_t queries)
{
    struct state state;
    struct rotary_arena arena = {0};
    carve(&state, &arena, problem, queries);
    return arena.used;
}

static float dot(const float *a, const float *b, int64_t width)
{
    vfloat sum = {0};
    for (int64_t channel = 0; channel < width; channel += LANES)
        sum = v_fma(v_load(a + channel), v_load(b + channel), sum);
    return v_sum(sum);
}

static void load_query(const rotary_attention_problem *problem, const rotary_attention_work *work,
                       struct state *state, int64_t head, int64_t query, int64_t index)
{
    int64_t width = state->width, sequence = work->sequence, head_dim = problem->head_dim;
    float *row = state->query + index * width, *d_output = state->d_output + index * width;
    fetch_ahead(problem, problem->query, sequence, query, work->query_end - 1, head);
    fetch_ahead(problem, problem->saved_output, sequence, query, work->query_end - 1, head);
    fetch_ahead(problem, problem->output_gradient, sequence, query, work->query_end - 1, head);
    memset(row + head_dim, 0, (size_t)(width - head_dim) * sizeof *row);
    memset(d_output + head_dim, 0, (size_t)(width - head_dim) * sizeof *d_output);
    load_elements(row, vector_at(problem, problem->query, sequence, query, head), problem->dtype, head_dim);
    rotate_row(row, &problem->query_rotation, query, 1.0f);
    for (int64_t channel = 0; channel < width; channel += LANES)
        v_store(row + channel, v_load(row + channel) * v_set(problem->scale));

    float output[ROTARY_ATTENTION_MAX_HEAD_DIM];
    memset(output + head_dim, 0, (size_t)(width - head_dim) * sizeof *output);
    load_elements(output, vector_at(problem, problem->saved_output, sequence, query, head), problem->dtype,
                  head_dim);
    load_elements(d_output, vector_at(problem, problem->output_gradient, sequence, query, head),
                  problem->dtype, head_dim);
    state->delta[index] = dot(output, d_output, width);
    clear_other_channels(problem, d_output);
    rotate_row(d_output, &problem->output_rotation, query, 1.0f);

    float log_sum_exp =
        problem->saved_log_sum_exp[(sequence * problem->heads + head) * problem->queries + query];
    state->log_sum_exp[index] = log_sum_exp == -INFINITY ? 0.0f : log_sum_exp; /* fully masked */
}

static void load_queries(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         struct state *state)
{
    int64_t group = problem->heads / problem->key_value_heads, queries = work->query_end - work->query_begin;
    size_t padding = (size_t)((round_up(queries, ROWS) - queries) * state->width) * sizeof(float);
    for (int64_t member = 0; member < group; member++) {
        struct rotary_attention_term_bound left =
            bound_left(problem, work->key_value_head * group + member, SCORE_BOUND, 1.0f);
        state->starts[member] = scores_start(&left);
        int64_t first = member * state->padded_queries, end = (first + queries) * state->width;
        for (int64_t at = 0; at < queries; at++)
            load_query(problem, work, state, work->key_value_head * group + member, work->query_begin + at,
                       first + at);
        memset(state->query + end, 0, padding);
        memset(state->d_output + end, 0, padding);
    }
}

/* Whether a term reads keys without their rotation, which they have none of. */
static bool has_scaled_keys(const rotary_attention_problem *problem)
{
    return problem->distance_queries.data && !problem->key_rotation.cosine;
}

static void load_keys(const rotary_attention_problem *problem, const rotary_attention_work *work,
                      const struct state *state, int64_t first, int64_t count)
{
    load_key_rows(state->key, problem, work, problem->key, &problem->key_rotation, first, count);
    if (problem->key_is_value)
        memcpy(state->value, state->key, (size_t)(round_up(count, STEP) * state->width) * sizeof(float));
    else
        load_key_rows(state->value, problem, work, problem->value, &problem->value_rotation, first, count);
    if (has_scaled_keys(problem))
        for (int64_t at = 0; at < round_up(count, STEP) * state->width; at += LANES)
            v_store(state->scaled_key + at, v_load(state->key + at) * v_set(problem->scale));
    transpose_rows(state->key_panels, state->key, round_up(count, STEP), state->width);
    transpose_rows(state->value_panels, state->value, round_up(count, STEP), state->width);
}

/* p of scores; `bias`, the sum of the score terms from there on, may be NULL. */
static inline __attribute__((always_inline)) vfloat p_of(vfloat score, vfloat *d_softcap, float softcap,
                                                         float log_sum_exp, const float *bias)
{
    *d_softcap = v_set(1.0f);
    if (softcap > 0) {
        vfloat capped = v_tanh(score * v_set(1 / softcap));
        score = v_set(softcap) * capped;
        *d_softcap = v_fma(-capped, capped, *d_softcap);
    }
    if (bias)
        score = v_add_bias(score, v_load(bias), 1.0f);
    return v_exp2_to_126(v_set(LOG2_E) * (score - v_set(log_sum_exp)));
}

/* Replaces a row of scores by p and the row of dp by ds. `bias`, the sum of the score terms, may be NULL, and
 * so may `ds_score`, which gets ds without the derivative of the softcap; whether they are is constant where
 * this is inlined. */
static inline __attribute__((always_inline)) void derive(float *p, float *dp, int64_t columns, float softcap,
                                                         float log_sum_exp, float delta, const float *bias,
                                                         float *ds_score)
{
    for (int64_t column = 0; column < columns; column += LANES) {
        vfloat d_softcap,
            p_lanes = p_of(v_load(p + column), &d_softcap, softcap, log_sum_exp, bias ? bias + column : NULL);
        v_store(p + column, p_lanes);
        vfloat ds = p_lanes * (v_load(dp + column) - v_set(delta));
        if (ds_score)
            v_store(ds_score + column, ds);
        v_store(dp + column, ds * d_softcap);
    }
}

/* sums[columns][width] += left^T right. Each ROWS keys sum over the queries that see some of them. */
static void add_keys(const rotary_attention_problem *problem, const struct block_pair *pair, int64_t columns,
                     int64_t width, const float *left, const float *right, float *sums)
{
    for (int64_t channel = 0; channel < width; channel += COLUMNS)
        for (int64_t column = 0; column < columns; column += ROWS) {
            int64_t key = pair->key + column;
            struct range visible = visible_queries(problem, pair->query, pair->queries, key, key + ROWS - 1);
            if (visible.begin < visible.end)
                multiply_tile(visible.end - visible.begin, left + visible.begin * TILE_ROW + column, 1,
                              TILE_ROW, right + visible.begin * width + channel, width,
                              sums + column * width + channel, width, true);
        }
}

/* A row of a pair: columns from ... to - 1 are computed, begin ... end - 1 are visible. */
struct row {
    int64_t from, to, begin, end;
    float *p, *dp, *ds_score;
    float log_sum_exp, delta;
};

static inline struct row row_of(const rotary_attention_problem *problem, const struct state *state,
                                const struct block_pair *pair, const struct range *visible, int64_t count,
                                int64_t row)
{
    struct row made = {.from = visible[row / ROWS].begin / COLUMNS * COLUMNS,
                       .to = round_up(visible[row / ROWS].end, COLUMNS),
                       .p = state->p + row * TILE_ROW,
                       .dp = state->dp + row * TILE_ROW,
                       .ds_score = state->ds_score + row * TILE_ROW};
    if (row < pair->queries) {
        made.begin = max_i64(0, first_key(problem, pair->query + row) - pair->key);
        made.end = min_i64(count, end_key(problem, pair->query + row) - pair->key);
        made.log_sum_exp = state->log_sum_exp[pair->row + row];
        made.delta = state->delta[pair->row + row];
    } else {
        made.to = made.from;
    }
    return made;
}

/* Replaces scores by p and dp by ds. */
static void derive_rows(const rotary_attention_problem *problem, const struct state *state,
                        const struct block_pair *pair, const struct range *visible, const struct terms *terms,
                        int64_t count)
{
    int64_t rows = round_up(pair->queries, ROWS), columns = round_up(round_up(count, ROWS), LANES);
    float softcap = problem->softcap;
    for (int64_t at = 0; at < rows; at++) {
        struct row row = row_of(problem, state, pair, visible, count, at);
        float *p = row.p + row.from, *dp = row.dp + row.from;
        const float *bias = terms->scores ? terms->scores + at * terms->row + row.from : NULL;
        if (bias && softcap > 0)
            derive(p, dp, row.to - row.from, softcap, row.log_sum_exp, row.delta, bias,
                   row.ds_score + row.from);
        else if (bias)
            derive(p, dp, row.to - row.from, 0, row.log_sum_exp, row.delta, bias, NULL);
        else
            derive(p, dp, row.to - row.from, softcap, row.log_sum_exp, row.delta, NULL, NULL);
        mask_with_margin(row.p, columns, row.begin, row.end);
        mask_with_margin(row.dp, columns, row.begin, row.end);
        if (bias && softcap > 0)
            mask_with_margin(row.ds_score, columns, row.begin, row.end);
    }
}

/* Does so with a weight term, which needs p before ds is computed; w becomes the factors of the values. */
static void derive_weighted_rows(const rotary_attention_problem *problem, const rotary_attention_work *work,
                                 const struct state *state, const struct block_pair *pair,
                                 const struct range *visible, const struct terms *terms, int64_t count)
{
    int64_t rows = round_up(pair->queries, ROWS), columns = round_up(round_up(count, ROWS), LANES);
    bool softcap = problem->softcap > 0;
    for (int64_t at = 0; at < rows; at++) {
        struct row row = row_of(problem, state, pair, visible, count, at);
        const float *bias = terms->scores ? terms->scores + at * terms->row : NULL;
        for (int64_t column = row.from; column < row.to; column += LANES) {
            vfloat d_softcap, p = p_of(v_load(row.p + column), &d_softcap, problem->softcap, row.log_sum_exp,
                                       bias ? bias + column : NULL);
            v_store(row.p + column, p);
            if (softcap)
                v_store(state->d_softcap + at * TILE_ROW + column, d_softcap);
        }
        mask_outside(row.p, columns, row.begin, row.end, 0);
        memcpy(state->w + at * TILE_ROW, row.p, (size_t)columns * sizeof(float));
    }
    for (int64_t at = 0; at < pair->queries; at += WEIGHT_ROWS) {
        struct rotary_attention_tile tile = weight_tile(problem, work, pair, visible, at);
        int64_t corner = at * TILE_ROW + tile.key - pair->key;
        problem->weight_term->backward(problem, &tile, state->p + corner, state->w + corner,
                                       state->dp + corner, TILE_ROW);
    }
    for (int64_t at = 0; at < rows; at++) {
        struct row row = row_of(problem, state, pair, visible, count, at);
        for (int64_t column = row.from; column < row.to; column += LANES) {
            vfloat ds = v_load(row.p + column) * (v_load(row.dp + column) - v_set(row.delta));
            v_store(row.ds_score + column, ds);
            if (softcap)
                v_store(row.dp + column, ds * v_load(state->d_softcap + at * TILE_ROW + column));
        }
        mask_with_margin(row.ds_score, columns, row.begin, row.end);
        mask_with_margin(row.dp, columns, row.begin, row.end);
        mask_with_margin(state->w + at * TILE_ROW, columns, row.begin, row.end);
    }
}

/* c[groups of ROWS][TILE_ROW] = the starts + a b, where b is in panels, over visible columns. */
static void multiply_visible(const struct starts *starts, int64_t groups, const struct range *visible,
                             int64_t columns, int64_t depth, const float *a, const float *b, float *c)
{
    for (int64_t column = 0; column < columns; column += COLUMNS)
        for (int64_t group = 0; group < groups; group++) {
            if (!is_visible_tile(visible[group], column))
                continue;
            struct tile_start start = start_of(starts, group * ROWS, column);
            multiply_group(&start, group, column, depth, a, b, c);
        }
}

/* Computes dp and the scores of a pair, which start with the terms or are without them. */
static struct terms multiply_pair(const rotary_attention_problem *problem, const struct state *state,
                                  const struct block_pair *pair, struct rotary_attention_tile tile,
                                  const struct range *visible, int64_t count)
{
    int64_t width = state->width, groups = tile.rows / ROWS;
    struct starts of_dp = {0}, of_scores = {0};
    struct terms terms = {0};
    if (problem->value_term) {
        tile.ends = true;
        of_dp = (struct starts){1, {problem->value_term->products(problem, &tile, state->term)}};
        tile.ends = false;
    }
    multiply_visible(&of_dp, groups, visible, count, width, tile.gradient_rows, state->value_panels,
                     state->dp);
    if (problem->score_terms[0] && state->starts[pair->member])
        of_scores = term_starts(problem, &tile, state->term);
    else if (problem->score_terms[0])
        terms = terms_of(problem, &tile, state->term);
    multiply_visible(&of_scores, groups, visible, count, width, tile.query_rows, state->key_panels, state->p);
    return terms;
}

/* Adds the gradients of the terms for a pair's queries and keys. */
static void add_gradients(const rotary_attention_problem *problem, const rotary_attention_work *work,
                          const struct state *state, const rotary_attention_sums *sums,
                          const struct rotary_attention_tile *tile)
{
    struct rotary_attention_term_gradient gradient = {state->w, TILE_ROW, sums, state->term};
    if (sums->distance_values)
        problem->value_term->add_gradient(problem, work, tile, &gradient);
    if (!sums->score_terms)
        return;
    gradient.from = state->ds_score;
    if (problem->distance_queries.data) /* rows after the last */
        memset(state->ds_score + round_up(tile->queries, ROWS) * TILE_ROW - SCORE_MARGIN, 0,
               ROWS * TILE_ROW * sizeof(float));
    add_term_gradients(problem, work, tile, &gradient);
}

/* Adds the terms of a block of queries and a block of keys, which is in `state`. */
static void attend_block(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct state *state, const rotary_attention_sums *sums,
                         const struct block_pair *pair)
{
    int64_t count = visible_keys(problem, pair), width = state->width, columns = round_up(count, ROWS);
    if (count == 0)
        return;
    struct range visible[QUERY_BLOCK / ROWS];
    int64_t groups = visible_ranges(problem, pair->query, pair->queries, pair->key, count, visible);
    struct rotary_attention_tile padded =
        tile_of(problem, work, pair, false, groups * ROWS, round_up(count, COLUMNS));
    padded.query_rows = state->query + pair->row * width;
    padded.gradient_rows = state->d_output + pair->row * width;
    padded.key_rows = has_scaled_keys(problem) ? state->scaled_key : NULL;
    padded.margins = true;
    struct terms terms = multiply_pair(problem, state, pair, padded, visible, count);
    if (problem->weight_term)
        derive_weighted_rows(problem, work, state, pair, visible, &terms, count);
    else
        derive_rows(problem, state, pair, visible, &terms, count);
    struct rotary_attention_tile tile = padded;
    tile.rows = pair->queries;
    tile.columns = count;
    add_gradients(problem, work, state, sums, &tile);
    int64_t offset = (pair->key - work->key_begin) * width;
    add_keys(problem, pair, columns, width, state->w, padded.gradient_rows, sums->value + offset);
    add_keys(problem, pair, columns, width, state->dp, padded.query_rows, sums->key + offset);
    accumulate_visible(groups, visible, width, state->dp, state->key, sums->query + pair->row * width);
}

void ROTARY_KERNEL(rotary_attention_backward)(const rotary_attention_problem *problem,
                                              const rotary_attention_work *work,
                                              const rotary_attention_sums *sums, struct rotary_arena *scratch)
{
    struct range keys = backward_keys(problem, work, KEY_BLOCK);
    if (keys.begin >= keys.end)
        return;
    struct state state;
    carve(&state, scratch, problem, work->query_end - work->query_begin);
    load_queries(problem, work, &state);
    if (problem->score_terms[0] || problem->value_term) {
        clear_margins(state.w);
        clear_margins(state.ds_score);
    }
    for (int64_t first = keys.begin; first < keys.end; first += KEY_BLOCK) {
        struct block_pair pair = {.key = first, .keys = min_i64(KEY_BLOCK, keys.end - first)};
        load_keys(problem, work, &state, first, pair.keys);
        while (next_query_block(problem, work, QUERY_BLOCK, state.padded_queries, &pair))
            attend_block(problem, work, &state, sums, &pair);
    }
}

void ROTARY_KERNEL(rotary_attention_finish_queries)(const rotary_attention_problem *problem,
                                                    const rotary_attention_work *work,
                                                    const rotary_attention_sums *sums)
{
    int64_t group = problem->heads / problem->key_value_heads,
            width = rotary_attention_row(problem->head_dim);
    int64_t padded_queries = round_up(work->query_end - work->query_begin, ROTARY_ATTENTION_ROW_MULTIPLE);
    for (int64_t member = 0; member < group; member++)
        for (int64_t query = work->query_begin; query < work->query_end; query++) {
            float *row = sums->query + (member * padded_queries + query - work->query_begin) * width;
            fetch_ahead_to_write(problem, problem->query_gradient, work->sequence, query, work->query_end - 1,
                                 work->key_value_head * group + member);
            for (int64_t channel = 0; channel < width; channel += LANES)
                v_store(row + channel, v_load(row + channel) * v_set(problem->scale));
            rotate_row(row, &problem->query_rotation, query, -1.0f);
            if (sums->unrotated_query)
                add_scaled_row(row, sums->unrotated_query + (row - sums->query), problem->scale, width);
            store_elements(mutable_vector_at(problem, problem->query_gradient, work->sequence, query,
                                             work->key_value_head * group + member),
                           row, problem->dtype, problem->head_dim);
        }
}

void ROTARY_KERNEL(rotary_attention_finish_keys)(const rotary_attention_problem *problem,
                                                 const rotary_attention_work *work,
                                                 const rotary_attention_sums *sums)
{
    int64_t width = rotary_attention_row(problem->head_dim);
    for (int64_t key = work->key_begin; key < work->key_end; key++) {
        float *key_row = sums->key + (key - work->key_begin) * width;
        float *value_row = sums->value + (key - work->key_begin) * width;
        fetch_ahead_to_write(problem, problem->key_gradient, work->sequence, key, work->key_end - 1,
                             work->key_value_head);
        fetch_ahead_to_write(problem, problem->value_gradient, work->sequence, key, work->key_end - 1,
                             work->key_value_head);
        if (problem->key_is_value)
            add_scaled_row(key_row, value_row, 1.0f, width);
        rotate_row(key_row, &problem->key_rotation, key, -1.0f);
        if (sums->unrotated_key)
            add_scaled_row(key_row, sums->unrotated_key + (key_row - sums->key), problem->scale, width);
        store_elements(
            mutable_vector_at(problem, problem->key_gradient, work->sequence, key, work->key_value_head),
            key_row, problem->dtype, problem->head_dim);
        if (problem->key_is_value)
            continue;
        rotate_row(value_row, &problem->value_rotation, key, -1.0f);
        store_elements(
            mutable_vector_at(problem, problem->value_gradient, work->sequence, key, work->key_value_head),
            value_row, problem->dtype, problem->head_dim);
    }
}
