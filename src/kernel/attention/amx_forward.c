/* SPDX-License-Identifier: Apache-2.0
 *
 * Forward attention in bf16 on tiles: 32 queries against up to KEYS keys at a time. Scores are kept in units
 * of log 2, which the packed queries bring with them. A wide block of keys makes the rescaling between
 * blocks, and the reduction of each row, cheap.
 */
#include "base/arena.h"
#include "kernel/attention/amx.h"
#include "kernel/attention/variants.h"

#include <math.h>

enum {
    QUERIES = 32,
    KEYS = 256,
    SCORE_ROW = KEYS + 16 /* floats: no two rows of a tile in one set of the cache */
};

struct state {
    int64_t width;   /* elements in a padded row */
    int64_t blocks;  /* of queries, for each head */
    uint16_t *query; /* [heads of the group, blocks, QUERIES, width]: turned and scaled */
    float *output;   /* likewise: weighted sum of turned values */
    float *maximum;  /* [heads of the group, blocks, QUERIES] */
    float *sum;      /* likewise */
    uint16_t *rows;  /* [QUERIES, width]: turned, on their way into tiles */
    uint16_t *key;   /* tiles [KEYS / 16, width / 32] */
    uint16_t *value; /* tiles [KEYS / 32, width / 16] */
    float *score; /* [QUERIES, SCORE_ROW]; weights in bf16 take the place of the scores they are made from */
};

static void carve(struct state *state, struct rotary_arena *arena, const rotary_attention_problem *problem,
                  int64_t queries)
{
    state->width = rotary_attention_row(problem->head_dim);
    state->blocks = (queries + QUERIES - 1) / QUERIES;
    int64_t rows = problem->heads / problem->key_value_heads * state->blocks * QUERIES;
    state->query = rotary_arena_push(arena, rows * state->width, sizeof(uint16_t));
    state->output = rotary_arena_push(arena, rows * state->width, sizeof(float));
    state->maximum = rotary_arena_push(arena, rows, sizeof(float));
    state->sum = rotary_arena_push(arena, rows, sizeof(float));
    state->rows = rotary_arena_push(arena, QUERIES * state->width, sizeof(uint16_t));
    state->key = rotary_arena_push(arena, KEYS * state->width, sizeof(uint16_t));
    state->value = rotary_arena_push(arena, KEYS * state->width, sizeof(uint16_t));
    state->score = rotary_arena_push(arena, QUERIES * SCORE_ROW, sizeof(float));
}

size_t rotary_attention_tile_forward_bytes(const rotary_attention_problem *problem, int64_t queries)
{
    struct state state;
    struct rotary_arena arena = {0};
    carve(&state, &arena, problem, queries);
    return arena.used;
}

static void load_queries(const rotary_attention_problem *problem, const rotary_attention_piece *piece,
                         struct state *state)
{
    int64_t group = problem->heads / problem->key_value_heads, width = state->width,
            run = state->blocks * QUERIES;
    int64_t queries = piece->query_end - piece->query_begin;
    float factor = problem->scale * LOG2_E;
    for (int64_t member = 0; member < group; member++) {
        uint16_t *rows = state->query + member * run * width;
        for (int64_t at = 0; at < queries; at++)
            turn_in(rows + at * width,
                    vector_at(problem, problem->query, piece->sequence, piece->query_begin + at,
                              piece->key_value_head * group + member),
                    problem->head_dim, width, factor, &problem->query_turn, piece->query_begin + at);
        memset(rows + queries * width, 0, (size_t)((run - queries) * width) * sizeof *rows);
    }
    for (int64_t at = 0; at < group * run; at++) {
        state->maximum[at] = -INFINITY;
        state->sum[at] = 0;
    }
}

/* Keys, or values, first ... first + count - 1, turned into state->rows, zero rows after them. */
static void load_rows(const rotary_attention_problem *problem, const rotary_attention_piece *piece,
                      const struct state *state, rotary_attention_const_view view,
                      const struct rotary_attention_turn *turn, int64_t first, int64_t count)
{
    for (int64_t at = 0; at < count; at++)
        turn_in(
            state->rows + at * state->width,
            vector_at(problem, view, piece->sequence, key_row(problem, first + at), piece->key_value_head),
            problem->head_dim, state->width, 1.0f, turn, first + at);
    memset(state->rows + count * state->width, 0,
           (size_t)((QUERIES - count) * state->width) * sizeof(uint16_t));
}

static void load_keys(const rotary_attention_problem *problem, const rotary_attention_piece *piece,
                      const struct state *state, int64_t first, int64_t count)
{
    int64_t width = state->width;
    for (int64_t at = 0; at < count; at += 32) {
        int64_t some = smaller(32, count - at);
        load_rows(problem, piece, state, problem->key, &problem->key_turn, first + at, some);
        pack_transposed(state->key + at * width, state->rows, width);
        pack_transposed(state->key + (at + 16) * width, state->rows + 16 * width, width);
        load_rows(problem, piece, state, problem->value, &problem->value_turn, first + at, some);
        pack_pairs(state->value + at * width, state->rows, width);
    }
}

/* score[QUERIES][columns] of one block of queries. */
static void make_scores(const struct state *state, const uint16_t *query, int64_t columns)
{
    int64_t width = state->width;
    for (int64_t column = 0; column < columns; column += 32) {
        const uint16_t *key = state->key + column * width;
        zero_sums();
        multiply_tiles(width / DEPTH, query, query + SIDE * width, width * 2, key, key + SIDE * width, TILE);
        store_sums(state->score + column, SCORE_ROW);
    }
}

static void cap_scores(float *score, int64_t rows, int64_t columns, float softcap)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column += 16) {
            float *at = score + row * SCORE_ROW + column;
            v_store(at, v_set(softcap * LOG2_E) * v_tanh(v_load(at) * v_set(LN_2 / softcap)));
        }
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

/* Sixteen rows of scores become weights relative to each row's largest score so far. Returns the factors by
 * which what was summed before must be scaled. */
static __m512 weigh(const rotary_attention_problem *problem, float *score, int64_t query, int64_t first,
                    int64_t columns, float *maximum, float *sum)
{
    struct sight sight[16];
    __m512 rows[16];
    for (int row = 0; row < 16; row++) {
        float *line = score + row * SCORE_ROW;
        __m512 a = _mm512_set1_ps(-INFINITY), b = a;
        sight[row] = sight_of(problem, query + row, first, columns);
        hide(line, sight[row]);
        for (int64_t column = sight[row].first; column < sight[row].last; column += 32) {
            a = _mm512_max_ps(a, _mm512_loadu_ps(line + column));
            b = _mm512_max_ps(b, _mm512_loadu_ps(line + column + 16));
        }
        rows[row] = _mm512_max_ps(a, b);
    }
    __m512 previous = _mm512_loadu_ps(maximum), highest = _mm512_max_ps(previous, reduce_rows(LARGEST, rows));
    _mm512_storeu_ps(maximum, highest);
    /* A row that has seen nothing yet is weighed relative to 0. */
    float reference[16];
    __mmask16 blind = _mm512_cmp_ps_mask(highest, _mm512_set1_ps(-INFINITY), _CMP_EQ_OQ);
    _mm512_storeu_ps(reference, _mm512_mask_mov_ps(highest, blind, _mm512_setzero_ps()));
    for (int row = 0; row < 16; row++) {
        float *line = score + row * SCORE_ROW;
        uint16_t *weight = (uint16_t *)(void *)line;
        __m512 a = _mm512_setzero_ps(), b = a, relative_to = _mm512_set1_ps(reference[row]);
        for (int64_t column = 0; column < sight[row].first; column += 32)
            _mm512_storeu_si512(weight + column, _mm512_setzero_si512());
        for (int64_t column = sight[row].first; column < sight[row].last; column += 32) {
            __m512 low = exp2_coarse(_mm512_sub_ps(_mm512_loadu_ps(line + column), relative_to));
            __m512 high = exp2_coarse(_mm512_sub_ps(_mm512_loadu_ps(line + column + 16), relative_to));
            a = _mm512_add_ps(a, low);
            b = _mm512_add_ps(b, high);
            _mm512_storeu_si512(weight + column, narrow_two(low, high));
        }
        for (int64_t column = sight[row].last; column < columns; column += 32)
            _mm512_storeu_si512(weight + column, _mm512_setzero_si512());
        rows[row] = _mm512_add_ps(a, b);
    }
    /* Exactly 1 where the largest score stays, or a long row would drift. */
    vfloat change = (vfloat)_mm512_sub_ps(previous, _mm512_loadu_ps(reference));
    __m512 factor = (__m512)v_exp(change * v_set(LN_2));
    _mm512_storeu_ps(sum, _mm512_fmadd_ps(_mm512_loadu_ps(sum), factor, reduce_rows(TOTAL, rows)));
    return factor;
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

/* Queries of one block meet keys first ... first + count - 1, which are in `state`. */
static void meet(const rotary_attention_problem *problem, struct state *state, int64_t index, int64_t query,
                 int64_t rows, int64_t first, int64_t count, bool add)
{
    int64_t width = state->width, row_bytes = SCORE_ROW * 4;
    float *output = state->output + index * width;
    count = smaller(count, end_key(problem, query + rows - 1) - first);
    int64_t columns = count > 0 && first + count > first_key(problem, query) ? round_up(count, 32) : 0;
    if (columns == 0) {
        if (!add)
            memset(output, 0, (size_t)(QUERIES * width) * sizeof *output);
        return;
    }
    make_scores(state, state->query + index * width, columns);
    if (problem->softcap > 0)
        cap_scores(state->score, rows, columns, problem->softcap);
    for (int64_t row = 0; row < QUERIES; row += 16) {
        __m512 factor = weigh(problem, state->score + row * SCORE_ROW, query + row, first, columns,
                              state->maximum + index + row, state->sum + index + row);
        if (add)
            scale_rows(output + row * width, width, factor);
    }
    const uint16_t *weight = (const uint16_t *)(const void *)state->score;
    for (int64_t channel = 0; channel < width; channel += 32) {
        const uint16_t *value = state->value + channel / SIDE * TILE;
        if (add)
            load_sums(output + channel, width);
        else
            zero_sums();
        multiply_tiles(columns / DEPTH, weight, weight + SIDE * SCORE_ROW * 2, row_bytes, value, value + TILE,
                       width / SIDE * TILE);
        store_sums(output + channel, width);
    }
}

static void store_outputs(const rotary_attention_problem *problem, const rotary_attention_piece *piece,
                          const struct state *state)
{
    int64_t group = problem->heads / problem->key_value_heads, width = state->width;
    for (int64_t member = 0; member < group; member++) {
        int64_t head = piece->key_value_head * group + member;
        for (int64_t query = piece->query_begin; query < piece->query_end; query++) {
            int64_t index = member * state->blocks * QUERIES + query - piece->query_begin;
            float sum = state->sum[index];
            turn_out(place_at(problem, problem->output, piece->sequence, query, head),
                     state->output + index * width, problem->head_dim, sum == 0 ? 0.0f : 1 / sum,
                     &problem->output_turn, query);
            if (problem->log_sum_exp)
                problem->log_sum_exp[(piece->sequence * problem->heads + head) * problem->queries + query] =
                    sum == 0 ? -INFINITY : state->maximum[index] * LN_2 + logf(sum);
        }
    }
}

void rotary_attention_tile_forward(const rotary_attention_problem *problem,
                                   const rotary_attention_piece *piece, void *scratch)
{
    int64_t group = problem->heads / problem->key_value_heads;
    struct state state;
    struct rotary_arena arena = {.memory = scratch, .capacity = SIZE_MAX / 2};
    carve(&state, &arena, problem, piece->query_end - piece->query_begin);
    load_queries(problem, piece, &state);
    int64_t begin = first_key(problem, piece->query_begin) / KEYS * KEYS,
            end = end_key(problem, piece->query_end - 1);
    if (begin >= end)
        memset(state.output, 0, (size_t)(group * state.blocks * QUERIES * state.width) * sizeof(float));
    tiles_begin();
    for (int64_t first = begin; first < end; first += KEYS) {
        int64_t count = smaller(KEYS, end - first);
        load_keys(problem, piece, &state, first, count);
        for (int64_t member = 0; member < group; member++)
            for (int64_t block = 0; block < state.blocks; block++) {
                int64_t query = piece->query_begin + block * QUERIES;
                meet(problem, &state, (member * state.blocks + block) * QUERIES, query,
                     smaller(QUERIES, piece->query_end - query), first, count, first > begin);
            }
    }
    tiles_end();
    store_outputs(problem, piece, &state);
}
