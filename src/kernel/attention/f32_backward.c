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

enum { MARGIN = ROTARY_ATTENTION_TERM_MARGIN, DS_ROW = KEY_BLOCK + MARGIN };

struct state {
    int64_t width;          /* floats in a padded row */
    int64_t padded_queries; /* of one head, rounded up to ROTARY_ATTENTION_ROW_MULTIPLE */
    float *query;           /* [heads of the group, padded_queries, width]: rotated and scaled */
    float *d_output;        /* likewise: rotated gradient of the output */
    float *log_sum_exp;     /* [heads of the group, padded_queries] */
    float *delta;           /* likewise: dout . out */
    float *key;             /* [KEY_BLOCK, width] */
    float *value;           /* likewise */
    float *key_panels;      /* their transposes */
    float *value_panels;
    float *p;    /* [QUERY_BLOCK, KEY_BLOCK]: scores, then p */
    float *dp;   /* likewise: dp, then ds */
    float *term; /* scratch of score terms */
    float *ds;   /* [QUERY_BLOCK, DS_ROW]: gradients of scores after softcap, with ROWS rows of zeros and a
                    margin   before them and after them */
    float *w;    /* [QUERY_BLOCK, KEY_BLOCK]: p after the weight term */
    float *d_softcap; /* likewise */
};

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
    state->key = rotary_arena_push(arena, block, sizeof(float));
    state->value = rotary_arena_push(arena, block, sizeof(float));
    state->key_panels = rotary_arena_push(arena, block, sizeof(float));
    state->value_panels = rotary_arena_push(arena, block, sizeof(float));
    state->p = rotary_arena_push(arena, QUERY_BLOCK * KEY_BLOCK, sizeof(float));
    state->dp = rotary_arena_push(arena, QUERY_BLOCK * KEY_BLOCK, sizeof(float));
    state->term =
        rotary_arena_push(arena, term_scratch(QUERY_BLOCK, KEY_BLOCK, problem->head_dim), sizeof(float));
    state->ds = rotary_arena_push(arena, 2 * MARGIN + (2 * ROWS + QUERY_BLOCK) * DS_ROW, sizeof(float));
    state->w = rotary_arena_push(arena, QUERY_BLOCK * KEY_BLOCK, sizeof(float));
    state->d_softcap = rotary_arena_push(arena, QUERY_BLOCK * KEY_BLOCK, sizeof(float));
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
    load_row(row, vector_at(problem, problem->query, sequence, query, head), problem->bf16, head_dim);
    rotate_row(row, &problem->query_rotation, query, 1.0f);
    for (int64_t channel = 0; channel < width; channel += LANES)
        v_store(row + channel, v_load(row + channel) * v_set(problem->scale));

    float output[ROTARY_ATTENTION_MAX_HEAD_DIM];
    memset(output + head_dim, 0, (size_t)(width - head_dim) * sizeof *output);
    load_row(output, vector_at(problem, problem->saved_output, sequence, query, head), problem->bf16,
             head_dim);
    load_row(d_output, vector_at(problem, problem->output_gradient, sequence, query, head), problem->bf16,
             head_dim);
    state->delta[index] = dot(output, d_output, width);
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
        int64_t first = member * state->padded_queries, end = (first + queries) * state->width;
        for (int64_t at = 0; at < queries; at++)
            load_query(problem, work, state, work->key_value_head * group + member, work->query_begin + at,
                       first + at);
        memset(state->query + end, 0, padding);
        memset(state->d_output + end, 0, padding);
    }
}

static void load_keys(const rotary_attention_problem *problem, const rotary_attention_work *work,
                      const struct state *state, int64_t first, int64_t count)
{
    load_key_rows(state->key, problem, work, problem->key, &problem->key_rotation, first, count);
    load_key_rows(state->value, problem, work, problem->value, &problem->value_rotation, first, count);
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
                multiply_tile(visible.end - visible.begin, left + visible.begin * KEY_BLOCK + column, 1,
                              KEY_BLOCK, right + visible.begin * width + channel, width,
                              sums + column * width + channel, width, true);
        }
}

/* A row of a pair: columns from ... to - 1 are computed, begin ... end - 1 are visible. */
struct row {
    int64_t from, to, begin, end;
    float *p, *dp, *ds_score;
    float log_sum_exp, delta;
};

static inline float *ds_row(const struct state *state, int64_t row)
{
    return state->ds + MARGIN + (ROWS + row) * DS_ROW;
}

static inline struct row row_of(const rotary_attention_problem *problem, const struct state *state,
                                const struct block_pair *pair, const struct range *visible, int64_t count,
                                int64_t row)
{
    struct row made = {.from = visible[row / ROWS].begin / COLUMNS * COLUMNS,
                       .to = round_up(visible[row / ROWS].end, COLUMNS),
                       .p = state->p + row * KEY_BLOCK,
                       .dp = state->dp + row * KEY_BLOCK,
                       .ds_score = ds_row(state, row)};
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

static inline void mask_ds_score(const struct row *row, int64_t count)
{
    int64_t columns = round_up(count, LANES);
    memset(row->ds_score - MARGIN, 0, MARGIN * sizeof(float));
    mask_outside(row->ds_score, columns, row->begin, row->end, 0);
    memset(row->ds_score + columns, 0, MARGIN * sizeof(float));
}

/* Replaces scores by p and dp by ds. */
static void derive_rows(const rotary_attention_problem *problem, const struct state *state,
                        const struct block_pair *pair, const struct range *visible, const struct terms *terms,
                        int64_t count, bool with_gradient)
{
    int64_t rows = round_up(pair->queries, ROWS), columns = round_up(round_up(count, ROWS), LANES);
    float softcap = problem->softcap;
    for (int64_t at = 0; at < rows; at++) {
        struct row row = row_of(problem, state, pair, visible, count, at);
        float *p = row.p + row.from, *dp = row.dp + row.from;
        const float *bias = terms->scores ? terms->scores + at * terms->row + row.from : NULL;
        if (with_gradient)
            derive(p, dp, row.to - row.from, softcap, row.log_sum_exp, row.delta, bias,
                   row.ds_score + row.from);
        else if (bias)
            derive(p, dp, row.to - row.from, softcap, row.log_sum_exp, row.delta, bias, NULL);
        else
            derive(p, dp, row.to - row.from, softcap, row.log_sum_exp, row.delta, NULL, NULL);
        if (with_gradient)
            mask_ds_score(&row, count);
        mask_outside(row.p, columns, row.begin, row.end, 0);
        mask_outside(row.dp, columns, row.begin, row.end, 0);
    }
}

/* The same with a weight term, which needs p before ds is computed; w becomes the factors of the values. */
static void derive_weighted_rows(const rotary_attention_problem *problem, const rotary_attention_work *work,
                                 const struct state *state, const struct block_pair *pair,
                                 const struct range *visible, const struct terms *terms, int64_t count)
{
    int64_t rows = round_up(pair->queries, ROWS), columns = round_up(round_up(count, ROWS), LANES);
    for (int64_t at = 0; at < rows; at++) {
        struct row row = row_of(problem, state, pair, visible, count, at);
        const float *bias = terms->scores ? terms->scores + at * terms->row : NULL;
        for (int64_t column = row.from; column < row.to; column += LANES) {
            vfloat d_softcap, p = p_of(v_load(row.p + column), &d_softcap, problem->softcap, row.log_sum_exp,
                                       bias ? bias + column : NULL);
            v_store(row.p + column, p);
            v_store(state->d_softcap + at * KEY_BLOCK + column, d_softcap);
        }
        mask_outside(row.p, columns, row.begin, row.end, 0);
        memcpy(state->w + at * KEY_BLOCK, row.p, (size_t)columns * sizeof(float));
    }
    for (int64_t at = 0; at < pair->queries; at += WEIGHT_ROWS) {
        struct rotary_attention_tile tile = weight_tile(problem, work, pair, visible, at);
        int64_t corner = at * KEY_BLOCK + tile.key - pair->key;
        problem->weight_term->backward(problem, &tile, state->p + corner, state->w + corner,
                                       state->dp + corner, KEY_BLOCK);
    }
    for (int64_t at = 0; at < rows; at++) {
        struct row row = row_of(problem, state, pair, visible, count, at);
        for (int64_t column = row.from; column < row.to; column += LANES) {
            vfloat ds = v_load(row.p + column) * (v_load(row.dp + column) - v_set(row.delta));
            v_store(row.ds_score + column, ds);
            v_store(row.dp + column, ds * v_load(state->d_softcap + at * KEY_BLOCK + column));
        }
        mask_ds_score(&row, count);
        mask_outside(row.dp, columns, row.begin, row.end, 0);
    }
}

/* Adds the terms of a block of queries and a block of keys, which is in `state`. */
static void attend_block(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct state *state, const rotary_attention_sums *sums,
                         const struct block_pair *pair)
{
    int64_t count = visible_keys(problem, pair), width = state->width, columns = round_up(count, ROWS);
    if (count == 0)
        return;
    const float *queries = state->query + pair->row * width, *d_outputs = state->d_output + pair->row * width;
    struct range visible[QUERY_BLOCK / ROWS];
    int64_t groups = visible_ranges(problem, pair->query, pair->queries, pair->key, count, visible);
    multiply_visible(groups, visible, count, width, queries, state->key_panels, state->p);
    multiply_visible(groups, visible, count, width, d_outputs, state->value_panels, state->dp);
    if (problem->value_term) {
        struct rotary_attention_tile padded =
            tile_of(problem, work, pair, false, groups * ROWS, round_up(count, COLUMNS));
        problem->value_term->add_products(problem, &padded, state->dp, KEY_BLOCK, state->term);
    }
    struct terms terms = {0};
    if (problem->score_terms[0])
        terms = terms_of(problem, work, pair, false, groups * ROWS, round_up(count, COLUMNS), state->term);
    if (problem->weight_term)
        derive_weighted_rows(problem, work, state, pair, visible, &terms, count);
    else
        derive_rows(problem, state, pair, visible, &terms, count, sums->score_terms);
    const float *w = problem->weight_term ? state->w : state->p;
    struct rotary_attention_tile tile = tile_of(problem, work, pair, false, pair->queries, count);
    if (sums->distance_values) {
        const struct rotary_attention_term_gradient gradient = {w, KEY_BLOCK, sums, state->term};
        problem->value_term->add_gradient(problem, work, &tile, &gradient);
    }
    if (sums->score_terms) {
        const struct rotary_attention_term_gradient gradient = {ds_row(state, 0), DS_ROW, sums, state->term};
        if (problem->distance_queries.data)
            memset(ds_row(state, groups * ROWS) - MARGIN, 0, ROWS * DS_ROW * sizeof(float));
        add_term_gradients(problem, work, &tile, &gradient);
    }
    int64_t offset = (pair->key - work->key_begin) * width;
    add_keys(problem, pair, columns, width, w, d_outputs, sums->value + offset);
    add_keys(problem, pair, columns, width, state->dp, queries, sums->key + offset);
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
    memset(state.ds, 0,
           (MARGIN + ROWS * DS_ROW) * sizeof *state.ds); /* the rows before the first stay zero */
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
            store_row(mutable_vector_at(problem, problem->query_gradient, work->sequence, query,
                                        work->key_value_head * group + member),
                      row, problem->bf16, problem->head_dim);
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
        rotate_row(key_row, &problem->key_rotation, key, -1.0f);
        if (sums->unrotated_key)
            add_scaled_row(key_row, sums->unrotated_key + (key_row - sums->key), problem->scale, width);
        rotate_row(value_row, &problem->value_rotation, key, -1.0f);
        store_row(
            mutable_vector_at(problem, problem->key_gradient, work->sequence, key, work->key_value_head),
            key_row, problem->bf16, problem->head_dim);
        store_row(
            mutable_vector_at(problem, problem->value_gradient, work->sequence, key, work->key_value_head),
            value_row, problem->bf16, problem->head_dim);
    }
}
