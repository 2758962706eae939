/* SPDX-License-Identifier: Apache-2.0
 *
 * Backward attention in bf16. Scores have keys in rows and queries in columns, so that log-sum-exp and delta
 * are vectors, and p^T and ds^T are left-hand sides of the matmuls that sum over queries. Only the gradient
 * of the queries, which sums over keys, needs the other orientation: it is accumulated transposed.
 *
 *     s^T = K Q^T    dp^T = V G^T    dV += p^T G    dK += ds^T Q    dQ^T += K^T ds^T     (G = dout, rotated)
 *
 * Scores are in units of log 2, as in the forward pass, and rounded alike, so that p sums to one.
 */
#include "base/arena.h"
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/bf16_derivation.h"
#include "kernel/attention/block_pair.h"

#include <math.h>

enum {
    BLOCK = 128 /* queries, and keys, at a time */,
    SQUARE = PART * PART,
    DS_FLOATS = MARGIN + (BLOCK + 1) * DS_ROW
};

_Static_assert(ROTARY_ATTENTION_BF16_SUM_ROWS % PART == 0, "parts are summed whole");

struct state {
    int64_t width;          /* elements in a padded row */
    int64_t padded_queries; /* of one head, rounded up to ROTARY_ATTENTION_ROW_MULTIPLE */
    uint16_t
        *query_columns; /* tiles [heads of the group, padded_queries / 16, width / 32]: sums over channels */
    uint16_t
        *query_pairs; /* tiles [heads of the group, padded_queries / 32, width / 16]: sums over queries */
    uint16_t *d_output_columns;
    uint16_t *d_output_pairs;
    float *log_sum_exp;    /* [heads of the group, padded_queries], in units of log 2 */
    float *delta;          /* likewise: dout . out */
    uint16_t *rows;        /* [PART, width]: rotated, before packing into tiles */
    uint16_t *key, *value; /* [BLOCK, width] */
    uint16_t *key_columns; /* [BLOCK / 32, width, 32]: keys transposed, as a left-hand side */
    float *score, *dp;     /* [PART, PART]: s^T and dp^T */
    uint16_t *p;           /* [BLOCK / 32 of keys, BLOCK / 32 of queries, 32, 32]: p^T */
    uint16_t *ds;          /* likewise: ds^T */
    uint16_t *ds_pairs;    /* tiles [BLOCK / 32, BLOCK / 16]: ds^T as a right-hand side */
    float *term;           /* scratch of score terms */
    float *product;        /* scratch of the value term */
    /* What terms read of queries, as query_columns, and of the block of keys, [BLOCK, width], whose first is first_key
     * (attention_terms.h). Filled where a term does. */
    float *query_rows, *gradient_rows, *key_rows;
    int64_t first_key;
    float
        *ds_score; /* [BLOCK, DS_ROW]: gradients of scores after softcap, transposed, with margins of zeros */
    float *w;      /* [BLOCK, PART]: p^T, and what a weight term makes of it */
    float *d_softcap; /* [PART, PART]: with a weight term */
};

static void carve(struct state *state, struct rotary_arena *arena, const rotary_attention_problem *problem,
                  int64_t queries)
{
    int64_t width = rotary_attention_row(problem->head_dim);
    state->width = width;
    state->padded_queries = round_up(queries, ROTARY_ATTENTION_ROW_MULTIPLE);
    int64_t rows = problem->heads / problem->key_value_heads * state->padded_queries;
    const size_t size = sizeof(uint16_t);
    uint16_t **query_tiles[] = {&state->query_columns, &state->query_pairs, &state->d_output_columns,
                                &state->d_output_pairs};
    for (int i = 0; i < 4; i++)
        *query_tiles[i] = rotary_arena_push(arena, rows * width, size);
    state->log_sum_exp = rotary_arena_push(arena, rows, sizeof(float));
    state->delta = rotary_arena_push(arena, rows, sizeof(float));
    state->rows = rotary_arena_push(arena, PART * width, size);
    state->key = rotary_arena_push(arena, BLOCK * width, size);
    state->value = rotary_arena_push(arena, BLOCK * width, size);
    state->key_columns = rotary_arena_push(arena, BLOCK * width, size);
    state->score = rotary_arena_push(arena, PART * PART, sizeof(float));
    state->dp = rotary_arena_push(arena, PART * PART, sizeof(float));
    state->term = rotary_arena_push(arena, term_scratch(PART, BLOCK, problem->head_dim), sizeof(float));
    state->product =
        rotary_arena_push(arena, one_term_scratch(PART, BLOCK, problem->head_dim), sizeof(float));
    state->query_rows = rotary_arena_push(arena, rows * width, sizeof(float));
    state->gradient_rows = rotary_arena_push(arena, rows * width, sizeof(float));
    state->key_rows = rotary_arena_push(arena, BLOCK * width, sizeof(float));
    state->w = rotary_arena_push(arena, BLOCK * PART, sizeof(float));
    state->d_softcap = rotary_arena_push(arena, PART * PART, sizeof(float));
    state->ds_score = rotary_arena_push(arena, DS_FLOATS, sizeof(float));
    uint16_t **score_tiles[] = {&state->p, &state->ds, &state->ds_pairs};
    for (int i = 0; i < 3; i++)
        *score_tiles[i] = rotary_arena_push(arena, BLOCK * BLOCK, size);
}

size_t ROTARY_KERNEL(rotary_attention_bf16_backward_bytes)(const rotary_attention_problem *problem,
                                                           int64_t queries)
{
    struct state state;
    struct rotary_arena arena = {0};
    carve(&state, &arena, problem, queries);
    return arena.used;
}

static float dot(const uint16_t *a, const uint16_t *b, int64_t count)
{
    __m512 sum = _mm512_setzero_ps();
    for (int64_t at = 0; at < count; at += 16) {
        __mmask16 lanes = first_lanes(count - at);
        sum = _mm512_fmadd_ps(widen(_mm256_maskz_loadu_epi16(lanes, a + at)),
                              widen(_mm256_maskz_loadu_epi16(lanes, b + at)), sum);
    }
    return v_sum((vfloat)sum);
}

/* Loads rotated rows first ... first + count - 1 of one head into state->rows, zero rows after them. */
static void load_part(const rotary_attention_problem *problem, const struct state *state,
                      rotary_attention_const_view view, int64_t sequence, int64_t head, int64_t first,
                      int64_t count, float factor, const struct rotary_attention_rotation *rotation)
{
    rotate_rows_in(state->rows, problem, view, sequence, head, first, count, factor, false, rotation);
    memset(state->rows + count * state->width, 0, (size_t)((PART - count) * state->width) * sizeof(uint16_t));
}

/* clear_other_channels for a row in bf16. */
static void clear_other_halves(const rotary_attention_problem *problem, uint16_t *row)
{
    int64_t end = problem->value_start + problem->value_channels;
    memset(row, 0, (size_t)problem->value_start * sizeof *row);
    memset(row + end, 0, (size_t)(problem->head_dim - end) * sizeof *row);
}

/* Whether a term reads queries or keys without their rotation, of which they have none. */
static bool has_query_rows(const rotary_attention_problem *problem)
{
    return problem->distance_keys.data && !problem->query_rotation.cosine;
}

static bool has_key_rows(const rotary_attention_problem *problem)
{
    return problem->distance_queries.data && !problem->key_rotation.cosine;
}

/* Rows first ... first + count - 1 of one head in f32, scaled, and zero rows up to PART. */
static void load_scaled_rows(const rotary_attention_problem *problem, float *to,
                             rotary_attention_const_view view, int64_t sequence, int64_t head, int64_t first,
                             int64_t count)
{
    int64_t width = rotary_attention_row(problem->head_dim);
    memset(to, 0, (size_t)(PART * width) * sizeof *to);
    for (int64_t at = 0; at < count; at++, to += width) {
        load_elements(to, vector_at(problem, view, sequence, first + at, head), ROTARY_BF16,
                      problem->head_dim);
        scale_row(to, problem->scale, width);
    }
}

static void load_queries(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct state *state, int64_t head, int64_t index)
{
    int64_t width = state->width, sequence = work->sequence;
    for (int64_t query = work->query_begin; query < work->query_end; query += PART, index += PART) {
        int64_t count = min_i64(PART, work->query_end - query);
        load_part(problem, state, problem->query, sequence, head, query, count, problem->scale * LOG2_E,
                  &problem->query_rotation);
        pack_transposed(state->query_columns + index * width, state->rows, width);
        pack_transposed(state->query_columns + (index + 16) * width, state->rows + 16 * width, width);
        pack_pairs(state->query_pairs + index * width, state->rows, width);
        load_part(problem, state, problem->output_gradient, sequence, head, query, count, 1.0f,
                  &problem->output_rotation);
        for (int64_t row = 0; row < count && problem->value_channels > 0; row++)
            clear_other_halves(problem, state->rows + row * width);
        if (problem->value_term)
            load_elements(state->gradient_rows + index * width, state->rows, ROTARY_BF16, PART * width);
        if (has_query_rows(problem))
            load_scaled_rows(problem, state->query_rows + index * width, problem->query, sequence, head,
                             query, count);
        pack_transposed(state->d_output_columns + index * width, state->rows, width);
        pack_transposed(state->d_output_columns + (index + 16) * width, state->rows + 16 * width, width);
        pack_pairs(state->d_output_pairs + index * width, state->rows, width);
        const float *log_sum_exp =
            problem->saved_log_sum_exp + (sequence * problem->heads + head) * problem->queries + query;
        for (int64_t at = 0; at < PART; at++) {
            fetch_ahead(problem, problem->saved_output, sequence, query + at, work->query_end - 1, head);
            bool fully_masked = at >= count || log_sum_exp[at] == -INFINITY;
            state->log_sum_exp[index + at] = fully_masked ? 0.0f : log_sum_exp[at] * LOG2_E;
            state->delta[index + at] =
                at >= count ? 0.0f
                            : dot(vector_at(problem, problem->saved_output, sequence, query + at, head),
                                  vector_at(problem, problem->output_gradient, sequence, query + at, head),
                                  problem->head_dim);
        }
    }
}

/* Splits two vectors of pairs of channels, of 16 keys each, into two channels of 32 keys. */
static void split_pairs(uint16_t *to, const uint16_t *low, const uint16_t *high)
{
    const __m512i even =
        _mm512_set_epi32(0x3e003c, 0x3a0038, 0x360034, 0x320030, 0x2e002c, 0x2a0028, 0x260024, 0x220020,
                         0x1e001c, 0x1a0018, 0x160014, 0x120010, 0x0e000c, 0x0a0008, 0x060004, 0x020000);
    const __m512i odd = _mm512_add_epi16(even, _mm512_set1_epi16(1));
    __m512i a = _mm512_loadu_si512(low), b = _mm512_loadu_si512(high);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(a, even, b));
    _mm512_storeu_si512(to + DEPTH, _mm512_permutex2var_epi16(a, odd, b));
}

static void load_keys(const rotary_attention_problem *problem, const rotary_attention_work *work,
                      const struct state *state, int64_t first, int64_t count)
{
    int64_t width = state->width, head = work->key_value_head, sequence = work->sequence;
    uint16_t tiles[2][TILE];
    for (int64_t at = 0; at < count; at += PART) {
        int64_t part_count = min_i64(PART, count - at);
        if (!problem->key_is_value) {
            load_part(problem, state, problem->value, sequence, head, first + at, part_count, 1.0f,
                      &problem->value_rotation);
            memcpy(state->value + at * width, state->rows, (size_t)(PART * width) * sizeof(uint16_t));
        }
        load_part(problem, state, problem->key, sequence, head, first + at, part_count, 1.0f,
                  &problem->key_rotation);
        memcpy(state->key + at * width, state->rows, (size_t)(PART * width) * sizeof(uint16_t));
        if (has_key_rows(problem))
            load_scaled_rows(problem, state->key_rows + at * width, problem->key, sequence, head, first + at,
                             part_count);
        if (problem->key_is_value)
            memcpy(state->value + at * width, state->rows, (size_t)(PART * width) * sizeof(uint16_t));
        for (int64_t channel = 0; channel < width; channel += 32) {
            transpose_dwords(tiles[0], SIDE, state->rows + channel, width / 2);
            transpose_dwords(tiles[1], SIDE, state->rows + 16 * width + channel, width / 2);
            for (int row = 0; row < 16; row++)
                split_pairs(state->key_columns + at * width + (channel + 2 * row) * DEPTH,
                            tiles[0] + row * DEPTH, tiles[1] + row * DEPTH);
        }
    }
}

/* [32 keys][32 queries]: rows columns. */
static struct product product_of(float *memory, const uint16_t *rows, const uint16_t *columns, int64_t width,
                                 enum corner corner)
{
    return (struct product){
        memory, width / DEPTH, {rows, width, DEPTH}, {columns, SIDE * width, TILE}, corner};
}

static __mmask32 lanes_of(struct range visible)
{
    uint64_t below_end = (1ull << visible.end) - 1, below_begin = (1ull << visible.begin) - 1;
    return (__mmask32)(below_end & ~below_begin);
}

/* The queries of a part that see its key `row`. */
static __mmask32 visible_lanes(const rotary_attention_problem *problem, const struct block_pair *part,
                               int64_t row)
{
    int64_t key = part->key + row;
    return lanes_of(visible_queries(problem, part->query, part->queries, key, key));
}

/* Writes p^T and ds^T of a part to `offset` of the block's. */
static void derive_part(const rotary_attention_problem *problem, const struct state *state,
                        const struct block_pair *part, const struct product products[2],
                        const struct term_rows *rows, int64_t offset)
{
    __mmask32 visible[PART];
    struct derivation of = {.score = products[0],
                            .dp = products[1],
                            .rows = rows,
                            .softcap = problem->softcap,
                            .visible = visible,
                            .p = state->p + offset,
                            .ds = state->ds + offset,
                            .ds_pairs = state->ds_pairs + offset};
    for (int i = 0; i < 2; i++) {
        of.of_query.log_sum_exp[i] = _mm512_loadu_ps(state->log_sum_exp + part->row + i * 16);
        of.of_query.delta[i] = _mm512_loadu_ps(state->delta + part->row + i * 16);
        begin_product(&products[i]);
    }
    int64_t last_key = part->key + PART - 1;
    struct range first = visible_queries(problem, part->query, PART, part->key, part->key),
                 last = visible_queries(problem, part->query, PART, last_key, last_key);
    if (part->queries == PART && first.begin == 0 && first.end == PART && last.begin == 0 && last.end == PART)
        of.visible = NULL;
    else
        for (int64_t row = 0; row < PART; row++)
            visible[row] = visible_lanes(problem, part, row);
    /* What a usual part lacks is no question in its loops. */
    struct derivation usual = of;
    usual.rows = NULL;
    usual.softcap = 0;
    if (rows || problem->softcap > 0)
        derive(&of);
    else if (of.visible)
        derive(&usual);
    else {
        usual.visible = NULL;
        usual.score.corner = usual.dp.corner = CORNER_NONE;
        derive(&usual);
    }
}

static __m512 masked_load(const float *from, __mmask32 visible, int i)
{
    return _mm512_maskz_loadu_ps((__mmask16)(visible >> (16 * i)), from + i * 16);
}

/* The part's p, as factors of the values, and ds, from p and dp in `state` after the weight term. */
static void pack_weighted_part(const rotary_attention_problem *problem, const struct state *state,
                               const struct block_pair *part, const struct term_rows *rows, int64_t offset)
{
    __m512i p_rows[2], ds_rows[2];
    for (int64_t row = 0; row < PART; row++) {
        __mmask32 visible = visible_lanes(problem, part, row);
        __m512 w[2], ds[2];
        for (int i = 0; i < 2; i++) {
            __m512 delta = _mm512_loadu_ps(state->delta + part->row + i * 16);
            __m512 dp = _mm512_loadu_ps(state->dp + row * PART + i * 16);
            w[i] = masked_load(rows->w + row * PART, visible, i);
            ds[i] = _mm512_maskz_mul_ps((__mmask16)(visible >> (16 * i)),
                                        _mm512_loadu_ps(state->score + row * PART + i * 16),
                                        _mm512_sub_ps(dp, delta));
            _mm512_storeu_ps(rows->ds_score + row * DS_ROW + i * 16, ds[i]);
            ds[i] = _mm512_mul_ps(ds[i], _mm512_loadu_ps(state->d_softcap + row * PART + i * 16));
        }
        p_rows[row % 2] = narrow_two(w[0], w[1]);
        ds_rows[row % 2] = narrow_two(ds[0], ds[1]);
        _mm512_storeu_si512(state->p + offset + row * PART, p_rows[row % 2]);
        _mm512_storeu_si512(state->ds + offset + row * PART, ds_rows[row % 2]);
        if (row % 2 == 0)
            continue;
        uint16_t *ds_pairs = state->ds_pairs + offset + row / 2 * 32;
        _mm512_storeu_si512(ds_pairs, v_alternate_low(ds_rows[0], ds_rows[1]));
        _mm512_storeu_si512(ds_pairs + TILE, v_alternate_high(ds_rows[0], ds_rows[1]));
    }
}

/* derive_part with a weight term, which needs p in f32 before ds is computed. */
static void derive_weighted_part(const rotary_attention_problem *problem, const rotary_attention_work *work,
                                 const struct state *state, const struct block_pair *part,
                                 const struct term_rows *rows, int64_t offset)
{
    for (int64_t row = 0; row < PART; row++) {
        __mmask32 visible = visible_lanes(problem, part, row);
        const float *bias = rows->bias ? rows->bias + row * rows->bias_row : NULL;
        for (int i = 0; i < 2; i++) {
            float *score = state->score + row * PART + i * 16;
            __m512 d_softcap, p = p_of(_mm512_loadu_ps(score), bias ? bias + i * 16 : NULL,
                                       _mm512_loadu_ps(state->log_sum_exp + part->row + i * 16),
                                       problem->softcap, &d_softcap);
            p = _mm512_maskz_mov_ps((__mmask16)(visible >> (16 * i)), p);
            _mm512_storeu_ps(score, p);
            _mm512_storeu_ps(rows->w + row * PART + i * 16, p);
            _mm512_storeu_ps(state->d_softcap + row * PART + i * 16, d_softcap);
        }
    }
    struct rotary_attention_tile tile = tile_of(problem, work, part, true, part->keys, part->queries);
    problem->weight_term->backward(problem, &tile, state->score, rows->w, state->dp, PART);
    pack_weighted_part(problem, state, part, rows, offset);
}

/* The tile of the queries of a part and some keys of the block, with the rows that terms read. */
static struct rotary_attention_tile tile_with_rows(const rotary_attention_problem *problem,
                                                   const rotary_attention_work *work,
                                                   const struct state *state, const struct block_pair *pair,
                                                   int64_t rows, int64_t columns)
{
    struct rotary_attention_tile tile = tile_of(problem, work, pair, true, rows, columns);
    if (has_query_rows(problem))
        tile.query_rows = state->query_rows + pair->row * state->width;
    if (problem->value_term)
        tile.gradient_rows = state->gradient_rows + pair->row * state->width;
    if (has_key_rows(problem))
        tile.key_rows = state->key_rows + (pair->key - state->first_key) * state->width;
    return tile;
}

/* Adds the gradients of the terms for the queries of a part and some keys of the block. */
static void add_gradients(const rotary_attention_problem *problem, const rotary_attention_work *work,
                          const struct state *state, const struct block_pair *pair,
                          const rotary_attention_sums *sums)
{
    struct rotary_attention_tile tile = tile_with_rows(problem, work, state, pair, pair->keys, pair->queries);
    const struct rotary_attention_term_gradient of_scores = {state->ds_score + MARGIN, DS_ROW, sums,
                                                             state->term};
    const struct rotary_attention_term_gradient of_values = {state->w, PART, sums, state->term};
    if (sums->score_terms)
        add_term_gradients(problem, work, &tile, &of_scores);
    if (sums->distance_values)
        problem->value_term->add_gradient(problem, work, &tile, &of_values);
}

/* Extends the range of rows of one block that are visible to a part of the other; empty at first. */
static inline void include_part(struct range *visible, int64_t at)
{
    if (visible->end == 0)
        visible->begin = at;
    visible->end = at + PART;
}

/* sums[keys][width] += left right, over the queries of a pair that see each part of the keys. */
static void accumulate_keys(float *sums, const rotary_attention_problem *problem,
                            const struct block_pair *pair, const struct range *visible, const uint16_t *left,
                            const uint16_t *right, int64_t keys)
{
    int64_t width = rotary_attention_row(problem->head_dim);
    for (int64_t key = 0; key < keys; key += PART, visible++, left += BLOCK * PART) {
        struct product product = {.steps = (visible->end - visible->begin) / DEPTH,
                                  .left = {left + visible->begin * PART, PART, SQUARE}};
        if (is_diagonal(problem, pair->query + visible->begin, pair->key + key))
            product.corner = CORNER_LEFT_FIRST;
        for (int64_t channel = 0; channel < width && visible->end > 0; channel += 32) {
            product.memory = sums + key * width + channel;
            product.right = (struct right_side){right + visible->begin * width + channel / SIDE * TILE, TILE,
                                                width / SIDE * TILE};
            multiply_block(&product, width, true);
        }
    }
}

/* sums, [queries / 32][width][32], += keys^T ds^T, over the keys that each part of the queries sees. */
static void accumulate_queries(float *sums, const rotary_attention_problem *problem,
                               const struct block_pair *pair, const struct range *visible,
                               const struct state *state, int64_t queries)
{
    int64_t width = state->width;
    for (int64_t query = 0; query < queries; query += PART, visible++) {
        struct product product = {.steps = (visible->end - visible->begin) / DEPTH,
                                  .right = {state->ds_pairs + visible->begin * BLOCK + query / SIDE * TILE,
                                            TILE, BLOCK / SIDE * TILE}};
        if (is_diagonal(problem, pair->query + query, pair->key + visible->end - PART))
            product.corner = CORNER_RIGHT_LAST;
        for (int64_t channel = 0; channel < width && visible->end > 0; channel += 32) {
            product.memory = sums + query * width + channel * 32;
            product.left = (struct left_side){state->key_columns + visible->begin * width + channel * DEPTH,
                                              DEPTH, DEPTH * width};
            multiply_block(&product, 32, true);
        }
    }
}

/* The terms of the queries of a part and some keys of the block: the score terms' sum and the value term's
 * products, of all of these. */
struct part_terms {
    struct terms scores;
    struct rotary_attention_term_tile products;
};

static struct part_terms terms_of_part(const rotary_attention_problem *problem,
                                       const rotary_attention_work *work, const struct state *state,
                                       const struct block_pair *pair)
{
    struct part_terms made = {0};
    struct rotary_attention_tile tile =
        tile_with_rows(problem, work, state, pair, round_up(pair->keys, PART), PART);
    if (problem->score_terms[0])
        made.scores = terms_of(problem, &tile, state->term);
    if (problem->value_term)
        made.products = problem->value_term->products(problem, &tile, state->product);
    return made;
}

/* Computes p and ds of one part. Its rows begin with number `row` of its terms, and `offset` of the block's p. */
static void attend_part(const rotary_attention_problem *problem, const rotary_attention_work *work,
                        const struct state *state, const rotary_attention_sums *sums,
                        const struct block_pair *part, const struct part_terms *terms, int64_t row,
                        int64_t offset)
{
    int64_t width = state->width, key = (part->key - state->first_key) * width, query = part->row * width;
    const enum corner corner = !problem->weight_term && is_diagonal(problem, part->query, part->key)
                                   ? CORNER_BOTTOM_LEFT
                                   : CORNER_NONE;
    const struct product products[2] = {
        product_of(state->score, state->key + key, state->query_columns + query, width, corner),
        product_of(state->dp, state->value + key, state->d_output_columns + query, width, corner)};
    const struct term_rows rows = {
        .bias = terms->scores.scores ? terms->scores.scores + row * terms->scores.row : NULL,
        .bias_row = terms->scores.row,
        .product = problem->value_term ? terms->products.from + row * terms->products.row_stride : NULL,
        .product_row = terms->products.row_stride,
        .ds_score =
            sums->score_terms || problem->weight_term ? state->ds_score + MARGIN + row * DS_ROW : NULL,
        .w = sums->distance_values || problem->weight_term ? state->w + row * PART : NULL};
    if (!problem->weight_term) {
        bool has_terms = rows.bias || rows.product || rows.ds_score || rows.w;
        derive_part(problem, state, part, products, has_terms ? &rows : NULL, offset);
        return;
    }
    for (int i = 0; i < 2; i++)
        multiply_block(&products[i], PART, false);
    if (rows.product)
        add_term_tile(state->dp, PART, rows.product, rows.product_row, PART, PART, 1.0f);
    derive_weighted_part(problem, work, state, part, &rows, offset);
}

/* The keys of a block that some queries of a pair see, counted from its first, in whole parts; up to `count`. */
static struct range visible_parts(const rotary_attention_problem *problem, const struct block_pair *pair,
                                  int64_t count)
{
    struct range visible = key_range(problem, pair->query, pair->queries);
    int64_t begin = max_i64(0, visible.begin - pair->key) / PART * PART,
            end = min_i64(count, visible.end - pair->key);
    return begin < end ? (struct range){begin, round_up(end, PART)} : (struct range){0, 0};
}

/* Adds the terms of a block of queries and a block of keys, which is in `state`. */
static void attend_block(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct state *state, const rotary_attention_sums *sums,
                         const struct block_pair *pair)
{
    int64_t width = state->width, count = visible_keys(problem, pair);
    if (count == 0)
        return;
    int64_t keys = round_up(count, PART), queries = round_up(pair->queries, PART);
    struct range queries_of[BLOCK / PART] = {0}, keys_of[BLOCK / PART] = {0};
    for (int64_t at = 0; at < queries; at += PART) {
        struct block_pair strip = *pair;
        strip.query += at;
        strip.row += at;
        strip.queries = min_i64(PART, pair->queries - at);
        struct range visible = keys_of[at / PART] = visible_parts(problem, &strip, count);
        strip.key += visible.begin;
        strip.keys = min_i64(count, visible.end) - visible.begin;
        if (visible.end == 0)
            continue;
        const struct part_terms terms = terms_of_part(problem, work, state, &strip);
        for (int64_t key = visible.begin; key < visible.end; key += PART) {
            struct block_pair part = strip;
            part.key = pair->key + key;
            part.keys = min_i64(PART, count - key);
            include_part(&queries_of[key / PART], at);
            attend_part(problem, work, state, sums, &part, &terms, key - visible.begin,
                        key * BLOCK + at * PART);
        }
        if (sums->score_terms || sums->distance_values)
            add_gradients(problem, work, state, &strip, sums);
    }
    int64_t offset = (pair->key - work->key_begin) * width, row = pair->row * width;
    accumulate_keys(sums->value + offset, problem, pair, queries_of, state->p, state->d_output_pairs + row,
                    keys);
    accumulate_keys(sums->key + offset, problem, pair, queries_of, state->ds, state->query_pairs + row, keys);
    accumulate_queries(sums->query + row, problem, pair, keys_of, state, queries);
}

void ROTARY_KERNEL(rotary_attention_bf16_backward)(const rotary_attention_problem *problem,
                                                   const rotary_attention_work *work,
                                                   const rotary_attention_sums *sums,
                                                   struct rotary_arena *scratch)
{
    struct range keys = backward_keys(problem, work, BLOCK);
    if (keys.begin >= keys.end)
        return;
    int64_t group = problem->heads / problem->key_value_heads;
    struct state state;
    carve(&state, scratch, problem, work->query_end - work->query_begin);
    memset(state.ds_score, 0, DS_FLOATS * sizeof *state.ds_score); /* its margins stay zero */
    for (int64_t member = 0; member < group; member++)
        load_queries(problem, work, &state, work->key_value_head * group + member,
                     member * state.padded_queries);
    tiles_begin();
    for (int64_t first = keys.begin; first < keys.end; first += BLOCK) {
        struct block_pair pair = {.key = first, .keys = min_i64(BLOCK, keys.end - first)};
        state.first_key = first;
        load_keys(problem, work, &state, first, pair.keys);
        while (next_query_block(problem, work, BLOCK, state.padded_queries, &pair))
            attend_block(problem, work, &state, sums, &pair);
    }
    tiles_end();
}

/* Writes the gradient of a query or key from its sums times `factor`, which are rotated, and those of score
 * terms of the vector before rotation. */
static void add_unrotated(const rotary_attention_problem *problem, uint16_t *to, float *row, float factor,
                          const float *unrotated)
{
    for (int64_t channel = 0; channel < problem->head_dim; channel++)
        row[channel] = row[channel] * factor + unrotated[channel] * problem->scale;
    store_elements(to, row, ROTARY_BF16, problem->head_dim);
}

void ROTARY_KERNEL(rotary_attention_bf16_finish_queries)(const rotary_attention_problem *problem,
                                                         const rotary_attention_work *work,
                                                         const rotary_attention_sums *sums)
{
    int64_t group = problem->heads / problem->key_value_heads,
            width = rotary_attention_row(problem->head_dim);
    int64_t padded_queries = round_up(work->query_end - work->query_begin, ROTARY_ATTENTION_ROW_MULTIPLE);
    float rows[SIDE * ROTARY_ATTENTION_MAX_HEAD_DIM];
    for (int64_t member = 0; member < group; member++)
        for (int64_t query = work->query_begin; query < work->query_end; query += SIDE) {
            int64_t index = member * padded_queries + query - work->query_begin;
            const float *columns = sums->query + index / 32 * 32 * width + index % 32;
            for (int64_t channel = 0; channel < width; channel += SIDE)
                transpose_dwords(rows + channel, width, columns + channel * 32, 32);
            for (int64_t row = 0; row < min_i64(SIDE, work->query_end - query); row++) {
                int64_t head = work->key_value_head * group + member;
                uint16_t *to =
                    mutable_vector_at(problem, problem->query_gradient, work->sequence, query + row, head);
                fetch_ahead_to_write(problem, problem->query_gradient, work->sequence, query + row,
                                     work->query_end - 1, head);
                if (sums->unrotated_query) {
                    rotate_row(rows + row * width, &problem->query_rotation, query + row, -1.0f);
                    add_unrotated(problem, to, rows + row * width, problem->scale,
                                  sums->unrotated_query + (index + row) * width);
                } else
                    rotate_out(to, rows + row * width, problem->head_dim, problem->scale,
                               &problem->query_rotation, query + row);
            }
        }
}

void ROTARY_KERNEL(rotary_attention_bf16_finish_keys)(const rotary_attention_problem *problem,
                                                      const rotary_attention_work *work,
                                                      const rotary_attention_sums *sums)
{
    int64_t width = rotary_attention_row(problem->head_dim), head = work->key_value_head;
    for (int64_t key = work->key_begin; key < work->key_end; key++) {
        int64_t offset = (key - work->key_begin) * width;
        uint16_t *to = mutable_vector_at(problem, problem->key_gradient, work->sequence, key, head);
        fetch_ahead_to_write(problem, problem->key_gradient, work->sequence, key, work->key_end - 1, head);
        if (!problem->key_is_value)
            fetch_ahead_to_write(problem, problem->value_gradient, work->sequence, key, work->key_end - 1,
                                 head);
        float factor = problem->key_is_value ? 1.0f : LN_2;
        if (problem->key_is_value) {
            scale_row(sums->key + offset, LN_2, width);
            add_scaled_row(sums->key + offset, sums->value + offset, 1.0f, width);
        }
        if (sums->unrotated_key) {
            rotate_row(sums->key + offset, &problem->key_rotation, key, -1.0f);
            add_unrotated(problem, to, sums->key + offset, factor, sums->unrotated_key + offset);
        } else {
            rotate_out(to, sums->key + offset, problem->head_dim, factor, &problem->key_rotation, key);
        }
        if (problem->key_is_value)
            continue;
        rotate_out(mutable_vector_at(problem, problem->value_gradient, work->sequence, key, head),
                   sums->value + offset, problem->head_dim, 1.0f, &problem->value_rotation, key);
    }
}
