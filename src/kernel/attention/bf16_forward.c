/* SPDX-License-Identifier: Apache-2.0
 *
 * Forward attention in bf16: 32 queries against up to KEYS keys at a time. Scores are in units of log 2: the
 * packed queries carry the factor log2(e).
 *
 * A row's max score only keeps its exponentials from overflowing or vanishing. No score exceeds |q| |k|
 * (Cauchy-Schwarz), or that and the largest biases of the score terms. While that is at most MAX_BOUND for
 * every visible key, the row's scores are bounded: its softmax offset is 0, its max is never searched, and
 * exp follows each tile's matmul at once. Unbounded rows use the online softmax, block after block. Whether a
 * row is bounded depends on its visible keys alone, and both ways sum in one order.
 */
#include "base/arena.h"
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/bf16.h"
#include "kernel/attention/block_pair.h"
#include "kernel/attention/sink.h"

#include <math.h>

enum {
    QUERIES = 32,
    KEYS = ROTARY_ATTENTION_BF16_KEY_BLOCK,
    SCORE_ROW = KEYS + 16 /* floats: no two rows of a tile share a cache set */
};
enum { P_ROW = KEYS + 32 };
enum { MAX_BOUND = 60 /* 2^60 summed over the longest row does not overflow, 2^-60 does not vanish */ };

struct state {
    int64_t width;         /* elements in a padded row */
    int64_t blocks;        /* of queries, for each head */
    uint16_t *query;       /* [heads of the group, blocks, QUERIES, width]: rotated and scaled */
    float *output;         /* likewise: sum of p times rotated value */
    float *softmax_offset; /* [heads of the group, blocks, QUERIES]: subtracted before exp2 */
    float *norm;           /* likewise: |q|^2 */
    float *sum;            /* [heads of the group, blocks, QUERIES, 16]: of p, lane by lane */
    const uint16_t *key;   /* the block of keys: tiles [KEYS / 16, width / 32] */
    const uint16_t *value; /* tiles [KEYS / 32, width / 16] */
    const float *key_norm; /* [KEYS]: max |k|^2 of the block up to each key */
    float max_key_norm;    /* max |k|^2 of earlier blocks */
    uint16_t *packed_keys; /* the block that is packed here if the caller gives none */
    float *score;          /* [QUERIES, SCORE_ROW], or two tiles of [QUERIES, 32] */
    uint16_t *p;           /* [QUERIES, P_ROW] */
    float *norm_limit;     /* as norm: of |q|^2 |k|^2 where scores are bounded */
    float *term;           /* scratch of score terms */
};

/* A packed block: tiles of keys, tiles of values, norms of keys. */
static int64_t packed_keys_elements(int64_t width)
{
    return KEYS * (2 * width + 2);
}

size_t ROTARY_KERNEL(rotary_attention_bf16_packed_keys_bytes)(const rotary_attention_problem *problem)
{
    return (size_t)packed_keys_elements(rotary_attention_row(problem->head_dim)) * sizeof(uint16_t);
}

static void use_block(struct state *state, const uint16_t *packed_keys)
{
    state->key = packed_keys;
    state->value = packed_keys + KEYS * state->width;
    state->key_norm = (const float *)(const void *)(packed_keys + 2 * KEYS * state->width);
}

static void carve(struct state *state, struct rotary_arena *arena, const rotary_attention_problem *problem,
                  int64_t queries)
{
    state->width = rotary_attention_row(problem->head_dim);
    state->blocks = divide_up(queries, QUERIES);
    state->max_key_norm = 0;
    int64_t rows = problem->heads / problem->key_value_heads * state->blocks * QUERIES;
    state->query = rotary_arena_push(arena, rows * state->width, sizeof(uint16_t));
    state->output = rotary_arena_push(arena, rows * state->width, sizeof(float));
    state->softmax_offset = rotary_arena_push(arena, rows, sizeof(float));
    state->norm = rotary_arena_push(arena, rows, sizeof(float));
    state->sum = rotary_arena_push(arena, rows * SIDE, sizeof(float));
    state->packed_keys = rotary_arena_push(arena, packed_keys_elements(state->width), sizeof(uint16_t));
    state->score = rotary_arena_push(arena, QUERIES * SCORE_ROW, sizeof(float));
    state->p = rotary_arena_push(arena, QUERIES * P_ROW, sizeof(uint16_t));
    state->norm_limit = rotary_arena_push(arena, rows, sizeof(float));
    state->term = rotary_arena_push(arena, term_scratch(QUERIES, KEYS, problem->head_dim), sizeof(float));
}

size_t ROTARY_KERNEL(rotary_attention_bf16_forward_bytes)(const rotary_attention_problem *problem,
                                                          int64_t queries)
{
    struct state state;
    struct rotary_arena arena = {0};
    carve(&state, &arena, problem, queries);
    return arena.used;
}

enum reduction { MAX, TOTAL };

static inline __m512 combine(enum reduction how, __m512 a, __m512 b)
{
    return how == MAX ? _mm512_max_ps(a, b) : _mm512_add_ps(a, b);
}

/* Lane i of the result is the reduction of rows[i]. */
static inline __m512 reduce_rows(enum reduction how, const __m512 rows[16])
{
    __m512 pairs[8], fours[4];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        pairs[i] = combine(how, _mm512_unpacklo_ps(rows[2 * i], rows[2 * i + 1]),
                           _mm512_unpackhi_ps(rows[2 * i], rows[2 * i + 1]));
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512d a = _mm512_castps_pd(pairs[2 * i]), b = _mm512_castps_pd(pairs[2 * i + 1]);
        fours[i] = combine(how, _mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                           _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    }
    __m512 low = combine(how, _mm512_shuffle_f32x4(fours[0], fours[1], 0x88),
                         _mm512_shuffle_f32x4(fours[0], fours[1], 0xdd));
    __m512 high = combine(how, _mm512_shuffle_f32x4(fours[2], fours[3], 0x88),
                          _mm512_shuffle_f32x4(fours[2], fours[3], 0xdd));
    return combine(how, _mm512_shuffle_f32x4(low, high, 0x88), _mm512_shuffle_f32x4(low, high, 0xdd));
}

static void load_queries(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         struct state *state)
{
    int64_t group = problem->heads / problem->key_value_heads, width = state->width,
            padded_queries = state->blocks * QUERIES;
    int64_t queries = work->query_end - work->query_begin;
    for (int64_t member = 0; member < group; member++) {
        uint16_t *rows = state->query + member * padded_queries * width;
        rotate_rows_in(rows, problem, problem->query, work->sequence, work->key_value_head * group + member,
                       work->query_begin, queries, problem->scale * LOG2_E, false, &problem->query_rotation);
        memset(rows + queries * width, 0, (size_t)((padded_queries - queries) * width) * sizeof *rows);
    }
    for (int64_t at = 0; at < group * padded_queries; at += 16) {
        __m512 squares[16];
        for (int row = 0; row < 16; row++) {
            squares[row] = _mm512_setzero_ps();
            for (int64_t channel = 0; channel < width; channel += 32)
                squares[row] = add_squares(squares[row], state->query + (at + row) * width + channel);
        }
        _mm512_storeu_ps(state->norm + at, reduce_rows(TOTAL, squares));
    }
    for (int64_t member = 0; member < group; member++) {
        struct rotary_attention_term_bound left =
            bound_left(problem, work->key_value_head * group + member, MAX_BOUND, LOG2_E);
        for (int64_t at = member * padded_queries; at < (member + 1) * padded_queries; at++) {
            struct row_bound bound = bound_row(&left, state->norm[at]);
            state->norm[at] = bound.norm;
            state->norm_limit[at] = bound.limit;
        }
    }
    memset(state->output, 0, (size_t)(group * padded_queries * width) * sizeof(float));
    memset(state->softmax_offset, 0, (size_t)(group * padded_queries) * sizeof(float));
    memset(state->sum, 0, (size_t)(group * padded_queries * SIDE) * sizeof(float));
}

/* Lane i of the result is the max of lanes 0 ... i. */
static inline __m512 running_max(__m512 v)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int distance = 1; distance < 16; distance *= 2) {
        __m512i from =
            _mm512_max_epi32(_mm512_sub_epi32(lane, _mm512_set1_epi32(distance)), _mm512_setzero_si512());
        v = _mm512_max_ps(v, _mm512_permutexvar_ps(from, v));
    }
    return v;
}

/* Writes the running max of |k|^2 of sixteen packed keys, starting from `before`. Returns the last. */
static float pack_norms(float *norm, const uint16_t *tiles, int64_t width, float before)
{
    __m512 squares = _mm512_setzero_ps();
    for (int64_t pair = 0; pair < width / 2; pair++)
        squares = add_squares(squares, tiles + pair * 32);
    _mm512_storeu_ps(norm, running_max(_mm512_max_ps(squares, _mm512_set1_ps(before))));
    return norm[15];
}

void ROTARY_KERNEL(rotary_attention_bf16_pack_keys)(const rotary_attention_problem *problem,
                                                    const rotary_attention_work *work, void *packed_keys)
{
    int64_t width = rotary_attention_row(problem->head_dim), sequence = work->sequence,
            head = work->key_value_head;
    uint16_t rows[32 * ROTARY_ATTENTION_MAX_HEAD_DIM], *key = packed_keys, *value = key + KEYS * width;
    float *norm = (float *)(void *)(value + KEYS * width), max_so_far = 0;
    for (int64_t first = work->key_begin; first < work->key_end; first += 32) {
        int64_t count = min_i64(32, work->key_end - first);
        size_t padding = (size_t)((32 - count) * width) * sizeof(uint16_t);
        rotate_rows_in(rows, problem, problem->key, sequence, head, first, count, 1.0f, true,
                       &problem->key_rotation);
        memset(rows + count * width, 0, padding);
        for (int half = 0; half < 2; half++) {
            pack_transposed(key, rows + half * 16 * width, width);
            max_so_far = pack_norms(norm, key, width, max_so_far);
            key += 16 * width;
            norm += 16;
        }
        if (!problem->key_is_value) {
            rotate_rows_in(rows, problem, problem->value, sequence, head, first, count, 1.0f, true,
                           &problem->value_rotation);
            memset(rows + count * width, 0, padding);
        }
        pack_pairs(value, rows, width);
        value += 32 * width;
    }
}

/* The scores of one block of queries and 32 keys from `column` on. */
static inline struct product scores_of(const rotary_attention_problem *problem, const struct state *state,
                                       const struct block_pair *pair, int64_t column)
{
    int64_t width = state->width;
    return (struct product){.memory = state->score + column / 32 % 2 * QUERIES * 32,
                            .steps = width / DEPTH,
                            .left = {state->query + pair->row * width, width, DEPTH},
                            .right = {state->key + column * width, SIDE * width, TILE},
                            .corner = is_diagonal(problem, pair->query, pair->key + column) ? CORNER_TOP_RIGHT
                                                                                            : CORNER_NONE};
}

/* Columns of a block that are visible to a row: begin ... end - 1 exactly; first ... last - 1 rounded
 * outwards to pairs of vectors. */
struct visible_range {
    int64_t begin, end, first, last;
};

static struct visible_range visible_range_of(const rotary_attention_problem *problem, int64_t query,
                                             int64_t first, int64_t columns)
{
    int64_t begin = max_i64(0, first_key(problem, query) - first);
    int64_t end = min_i64(columns, end_key(problem, query) - first);
    if (begin >= end)
        return (struct visible_range){0};
    return (struct visible_range){begin, end, begin / 32 * 32, round_up(end, 32)};
}

static void mask_invisible(float *score, struct visible_range visible_range)
{
    const __m512 minus_infinity = _mm512_set1_ps(-INFINITY);
    if (visible_range.begin > visible_range.first) {
        int64_t masked = visible_range.begin - visible_range.first;
        _mm512_mask_storeu_ps(score + visible_range.first, first_lanes(masked), minus_infinity);
        _mm512_mask_storeu_ps(score + visible_range.first + 16, first_lanes(max_i64(0, masked - 16)),
                              minus_infinity);
    }
    if (visible_range.end < visible_range.last) {
        int64_t visible = visible_range.end - (visible_range.last - 32);
        _mm512_mask_storeu_ps(score + visible_range.last - 32, (__mmask16)~first_lanes(visible),
                              minus_infinity);
        _mm512_mask_storeu_ps(score + visible_range.last - 16,
                              (__mmask16)~first_lanes(max_i64(0, visible - 16)), minus_infinity);
    }
}

/* The max |k|^2 up to key `at` of the block. */
static inline float key_norm_to(const struct state *state, int64_t at)
{
    return state->key_norm[at] > state->max_key_norm ? state->key_norm[at] : state->max_key_norm;
}

/* Whether a row's scores are bounded: its offset is still 0, and |q| |k| is small for every visible key. */
static inline bool is_bounded(float softmax_offset, float query_norm, float key_norm, float norm_limit)
{
    return softmax_offset == 0 && query_norm * key_norm <= norm_limit;
}

/* p of 32 scores of a row. */
static inline __m512i exp_vectors(const float *score, __m512 softmax_offset, __m512 *sum)
{
    __m512 low = (__m512)v_exp2_coarse((vfloat)_mm512_sub_ps(_mm512_loadu_ps(score), softmax_offset));
    __m512 high = (__m512)v_exp2_coarse((vfloat)_mm512_sub_ps(_mm512_loadu_ps(score + 16), softmax_offset));
    *sum = _mm512_add_ps(*sum, _mm512_add_ps(low, high));
    return narrow_two(low, high);
}

/* p of a tile of bounded scores, of which a row's lanes are visible, or all of `edge` is false. */
static inline __attribute__((always_inline)) void exp_bounded(const struct product *scores,
                                                              const struct tile_start *term,
                                                              const struct visible_range *edge, uint16_t *p,
                                                              float *sum)
{
    for (int64_t first = 0; first < QUERIES; first += ROWS_AT_ONCE) {
        struct product_rows rows = take_rows(scores, first);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS_AT_ONCE; i++) {
            int64_t row = first + i;
            __m512 low = rows.low[i], high = rows.high[i];
            if (term) {
                const float *from = term->from[0] + row * term->row[0];
                low = _mm512_fmadd_ps(_mm512_loadu_ps(from), _mm512_set1_ps(LOG2_E), low);
                high = _mm512_fmadd_ps(_mm512_loadu_ps(from + 16), _mm512_set1_ps(LOG2_E), high);
            }
            low = (__m512)v_exp2_coarse((vfloat)low);
            high = (__m512)v_exp2_coarse((vfloat)high);
            if (edge) {
                __mmask32 visible = (__mmask32)((1ull << edge[row].end) - (1ull << edge[row].begin));
                low = _mm512_maskz_mov_ps((__mmask16)visible, low);
                high = _mm512_maskz_mov_ps((__mmask16)(visible >> 16), high);
            }
            __m512 total = _mm512_add_ps(_mm512_loadu_ps(sum + row * SIDE), _mm512_add_ps(low, high));
            _mm512_storeu_ps(sum + row * SIDE, total);
            _mm512_storeu_si512(p + row * P_ROW, narrow_two(low, high));
        }
    }
}

static void exp_bounded_edge(const rotary_attention_problem *problem, const struct product *scores,
                             const struct tile_start *term, int64_t query, int64_t first, uint16_t *p,
                             float *sum)
{
    struct visible_range edge[QUERIES];
    for (int64_t row = 0; row < QUERIES; row++)
        edge[row] = visible_range_of(problem, query + row, first, 32);
    exp_bounded(scores, term, edge, p, sum);
}

/* Bounded scores: exp follows each tile's matmul at once. */
static void attend_bounded(const rotary_attention_problem *problem, const struct state *state,
                           const struct block_pair *pair, const struct starts *terms, int64_t columns)
{
    int64_t all_visible_begin = first_key(problem, pair->query + QUERIES - 1) - pair->key,
            all_visible_end = end_key(problem, pair->query) - pair->key;
    float *sum = state->sum + pair->row * SIDE;
    struct product scores = scores_of(problem, state, pair, 0);
    begin_product(&scores);
    for (int64_t column = 0; column < columns; column += 32) {
        const struct product next = scores_of(problem, state, pair, column + 32);
        if (column + 32 < columns)
            begin_product(&next);
        uint16_t *p = state->p + column;
        const struct tile_start start = start_of(terms, 0, column), *term = start.count > 0 ? &start : NULL;
        if (column < all_visible_begin || column + 32 > all_visible_end)
            exp_bounded_edge(problem, &scores, term, pair->query, pair->key + column, p, sum);
        else if (term)
            exp_bounded(&scores, term, NULL, p, sum);
        else
            exp_bounded(&scores, NULL, NULL, p, sum);
        scores = next;
    }
}

static void softcap_and_bias_rows(const rotary_attention_problem *problem, const struct state *state,
                                  const struct block_pair *pair, const struct terms *terms, int64_t columns)
{
    for (int64_t row = 0; row < pair->queries; row++) {
        struct visible_range visible = visible_range_of(problem, pair->query + row, pair->key, columns);
        const float *bias = terms->scores ? terms->scores + row * terms->row : NULL;
        softcap_and_bias_row(state->score + row * SCORE_ROW, columns, visible.begin, visible.end,
                             problem->softcap, bias, LOG2_E);
    }
}

/* Rows whose sum of p is 0, which are fully masked so far: in other rows p of the max is near 1. */
static __mmask16 fully_masked_rows(const struct state *state, int64_t index)
{
    unsigned fully_masked = 0;
    for (int i = 0; i < 16; i++) {
        __m512 sum = _mm512_loadu_ps(state->sum + (index + i) * SIDE);
        fully_masked |= (unsigned)(_mm512_cmp_ps_mask(sum, _mm512_setzero_ps(), _CMP_NEQ_UQ) == 0) << i;
    }
    return (__mmask16)fully_masked;
}

/* Replaces sixteen rows of scores by p, with the row max so far as softmax offset, or 0 where a row is
 * bounded. Returns the factors by which earlier sums must be scaled. */
static __m512 exp_rows(const rotary_attention_problem *problem, const struct state *state,
                       const struct block_pair *pair, int64_t row, int64_t columns)
{
    int64_t index = pair->row + row, query = pair->query + row;
    struct visible_range visible[16];
    __m512 rows[16];
    __mmask16 bounded = 0, fresh = 0;
    float *score = state->score + row * SCORE_ROW;
    for (int i = 0; i < 16; i++) {
        float *scores_row = score + i * SCORE_ROW;
        __m512 a = _mm512_set1_ps(-INFINITY), b = a;
        visible[i] = visible_range_of(problem, query + i, pair->key, columns);
        mask_invisible(scores_row, visible[i]);
        for (int64_t column = visible[i].first; column < visible[i].last; column += 32) {
            a = _mm512_max_ps(a, _mm512_loadu_ps(scores_row + column));
            b = _mm512_max_ps(b, _mm512_loadu_ps(scores_row + column + 16));
        }
        rows[i] = _mm512_max_ps(a, b);
        bool row_bounded = visible[i].end > 0 &&
                           is_bounded(state->softmax_offset[index + i], state->norm[index + i],
                                      key_norm_to(state, visible[i].end - 1), state->norm_limit[index + i]);
        bounded = (__mmask16)(bounded | (unsigned)row_bounded << i);
        fresh = (__mmask16)(fresh | (unsigned)(first_key(problem, query + i) >= pair->key) << i);
    }
    if (problem->score_terms[0])
        fresh |= fully_masked_rows(state, index);
    const __m512 minus_infinity = _mm512_set1_ps(-INFINITY);
    __m512 previous = _mm512_loadu_ps(state->softmax_offset + index);
    __m512 row_max =
        _mm512_max_ps(_mm512_mask_mov_ps(previous, fresh, minus_infinity), reduce_rows(MAX, rows));
    __mmask16 fully_masked = _mm512_cmp_ps_mask(row_max, minus_infinity, _CMP_EQ_OQ);
    __m512 softmax_offset =
        _mm512_mask_mov_ps(row_max, (__mmask16)(fully_masked | bounded), _mm512_setzero_ps());
    _mm512_storeu_ps(state->softmax_offset + index, softmax_offset);
    /* Exactly 1 where the offset stays, or a long row would drift. */
    __m512 factors = (__m512)v_exp((vfloat)_mm512_sub_ps(previous, softmax_offset) * v_set(LN_2));
    float factor[16];
    _mm512_storeu_ps(factor, _mm512_mask_mov_ps(factors, fresh, _mm512_setzero_ps()));
    for (int i = 0; i < 16; i++) {
        const float *scores_row = score + i * SCORE_ROW;
        uint16_t *p = state->p + (row + i) * P_ROW;
        float *sum = state->sum + (index + i) * SIDE;
        __m512 total = _mm512_mul_ps(_mm512_loadu_ps(sum), _mm512_set1_ps(factor[i]));
        __m512 offset = _mm512_set1_ps(state->softmax_offset[index + i]);
        memset(p, 0, (size_t)columns * sizeof *p);
        for (int64_t column = visible[i].first; column < visible[i].last; column += 32)
            _mm512_storeu_si512(p + column, exp_vectors(scores_row + column, offset, &total));
        _mm512_storeu_ps(sum, total);
    }
    return _mm512_loadu_ps(factor);
}

static void scale_rows(float *rows, int64_t width, __m512 factors)
{
    if (_mm512_cmp_ps_mask(factors, _mm512_set1_ps(1.0f), _CMP_NEQ_UQ) == 0)
        return;
    float factor[16];
    _mm512_storeu_ps(factor, factors);
    for (int row = 0; row < 16; row++)
        for (int64_t channel = 0; channel < width; channel += 16) {
            float *at = rows + row * width + channel;
            _mm512_storeu_ps(at, _mm512_mul_ps(_mm512_loadu_ps(at), _mm512_set1_ps(factor[row])));
        }
}

/* Unbounded scores: all scores of the block, then each row's max, then p. */
static void attend_unbounded(const rotary_attention_problem *problem, const struct state *state,
                             const struct block_pair *pair, const struct terms *terms, int64_t columns)
{
    float *output = state->output + pair->row * state->width;
    for (int64_t column = 0; column < columns; column += 32) {
        struct product scores = scores_of(problem, state, pair, column);
        scores.memory = state->score + column;
        multiply_block(&scores, SCORE_ROW, false);
    }
    if (problem->softcap > 0 || terms->scores)
        softcap_and_bias_rows(problem, state, pair, terms, columns);
    for (int64_t row = 0; row < QUERIES; row += 16)
        scale_rows(output + row * state->width, state->width, exp_rows(problem, state, pair, row, columns));
}

/* Lets the weight term replace the block's p, in f32. */
static void replace_weights(const rotary_attention_problem *problem, const rotary_attention_work *work,
                            const struct state *state, const struct block_pair *pair, int64_t count)
{
    struct rotary_attention_tile tile = tile_of(problem, work, pair, false, pair->queries, count);
    tile.keys = count;
    for (int64_t row = 0; row < pair->queries; row++)
        load_elements(state->score + row * SCORE_ROW, state->p + row * P_ROW, ROTARY_BF16,
                      round_up(count, 32));
    problem->weight_term->forward(problem, &tile, state->score, SCORE_ROW);
    for (int64_t row = 0; row < pair->queries; row++)
        store_elements(state->p + row * P_ROW, state->score + row * SCORE_ROW, ROTARY_BF16,
                       round_up(count, 32));
}

/* Adds the value term's vectors to the outputs of a pair, from its p. */
static void add_value_term(const rotary_attention_problem *problem, const rotary_attention_work *work,
                           const struct state *state, const struct block_pair *pair, int64_t count)
{
    struct rotary_attention_tile tile = tile_of(problem, work, pair, false, QUERIES, round_up(count, 32));
    tile.keys = count;
    if (problem->packed_values.entry_pairs) {
        tile.half_weights = state->p;
        tile.half_row = P_ROW;
    } else { /* a table that is not packed, as in decoding, has numbers in f32 */
        for (int64_t row = 0; row < pair->queries; row++)
            load_elements(state->score + row * SCORE_ROW, state->p + row * P_ROW, ROTARY_BF16, tile.columns);
    }
    problem->value_term->add_output(problem, &tile, state->score, SCORE_ROW,
                                    state->output + pair->row * state->width, state->term);
}

/* Whether QUERIES rows from `row` on are bounded. */
static bool are_bounded(const struct state *state, int64_t row, float key_norm)
{
    bool bounded = true;
    for (int64_t at = row; at < row + QUERIES; at++)
        bounded = bounded &&
                  is_bounded(state->softmax_offset[at], state->norm[at], key_norm, state->norm_limit[at]);
    return bounded;
}

/* Adds the block of keys and values in `state` to the online softmax of a block of queries. */
static void attend_block(const rotary_attention_problem *problem, const rotary_attention_work *work,
                         const struct state *state, const struct block_pair *pair)
{
    int64_t width = state->width, count = visible_keys(problem, pair), columns = round_up(count, 32);
    if (count == 0)
        return;
    struct starts terms = {0};
    struct rotary_attention_tile tile = tile_of(problem, work, pair, false, QUERIES, columns);
    bool bounded = are_bounded(state, pair->row, key_norm_to(state, count - 1));
    tile.ends = bounded && problem->score_terms[0] && !problem->score_terms[1];
    if (problem->score_terms[0])
        terms = (struct starts){1, {term_scores(problem, &tile, state->term)}};
    if (bounded)
        attend_bounded(problem, state, pair, &terms, columns);
    else
        attend_unbounded(problem, state, pair, &(struct terms){terms.tile[0].from, terms.tile[0].row_stride},
                         columns);
    if (problem->weight_term)
        replace_weights(problem, work, state, pair, count);
    if (problem->value_term)
        add_value_term(problem, work, state, pair, count);
    struct product output = {.steps = columns / DEPTH, .left = {state->p, P_ROW, DEPTH}};
    if (is_diagonal(problem, pair->query, pair->key + columns - DEPTH))
        output.corner = CORNER_LEFT_LAST;
    for (int64_t channel = 0; channel < width; channel += 32) {
        output.memory = state->output + pair->row * width + channel;
        output.right = (struct right_side){state->value + channel / SIDE * TILE, TILE, width / SIDE * TILE};
        multiply_block(&output, width, true);
    }
}

static void store_outputs(const rotary_attention_problem *problem, const rotary_attention_work *work,
                          const struct state *state)
{
    int64_t group = problem->heads / problem->key_value_heads, width = state->width,
            padded_queries = state->blocks * QUERIES;
    int64_t queries = work->query_end - work->query_begin;
    for (int64_t at = 0; at < group * padded_queries; at += 16) {
        __m512 parts[16];
        float sum[16];
        int64_t head = work->key_value_head * group + at / padded_queries,
                query = work->query_begin + at % padded_queries;
        for (int row = 0; row < 16; row++)
            parts[row] = _mm512_loadu_ps(state->sum + (at + row) * SIDE);
        _mm512_storeu_ps(sum, reduce_rows(TOTAL, parts));
        for (int64_t row = 0; row < min_i64(16, queries - at % padded_queries); row++) {
            struct sink_row with_sink = {.keys = 1.0f};
            clear_other_channels(problem, state->output + (at + row) * width);
            if (problem->sinks)
                with_sink = add_sink(problem->sinks[head], state->softmax_offset[at + row] * LN_2, sum[row]);
            rotate_out(mutable_vector_at(problem, problem->output, work->sequence, query + row, head),
                       state->output + (at + row) * width, problem->head_dim,
                       sum[row] == 0 ? 0.0f : with_sink.keys / sum[row], &problem->output_rotation,
                       query + row);
            if (problem->log_sum_exp)
                problem
                    ->log_sum_exp[(work->sequence * problem->heads + head) * problem->queries + query + row] =
                    problem->sinks  ? with_sink.log_sum_exp
                    : sum[row] == 0 ? -INFINITY
                                    : state->softmax_offset[at + row] * LN_2 + logf(sum[row]);
        }
    }
}

void ROTARY_KERNEL(rotary_attention_bf16_forward)(const rotary_attention_problem *problem,
                                                  const rotary_attention_work *work, const void *packed_keys,
                                                  struct rotary_arena *scratch)
{
    struct state state;
    carve(&state, scratch, problem, work->query_end - work->query_begin);
    load_queries(problem, work, &state);
    rotary_attention_work keys = *work;
    int64_t begin = first_key(problem, work->query_begin) / KEYS * KEYS,
            end = end_key(problem, work->query_end - 1);
    tiles_begin();
    for (int64_t first = begin; first < end; first += KEYS) {
        const uint16_t *block = state.packed_keys;
        keys.key_begin = first;
        keys.key_end = min_i64(first + KEYS, end);
        if (packed_keys)
            block = (const uint16_t *)packed_keys + first / KEYS * packed_keys_elements(state.width);
        else
            ROTARY_KERNEL(rotary_attention_bf16_pack_keys)(problem, &keys, state.packed_keys);
        use_block(&state, block);
        struct block_pair pair = {.key = first, .keys = keys.key_end - first};
        while (next_query_block(problem, work, QUERIES, state.blocks * QUERIES, &pair))
            attend_block(problem, work, &state, &pair);
        state.max_key_norm = key_norm_to(&state, pair.keys - 1);
    }
    tiles_end();
    store_outputs(problem, work, &state);
}
