/* SPDX-License-Identifier: Apache-2.0
 *
 * Forward attention in bf16: 32 queries against up to KEYS keys at a time. Scores are kept in units
 * of log 2, which the packed queries bring with them.
 *
 * The largest score of a row is needed only to keep its exponentials from overflowing or vanishing. A score
 * cannot exceed |q| |k| (Cauchy and Schwarz), so while that stays below CALM for every key a row sees, its
 * weights are made relative to 0 and the row is never searched, and tiles of scores become weights as they
 * are made. Other rows go the usual way, block after block. Which way a row goes depends on the keys it sees
 * alone, and both ways sum in one order.
 */
#include "base/arena.h"
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/bf16.h"

#include <math.h>

enum {
    QUERIES = 32,
    KEYS = 512,
    SCORE_ROW = KEYS + 16 /* floats: no two rows of a tile in one set of the cache */
};
enum { WEIGHT_ROW = KEYS + 32 };
enum { CALM = 60 /* 2^60 times the longest row is far from overflow, 2^-60 from vanishing */ };

struct state {
    int64_t width;   /* elements in a padded row */
    int64_t blocks;  /* of queries, for each head */
    uint16_t *query; /* [heads of the group, blocks, QUERIES, width]: turned and scaled */
    float *output;   /* likewise: weighted sum of turned values */
    float
        *reference; /* [heads of the group, blocks, QUERIES]: what the exponents of weights are relative to */
    float *norm;    /* likewise: |q|^2 */
    float *sum; /* [heads of the group, blocks, QUERIES, 16]: of weights, in as many parts as a vector has */
    const uint16_t *key;   /* the block of keys: tiles [KEYS / 16, width / 32] */
    const uint16_t *value; /* tiles [KEYS / 32, width / 16] */
    const float *key_norm; /* [KEYS]: the largest |k|^2 of the block up to each key */
    float largest_key;     /* |k|^2 of the blocks before */
    uint16_t *packed;      /* where a block goes if none is given */
    float *score;          /* [QUERIES, SCORE_ROW], or two tiles of [QUERIES, 32] */
    uint16_t *weight;      /* [QUERIES, WEIGHT_ROW] */
    const float *bias;     /* of the head in hand, or NULL */
};

/* A packed block: tiles of keys, tiles of values, norms of keys. */
static int64_t packed_elements(int64_t width)
{
    return KEYS * (2 * width + 2);
}

size_t ROTARY_KERNEL(rotary_attention_bf16_packed_bytes)(const rotary_attention_problem *problem)
{
    return (size_t)packed_elements(rotary_attention_row(problem->head_dim)) * sizeof(uint16_t);
}

static void use_block(struct state *state, const uint16_t *packed)
{
    state->key = packed;
    state->value = packed + KEYS * state->width;
    state->key_norm = (const float *)(const void *)(packed + 2 * KEYS * state->width);
}

static void carve(struct state *state, struct rotary_arena *arena, const rotary_attention_problem *problem,
                  int64_t queries)
{
    state->width = rotary_attention_row(problem->head_dim);
    state->blocks = (queries + QUERIES - 1) / QUERIES;
    state->largest_key = 0;
    int64_t rows = problem->heads / problem->key_value_heads * state->blocks * QUERIES;
    state->query = rotary_arena_push(arena, rows * state->width, sizeof(uint16_t));
    state->output = rotary_arena_push(arena, rows * state->width, sizeof(float));
    state->reference = rotary_arena_push(arena, rows, sizeof(float));
    state->norm = rotary_arena_push(arena, rows, sizeof(float));
    state->sum = rotary_arena_push(arena, rows * SIDE, sizeof(float));
    state->packed = rotary_arena_push(arena, packed_elements(state->width), sizeof(uint16_t));
    state->score = rotary_arena_push(arena, QUERIES * SCORE_ROW, sizeof(float));
    state->weight = rotary_arena_push(arena, QUERIES * WEIGHT_ROW, sizeof(uint16_t));
}

size_t ROTARY_KERNEL(rotary_attention_bf16_forward_bytes)(const rotary_attention_problem *problem,
                                                          int64_t queries)
{
    struct state state;
    struct rotary_arena arena = {0};
    carve(&state, &arena, problem, queries);
    return arena.used;
}

enum reduction { LARGEST, TOTAL };

static inline __m512 combine(enum reduction how, __m512 a, __m512 b)
{
    return how == LARGEST ? _mm512_max_ps(a, b) : _mm512_add_ps(a, b);
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
            run = state->blocks * QUERIES;
    int64_t queries = work->query_end - work->query_begin;
    for (int64_t member = 0; member < group; member++) {
        uint16_t *rows = state->query + member * run * width;
        rotate_rows_in(rows, problem, problem->query, work->sequence, work->key_value_head * group + member,
                       work->query_begin, queries, problem->scale * LOG2_E, false, &problem->query_rotation);
        memset(rows + queries * width, 0, (size_t)((run - queries) * width) * sizeof *rows);
    }
    for (int64_t at = 0; at < group * run; at += 16) {
        __m512 squares[16];
        for (int row = 0; row < 16; row++) {
            squares[row] = _mm512_setzero_ps();
            for (int64_t channel = 0; channel < width; channel += 32)
                squares[row] = add_squares(squares[row], state->query + (at + row) * width + channel);
        }
        _mm512_storeu_ps(state->norm + at, reduce_rows(TOTAL, squares));
    }
    memset(state->reference, 0, (size_t)(group * run) * sizeof(float));
    memset(state->sum, 0, (size_t)(group * run * SIDE) * sizeof(float));
}

/* Lane i of the result is the largest of lanes 0 ... i. */
static inline __m512 largest_so_far(__m512 v)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int distance = 1; distance < 16; distance *= 2) {
        __m512i from =
            _mm512_max_epi32(_mm512_sub_epi32(lane, _mm512_set1_epi32(distance)), _mm512_setzero_si512());
        v = _mm512_max_ps(v, _mm512_permutexvar_ps(from, v));
    }
    return v;
}

/* The largest norms so far of sixteen packed keys, after others as large as `before`. Returns the last. */
static float pack_norms(float *norm, const uint16_t *tiles, int64_t width, float before)
{
    __m512 squares = _mm512_setzero_ps();
    for (int64_t pair = 0; pair < width / 2; pair++)
        squares = add_squares(squares, tiles + pair * 32);
    _mm512_storeu_ps(norm, largest_so_far(_mm512_max_ps(squares, _mm512_set1_ps(before))));
    return norm[15];
}

void ROTARY_KERNEL(rotary_attention_bf16_pack)(const rotary_attention_problem *problem,
                                               const rotary_attention_work *work, void *packed)
{
    int64_t width = rotary_attention_row(problem->head_dim), sequence = work->sequence,
            head = work->key_value_head;
    uint16_t rows[32 * ROTARY_ATTENTION_MAX_HEAD_DIM], *key = packed, *value = key + KEYS * width;
    float *norm = (float *)(void *)(value + KEYS * width), largest = 0;
    for (int64_t first = work->key_begin; first < work->key_end; first += 32) {
        int64_t some = smaller(32, work->key_end - first);
        size_t padding = (size_t)((32 - some) * width) * sizeof(uint16_t);
        rotate_rows_in(rows, problem, problem->key, sequence, head, first, some, 1.0f, true,
                       &problem->key_rotation);
        memset(rows + some * width, 0, padding);
        for (int half = 0; half < 2; half++) {
            pack_transposed(key, rows + half * 16 * width, width);
            largest = pack_norms(norm, key, width, largest);
            key += 16 * width;
            norm += 16;
        }
        rotate_rows_in(rows, problem, problem->value, sequence, head, first, some, 1.0f, true,
                       &problem->value_rotation);
        memset(rows + some * width, 0, padding);
        pack_pairs(value, rows, width);
        value += 32 * width;
    }
}

/* score[QUERIES][32] of one block of queries and 32 keys from `column` on. */
static inline void make_scores(const struct state *state, const uint16_t *query, int64_t column, float *score,
                               int64_t row)
{
    int64_t width = state->width;
    const uint16_t *key = state->key + column * width;
    multiply_block(score, row, false, width / DEPTH, (struct left_side){query, width, DEPTH},
                   (struct right_side){key, SIDE * width, TILE});
}

/* What rows see of a block, in columns: begin ... end - 1 exactly, and rounded outwards to pairs of vectors.
 */
struct sight {
    int64_t begin, end, first, last;
};

static struct sight sight_of(const rotary_attention_problem *problem, int64_t query, int64_t first,
                             int64_t columns)
{
    int64_t begin = larger(0, first_key(problem, query) - first);
    int64_t end = smaller(columns, end_key(problem, query) - first);
    if (begin >= end)
        return (struct sight){0};
    return (struct sight){begin, end, begin / 32 * 32, round_up(end, 32)};
}

static void hide(float *score, struct sight sight)
{
    const __m512 nothing = _mm512_set1_ps(-INFINITY);
    if (sight.begin > sight.first) {
        int64_t hidden = sight.begin - sight.first;
        _mm512_mask_storeu_ps(score + sight.first, first_lanes(hidden), nothing);
        _mm512_mask_storeu_ps(score + sight.first + 16, first_lanes(larger(0, hidden - 16)), nothing);
    }
    if (sight.end < sight.last) {
        int64_t seen = sight.end - (sight.last - 32);
        _mm512_mask_storeu_ps(score + sight.last - 32, (__mmask16)~first_lanes(seen), nothing);
        _mm512_mask_storeu_ps(score + sight.last - 16, (__mmask16)~first_lanes(larger(0, seen - 16)),
                              nothing);
    }
}

/* The largest |k|^2 up to key `at` of the block. */
static inline float key_norm_to(const struct state *state, int64_t at)
{
    return state->key_norm[at] > state->largest_key ? state->key_norm[at] : state->largest_key;
}

/* Whether scores are products, which |q| |k| bounds: nothing bends or shifts them. */
static inline bool is_plain(const rotary_attention_problem *problem)
{
    return problem->softcap == 0 && !problem->bias.data;
}

/* Whether a row needs no search: it has not left 0, and |q| |k| is small for every key it sees. */
static inline bool is_calm(float reference, float query_norm, float key_norm)
{
    return reference == 0 && query_norm * key_norm <= (float)CALM * CALM;
}

/* 32 scores of a row become weights relative to `reference`; lanes that are not seen become 0. */
static inline __m512i weigh_vectors(const float *score, __m512 reference, __mmask32 seen, __m512 *sum)
{
    __m512 low = exp2_coarse(_mm512_sub_ps(_mm512_loadu_ps(score), reference));
    __m512 high = exp2_coarse(_mm512_sub_ps(_mm512_loadu_ps(score + 16), reference));
    low = _mm512_maskz_mov_ps((__mmask16)seen, low);
    high = _mm512_maskz_mov_ps((__mmask16)(seen >> 16), high);
    *sum = _mm512_add_ps(*sum, _mm512_add_ps(low, high));
    return narrow_two(low, high);
}

/* A tile of scores, none hidden, of rows that are calm. */
static void weigh_calm(const float *score, uint16_t *weight, float *sum)
{
#pragma GCC unroll 2
    for (int64_t row = 0; row < QUERIES; row++) {
        __m512 low = exp2_coarse(_mm512_loadu_ps(score + row * 32));
        __m512 high = exp2_coarse(_mm512_loadu_ps(score + row * 32 + 16));
        __m512 total = _mm512_add_ps(_mm512_loadu_ps(sum + row * SIDE), _mm512_add_ps(low, high));
        _mm512_storeu_ps(sum + row * SIDE, total);
        _mm512_storeu_si512(weight + row * WEIGHT_ROW, narrow_two(low, high));
    }
}

static void weigh_calm_edge(const rotary_attention_problem *problem, const float *score, int64_t query,
                            int64_t first, uint16_t *weight, float *sum)
{
    for (int64_t row = 0; row < QUERIES; row++) {
        struct sight sight = sight_of(problem, query + row, first, 32);
        __mmask32 seen = (__mmask32)((1ull << sight.end) - (1ull << sight.begin));
        __m512 total = _mm512_loadu_ps(sum + row * SIDE);
        __m512i weights = weigh_vectors(score + row * 32, _mm512_setzero_ps(), seen, &total);
        _mm512_storeu_ps(sum + row * SIDE, total);
        _mm512_storeu_si512(weight + row * WEIGHT_ROW, weights);
    }
}

/* The calm way: tiles of scores become weights as they are made, one tile behind, so that tiles and vectors
 * work at the same time. */
static void meet_calm(const rotary_attention_problem *problem, const struct state *state, int64_t index,
                      int64_t query, int64_t first, int64_t columns)
{
    const uint16_t *queries = state->query + index * state->width;
    int64_t all_see_from = first_key(problem, query + QUERIES - 1) - first,
            all_see_to = end_key(problem, query) - first;
    float *score[2] = {state->score, state->score + QUERIES * 32}, *sum = state->sum + index * SIDE;
    make_scores(state, queries, 0, score[0], 32);
    for (int64_t column = 0; column < columns; column += 32) {
        if (column + 32 < columns)
            make_scores(state, queries, column + 32, score[(column / 32 + 1) % 2], 32);
        const float *scores = score[column / 32 % 2];
        if (column >= all_see_from && column + 32 <= all_see_to)
            weigh_calm(scores, state->weight + column, sum);
        else
            weigh_calm_edge(problem, scores, query, first + column, state->weight + column, sum);
    }
}

static void bend_rows(const rotary_attention_problem *problem, const struct state *state, int64_t query,
                      int64_t rows, int64_t first, int64_t columns)
{
    for (int64_t row = 0; row < rows; row++) {
        struct sight sight = sight_of(problem, query + row, first, columns);
        const float *bias = state->bias;
        if (bias)
            bias += (query + row) * problem->bias.query_stride + first;
        bend_row(state->score + row * SCORE_ROW, columns, sight.begin, sight.end, problem->softcap, bias,
                 LOG2_E);
    }
}

/* Rows without a weight so far: all that they could see was hidden. Weights next to the largest are near 1.
 */
static __mmask16 fully_masked_rows(const struct state *state, int64_t index)
{
    unsigned fully_masked = 0;
    for (int i = 0; i < 16; i++) {
        __m512 sum = _mm512_loadu_ps(state->sum + (index + i) * SIDE);
        fully_masked |= (unsigned)(_mm512_cmp_ps_mask(sum, _mm512_setzero_ps(), _CMP_NEQ_UQ) == 0) << i;
    }
    return (__mmask16)fully_masked;
}

/* Sixteen rows of scores become weights relative to the largest score of each so far, or to 0 where a row is
 * calm. Returns the factors by which what was summed before must be scaled. */
static __m512 weigh(const rotary_attention_problem *problem, const struct state *state, int64_t index,
                    int64_t row, int64_t query, int64_t first, int64_t columns)
{
    struct sight sight[16];
    __m512 rows[16];
    __mmask16 calm = 0, fresh = 0;
    float *score = state->score + row * SCORE_ROW;
    index += row;
    query += row;
    for (int i = 0; i < 16; i++) {
        float *line = score + i * SCORE_ROW;
        __m512 a = _mm512_set1_ps(-INFINITY), b = a;
        sight[i] = sight_of(problem, query + i, first, columns);
        hide(line, sight[i]);
        for (int64_t column = sight[i].first; column < sight[i].last; column += 32) {
            a = _mm512_max_ps(a, _mm512_loadu_ps(line + column));
            b = _mm512_max_ps(b, _mm512_loadu_ps(line + column + 16));
        }
        rows[i] = _mm512_max_ps(a, b);
        bool is = sight[i].end > 0 && is_plain(problem) &&
                  is_calm(state->reference[index + i], state->norm[index + i],
                          key_norm_to(state, sight[i].end - 1));
        calm = (__mmask16)(calm | (unsigned)is << i);
        fresh = (__mmask16)(fresh | (unsigned)(first_key(problem, query + i) >= first) << i);
    }
    if (state->bias)
        fresh |= fully_masked_rows(state, index);
    const __m512 nothing = _mm512_set1_ps(-INFINITY);
    __m512 previous = _mm512_loadu_ps(state->reference + index);
    __m512 highest = _mm512_max_ps(_mm512_mask_mov_ps(previous, fresh, nothing), reduce_rows(LARGEST, rows));
    __mmask16 fully_masked = _mm512_cmp_ps_mask(highest, nothing, _CMP_EQ_OQ);
    __m512 reference = _mm512_mask_mov_ps(highest, (__mmask16)(fully_masked | calm), _mm512_setzero_ps());
    _mm512_storeu_ps(state->reference + index, reference);
    /* Exactly 1 where the reference stays, or a long row would drift. */
    __m512 factors = (__m512)v_exp((vfloat)_mm512_sub_ps(previous, reference) * v_set(LN_2));
    float factor[16];
    _mm512_storeu_ps(factor, _mm512_mask_mov_ps(factors, fresh, _mm512_setzero_ps()));
    for (int i = 0; i < 16; i++) {
        const float *line = score + i * SCORE_ROW;
        uint16_t *weight = state->weight + (row + i) * WEIGHT_ROW;
        float *sum = state->sum + (index + i) * SIDE;
        __m512 total = _mm512_mul_ps(_mm512_loadu_ps(sum), _mm512_set1_ps(factor[i]));
        __m512 relative_to = _mm512_set1_ps(state->reference[index + i]);
        memset(weight, 0, (size_t)columns * sizeof *weight);
        for (int64_t column = sight[i].first; column < sight[i].last; column += 32)
            _mm512_storeu_si512(weight + column,
                                weigh_vectors(line + column, relative_to, 0xffffffffu, &total));
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

/* The usual way: all scores, then the largest of each row, then weights. */
static void meet_wild(const rotary_attention_problem *problem, const struct state *state, int64_t index,
                      int64_t query, int64_t rows, int64_t first, int64_t columns)
{
    float *output = state->output + index * state->width;
    for (int64_t column = 0; column < columns; column += 32)
        make_scores(state, state->query + index * state->width, column, state->score + column, SCORE_ROW);
    if (problem->softcap > 0 || state->bias)
        bend_rows(problem, state, query, rows, first, columns);
    for (int64_t row = 0; row < QUERIES; row += 16)
        scale_rows(output + row * state->width, state->width,
                   weigh(problem, state, index, row, query, first, columns));
}

static float largest_norm(const float *norm)
{
    return _mm512_reduce_max_ps(_mm512_max_ps(_mm512_loadu_ps(norm), _mm512_loadu_ps(norm + 16)));
}

/* Queries of one block meet keys first ... first + count - 1, which are in `state`. */
static void meet(const rotary_attention_problem *problem, const struct state *state, int64_t index,
                 int64_t query, int64_t rows, int64_t first, int64_t count, bool add)
{
    int64_t width = state->width;
    float *output = state->output + index * width;
    count = smaller(count, end_key(problem, query + rows - 1) - first);
    int64_t columns = count > 0 && first + count > first_key(problem, query) ? round_up(count, 32) : 0;
    if (!add)
        memset(output, 0, (size_t)(QUERIES * width) * sizeof *output);
    if (columns == 0)
        return;
    bool settled = true;
    for (int64_t row = 0; row < QUERIES; row++)
        settled = settled && state->reference[index + row] == 0;
    if (settled && is_plain(problem) &&
        is_calm(0, largest_norm(state->norm + index), key_norm_to(state, count - 1)))
        meet_calm(problem, state, index, query, first, columns);
    else
        meet_wild(problem, state, index, query, rows, first, columns);
    for (int64_t channel = 0; channel < width; channel += 32) {
        const uint16_t *value = state->value + channel / SIDE * TILE;
        multiply_block(output + channel, width, true, columns / DEPTH,
                       (struct left_side){state->weight, WEIGHT_ROW, DEPTH},
                       (struct right_side){value, TILE, width / SIDE * TILE});
    }
}

static void store_outputs(const rotary_attention_problem *problem, const rotary_attention_work *work,
                          const struct state *state)
{
    int64_t group = problem->heads / problem->key_value_heads, width = state->width,
            run = state->blocks * QUERIES;
    int64_t queries = work->query_end - work->query_begin;
    for (int64_t at = 0; at < group * run; at += 16) {
        __m512 parts[16];
        float sum[16];
        int64_t head = work->key_value_head * group + at / run, query = work->query_begin + at % run;
        for (int row = 0; row < 16; row++)
            parts[row] = _mm512_loadu_ps(state->sum + (at + row) * SIDE);
        _mm512_storeu_ps(sum, reduce_rows(TOTAL, parts));
        for (int64_t row = 0; row < smaller(16, queries - at % run); row++) {
            rotate_out(place_at(problem, problem->output, work->sequence, query + row, head),
                       state->output + (at + row) * width, problem->head_dim,
                       sum[row] == 0 ? 0.0f : 1 / sum[row], &problem->output_rotation, query + row);
            if (problem->log_sum_exp)
                problem
                    ->log_sum_exp[(work->sequence * problem->heads + head) * problem->queries + query + row] =
                    sum[row] == 0 ? -INFINITY : state->reference[at + row] * LN_2 + logf(sum[row]);
        }
    }
}

void ROTARY_KERNEL(rotary_attention_bf16_forward)(const rotary_attention_problem *problem,
                                                  const rotary_attention_work *work, const void *packed,
                                                  void *scratch)
{
    int64_t group = problem->heads / problem->key_value_heads;
    struct state state;
    struct rotary_arena arena = rotary_arena_over(scratch);
    carve(&state, &arena, problem, work->query_end - work->query_begin);
    load_queries(problem, work, &state);
    rotary_attention_work keys = *work;
    int64_t begin = first_key(problem, work->query_begin) / KEYS * KEYS,
            end = end_key(problem, work->query_end - 1);
    if (begin >= end)
        memset(state.output, 0, (size_t)(group * state.blocks * QUERIES * state.width) * sizeof(float));
    tiles_begin();
    for (int64_t first = begin; first < end; first += KEYS) {
        keys.key_begin = first;
        keys.key_end = smaller(first + KEYS, end);
        if (!packed)
            ROTARY_KERNEL(rotary_attention_bf16_pack)(problem, &keys, state.packed);
        use_block(&state, packed ? (const uint16_t *)packed + first / KEYS * packed_elements(state.width)
                                 : state.packed);
        for (int64_t member = 0; member < group; member++) {
            state.bias = bias_of(problem, work->sequence, work->key_value_head * group + member);
            for (int64_t at = 0; at < state.blocks; at++) {
                int64_t query = work->query_begin + at * QUERIES;
                meet(problem, &state, (member * state.blocks + at) * QUERIES, query,
                     smaller(QUERIES, work->query_end - query), first, keys.key_end - first, first > begin);
            }
        }
        state.largest_key = key_norm_to(&state, keys.key_end - 1 - first);
    }
    tiles_end();
    store_outputs(problem, work, &state);
}
