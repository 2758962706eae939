/* SPDX-License-Identifier: Apache-2.0
 *
 * Forward attention in f32: blocks of queries against blocks of keys, the softmax computed online. For each
 * row the largest score so far, the sum of exponentials relative to it, and the weighted sum of values are
 * kept; a block that raises the largest score scales the other two down.
 */
#include "base/arena.h"
#include "kernel/attention/tile.h"
#include "kernel/attention/variants.h"

#include <math.h>

struct state {
    int64_t width;     /* floats in a padded row */
    int64_t blocks;    /* of queries, for each head */
    float *query;      /* [heads of the group, blocks, QUERY_BLOCK, width]: turned and scaled */
    float *output;     /* likewise: weighted sum of turned values */
    float *maximum;    /* [heads of the group, blocks, QUERY_BLOCK] */
    float *sum;        /* likewise */
    float *packed;     /* a block of keys and values, where none is given */
    float *score;      /* [QUERY_BLOCK, KEY_BLOCK] */
    const float *bias; /* of the head in hand, or NULL */
};

static void carve(struct state *state, struct rotary_arena *arena, const rotary_attention_problem *problem,
                  int64_t queries)
{
    int64_t group = problem->heads / problem->key_value_heads;
    state->width = rotary_attention_row(problem->head_dim);
    state->blocks = (queries + QUERY_BLOCK - 1) / QUERY_BLOCK;
    int64_t rows = group * state->blocks * QUERY_BLOCK;
    state->query = rotary_arena_push(arena, rows * state->width, sizeof(float));
    state->output = rotary_arena_push(arena, rows * state->width, sizeof(float));
    state->maximum = rotary_arena_push(arena, rows, sizeof(float));
    state->sum = rotary_arena_push(arena, rows, sizeof(float));
    state->packed = rotary_arena_push(arena, 2 * KEY_BLOCK * state->width, sizeof(float));
    state->score = rotary_arena_push(arena, QUERY_BLOCK * KEY_BLOCK, sizeof(float));
}

/* A packed block: KEY_BLOCK keys as panels of their transpose, then as many values row by row. */
size_t ROTARY_KERNEL(rotary_attention_packed_bytes)(const rotary_attention_problem *problem)
{
    return (size_t)(2 * KEY_BLOCK * rotary_attention_row(problem->head_dim)) * sizeof(float);
}

void ROTARY_KERNEL(rotary_attention_pack)(const rotary_attention_problem *problem,
                                          const rotary_attention_piece *piece, void *packed)
{
    int64_t width = rotary_attention_row(problem->head_dim), count = piece->key_end - piece->key_begin;
    float *panels = packed, *value = panels + KEY_BLOCK * width;
    /* The keys wait where the values will be until they are transposed. */
    load_key_rows(value, problem, piece, problem->key, &problem->key_turn, piece->key_begin, count);
    transpose_rows(panels, value, round_up(count, STEP), width);
    load_key_rows(value, problem, piece, problem->value, &problem->value_turn, piece->key_begin, count);
}

size_t ROTARY_KERNEL(rotary_attention_forward_bytes)(const rotary_attention_problem *problem, int64_t queries)
{
    struct state state;
    struct rotary_arena arena = {0};
    carve(&state, &arena, problem, queries);
    return arena.used;
}

static void load_queries(const rotary_attention_problem *problem, const rotary_attention_piece *piece,
                         struct state *state)
{
    int64_t group = problem->heads / problem->key_value_heads, width = state->width;
    for (int64_t member = 0; member < group; member++)
        for (int64_t at = 0; at < state->blocks * QUERY_BLOCK; at++) {
            int64_t index = member * state->blocks * QUERY_BLOCK + at, query = piece->query_begin + at;
            float *row = state->query + index * width;
            state->maximum[index] = -INFINITY;
            state->sum[index] = 0;
            memset(row, 0, (size_t)width * sizeof *row);
            if (query >= piece->query_end)
                continue;
            fetch_ahead(problem, problem->query, piece->sequence, query, piece->query_end - 1,
                        piece->key_value_head * group + member);
            load_row(row,
                     vector_at(problem, problem->query, piece->sequence, query,
                               piece->key_value_head * group + member),
                     problem->bf16, problem->head_dim);
            turn_row(row, &problem->query_turn, query, 1.0f);
            for (int64_t channel = 0; channel < width; channel += LANES)
                v_store(row + channel, v_load(row + channel) * v_set(problem->scale));
        }
    memset(state->output, 0, (size_t)(group * state->blocks * QUERY_BLOCK * width) * sizeof(float));
}

/* Rows begin ... end - 1 of scores become weights: all their largest scores first, so that no row waits for
 * its own. */
static void weigh_group(const rotary_attention_problem *problem, struct state *state, struct span seen,
                        int64_t index, int64_t query, int64_t begin, int64_t end, int64_t first)
{
    int64_t from = seen.begin / COLUMNS * COLUMNS, columns = round_up(seen.end, COLUMNS) - from;
    float largest[ROWS], *score = state->score + from;
    if (columns == 0)
        return;
    for (int64_t row = begin; row < end; row++) {
        const float *bias = state->bias;
        if (bias)
            bias += (query + row) * problem->bias.query_stride + first + from;
        largest[row - begin] = largest_score(
            score + row * KEY_BLOCK, columns,
            larger(first_key(problem, query + row) - first, seen.begin) - from,
            smaller(end_key(problem, query + row) - first, seen.end) - from, problem->softcap, bias);
    }
    for (int64_t row = begin; row < end; row++) {
        float factor = weigh_row(score + row * KEY_BLOCK, columns, largest[row - begin],
                                 &state->maximum[index + row], &state->sum[index + row]);
        float *output = state->output + (index + row) * state->width;
        for (int64_t channel = 0; channel < state->width; channel += LANES)
            v_store(output + channel, v_load(output + channel) * v_set(factor));
    }
}

/* Queries of one block meet keys first ... first + count - 1. */
static void meet(const rotary_attention_problem *problem, struct state *state, const float *packed,
                 int64_t index, int64_t query, int64_t rows, int64_t first, int64_t count)
{
    count = smaller(count, end_key(problem, query + rows - 1) - first);
    if (count <= 0 || first + count <= first_key(problem, query))
        return;
    int64_t width = state->width;
    float *output = state->output + index * width;
    struct span seen[QUERY_BLOCK / ROWS];
    int64_t groups = spans_seen(problem, query, rows, first, count, seen);
    multiply_seen(groups, seen, count, width, state->query + index * width, packed, state->score);
    for (int64_t row = 0; row < rows; row += ROWS)
        weigh_group(problem, state, seen[row / ROWS], index, query, row, smaller(row + ROWS, rows), first);
    add_seen(groups, seen, width, state->score, packed + KEY_BLOCK * width, output);
}

static void store_outputs(const rotary_attention_problem *problem, const rotary_attention_piece *piece,
                          struct state *state)
{
    int64_t group = problem->heads / problem->key_value_heads, width = state->width;
    for (int64_t member = 0; member < group; member++)
        for (int64_t query = piece->query_begin; query < piece->query_end; query++) {
            int64_t index = member * state->blocks * QUERY_BLOCK + query - piece->query_begin;
            int64_t head = piece->key_value_head * group + member;
            float *row = state->output + index * width, sum = state->sum[index];
            claim_ahead(problem, problem->output, piece->sequence, query, piece->query_end - 1, head);
            vfloat inverse = v_set(sum == 0 ? 0.0f : 1 / sum); /* a sum that is NaN stays NaN */
            for (int64_t channel = 0; channel < width; channel += LANES)
                v_store(row + channel, v_load(row + channel) * inverse);
            turn_row(row, &problem->output_turn, query, -1.0f);
            store_row(place_at(problem, problem->output, piece->sequence, query, head), row, problem->bf16,
                      problem->head_dim);
            if (problem->log_sum_exp)
                problem->log_sum_exp[(piece->sequence * problem->heads + head) * problem->queries + query] =
                    sum == 0 ? -INFINITY : state->maximum[index] + logf(sum);
        }
}

void ROTARY_KERNEL(rotary_attention_forward)(const rotary_attention_problem *problem,
                                             const rotary_attention_piece *piece, const void *packed,
                                             void *scratch)
{
    int64_t group = problem->heads / problem->key_value_heads;
    struct state state;
    struct rotary_arena arena = rotary_arena_over(scratch);
    carve(&state, &arena, problem, piece->query_end - piece->query_begin);
    load_queries(problem, piece, &state);
    rotary_attention_piece keys = *piece;
    int64_t begin = first_key(problem, piece->query_begin), end = end_key(problem, piece->query_end - 1);
    for (int64_t first = begin / KEY_BLOCK * KEY_BLOCK; first < end; first += KEY_BLOCK) {
        const float *block = packed;
        keys.key_begin = first;
        keys.key_end = smaller(first + KEY_BLOCK, end);
        if (packed)
            block += 2 * first * state.width;
        else
            ROTARY_KERNEL(rotary_attention_pack)(problem, &keys, state.packed);
        for (int64_t member = 0; member < group; member++) {
            state.bias = bias_of(problem, piece->sequence, piece->key_value_head * group + member);
            for (int64_t at = 0; at < state.blocks; at++) {
                int64_t query = piece->query_begin + at * QUERY_BLOCK;
                meet(problem, &state, packed ? block : state.packed,
                     (member * state.blocks + at) * QUERY_BLOCK, query,
                     smaller(QUERY_BLOCK, piece->query_end - query), first, keys.key_end - first);
            }
        }
    }
    store_outputs(problem, piece, &state);
}

void ROTARY_KERNEL(rotary_attention_turn)(const rotary_attention_problem *problem,
                                          const struct rotary_attention_turn *turn, int64_t row, void *to,
                                          const void *from)
{
    float vector[ROTARY_ATTENTION_LARGEST_HEAD];
    load_row(vector, from, problem->bf16, problem->head_dim);
    turn_row(vector, turn, row, 1.0f);
    store_row(to, vector, problem->bf16, problem->head_dim);
}
