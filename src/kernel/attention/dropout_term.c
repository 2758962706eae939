/* SPDX-License-Identifier: Apache-2.0
 *
 * The weight term that drops attention weights. A Philox block decides over 8 weights, 16 bits for each: with
 * m and n counted in their sequence, block (n / 32 * 16 + n % 16, m / 4) has in the half n / 16 % 2 of its
 * word m % 4 the bits of query m and key n. The seed of a sequence and head is a block of the layer's and
 * step's.
 */
#include "base/random.h"
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/tile.h"
#include "kernel/philox_lanes.h"

enum { SQUARE = 32, GROUP = 4 }; /* queries and keys whose factors are made at a time; queries of a block */

static bool is_present(const rotary_attention_problem *problem)
{
    return problem->dropout.threshold > 0;
}

static uint64_t seed_of(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile)
{
    struct rotary_random_key key = {problem->dropout.seed, ROTARY_STREAM_ATTENTION_DROPOUT,
                                    (uint32_t)tile->head};
    uint32_t words[4];
    rotary_random_block(key, (uint64_t)(problem->dropout.sequence + tile->sequence), words);
    return words[0] | (uint64_t)words[1] << 32;
}

/* Factors of 4 queries and 32 keys, 0 or the scale; the first are multiples of 4 and 32. */
static void draw_group(const struct rotary_attention_dropout_mask *dropout, uint64_t seed, int64_t query,
                       int64_t key, float factors[GROUP][SQUARE])
{
    const vuint zero = {0}, threshold = zero + dropout->threshold;
    vint scale = (vint)v_set(dropout->scale);
    for (int lane = 0; lane < SQUARE / 2; lane += LANES) {
        philox_word words[4] = {(philox_word)v_lanes() + (uint32_t)(key / 2 + lane),
                                zero + (uint32_t)(query / GROUP), zero + ROTARY_STREAM_ATTENTION_DROPOUT,
                                zero};
        philox_rounds(words, seed);
        for (int row = 0; row < GROUP; row++) {
            vint low = (vint)((words[row] & 0xffffu) >= threshold),
                 high = (vint)((words[row] >> 16) >= threshold);
            v_store(factors[row] + lane, (vfloat)(low & scale));
            v_store(factors[row] + SQUARE / 2 + lane, (vfloat)(high & scale));
        }
    }
}

/* A row *= factors. */
static void multiply_row(float *row, const float *factors, int64_t columns)
{
    for (int64_t column = 0; column < columns; column += LANES) {
        int64_t left = columns - column;
        vfloat product = load_columns(row + column, left) * load_columns(factors + column, left);
        if (left >= LANES)
            v_store(row + column, product);
        else
            v_store_part(row + column, product, left);
    }
}

/* Multiplies the part of a tile that is in the square from `query` and `key` on by its factors; `dp` may be
 * NULL. */
static void multiply_square(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                            uint64_t seed, int64_t query, int64_t key, float *w, float *dp,
                            int64_t row_stride)
{
    float drawn[SQUARE][SQUARE], transposed[SQUARE][SQUARE];
    int64_t query_begin = max_i64(0, tile->query - query),
            query_end = min_i64(SQUARE, tile->query + tile->queries - query),
            key_begin = max_i64(0, tile->key - key), key_end = min_i64(SQUARE, tile->key + tile->keys - key);
    for (int64_t at = query_begin / GROUP * GROUP; at < query_end; at += GROUP)
        draw_group(&problem->dropout, seed, query + at, key, drawn + at);
    int64_t row_begin = query_begin, row_end = query_end, begin = key_begin, end = key_end;
    int64_t offset = (query - tile->query) * row_stride + key - tile->key;
    const float *factors = drawn[0];
    if (tile->transposed) {
        for (int row = 0; row < SQUARE; row += LANES)
            for (int column = 0; column < SQUARE; column += LANES)
                transpose_square(transposed[column] + row, SQUARE, drawn[row] + column, SQUARE);
        row_begin = key_begin, row_end = key_end, begin = query_begin, end = query_end;
        offset = (key - tile->key) * row_stride + query - tile->query;
        factors = transposed[0];
    }
    for (int64_t row = row_begin; row < row_end; row++) {
        int64_t at = offset + row * row_stride + begin;
        multiply_row(w + at, factors + row * SQUARE + begin, end - begin);
        if (dp)
            multiply_row(dp + at, factors + row * SQUARE + begin, end - begin);
    }
}

static void multiply(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                     float *w, float *dp, int64_t row_stride)
{
    uint64_t seed = seed_of(problem, tile);
    for (int64_t query = tile->query / SQUARE * SQUARE; query < tile->query + tile->queries; query += SQUARE)
        for (int64_t key = tile->key / SQUARE * SQUARE; key < tile->key + tile->keys; key += SQUARE)
            multiply_square(problem, tile, seed, query, key, w, dp, row_stride);
}

static void forward(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                    float *p, int64_t row_stride)
{
    multiply(problem, tile, p, NULL, row_stride);
}

static void backward(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile,
                     const float *p, float *w, float *dp, int64_t row_stride)
{
    (void)p;
    multiply(problem, tile, w, dp, row_stride);
}

const struct rotary_attention_weight_term ROTARY_KERNEL(rotary_attention_dropout_term) = {
    .is_present = is_present, .forward = forward, .backward = backward};
