/* SPDX-License-Identifier: Apache-2.0
 *
 * Matmuls of small tiles in bf16, summed in f32, for vectors by distance: left-hand sides are pairs of bf16
 * at any two strides, right-hand sides vectors of pairs.
 */
#ifndef ROTARY_KERNEL_ATTENTION_NUMBER_PAIRS_H
#define ROTARY_KERNEL_ATTENTION_NUMBER_PAIRS_H

#include "kernel/attention/tile.h"

/* The numbers of a tile: that of query i and key j is at i * query + j * key. MARGIN keys before the first
 * and after the last are zero. */
struct numbers {
    const float *from;
    int64_t query, key;
    int64_t queries, keys;
    const uint16_t *halves; /* they are here, in bf16, as rows, and `from` has none; NULL: they are not */
};
enum { MARGIN = ROTARY_ATTENTION_TERM_MARGIN };
_Static_assert((int)MARGIN >= (int)ROWS, "rows of a group start one number later than the row above");

/* Pair s of row i is the two elements at from + i * row + s * step. */
struct left_pairs {
    const uint16_t *from;
    int64_t row, step;
};

/* Pairs s of all columns are at from + s * row. */
struct right_pairs {
    const uint32_t *from;
    int64_t row;
};

enum {
    PAIR_VECTORS = 3 /* of sums in each of ROWS rows, at most: with their operands they fill the registers */
};

/* c[ROWS][vectors * LANES], rows `c_row` floats apart, (+)= left right, summed over `steps` pairs. */
static inline __attribute__((always_inline)) void multiply_pairs(int64_t steps, const struct left_pairs *left,
                                                                 const struct right_pairs *right, float *c,
                                                                 int64_t c_row, bool add, const int vectors)
{
    vfloat sum[ROWS][PAIR_VECTORS];
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            sum[i][v] = add ? v_load(c + i * c_row + v * LANES) : (vfloat){0};
    for (int64_t s = 0; s < steps; s++) {
        const uint16_t *from = left->from + s * left->step;
        const uint32_t *columns = right->from + s * right->row;
        vint pairs[PAIR_VECTORS];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            memcpy(&pairs[v], columns + v * LANES, sizeof pairs[v]);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) {
            int32_t both;
            memcpy(&both, from + i * left->row, sizeof both);
            vint factor = both - (vint){0};
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++)
                sum[i][v] = v_add_pairs(factor, pairs[v], sum[i][v]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            v_store(c + i * c_row + v * LANES, sum[i][v]);
}

/* c[ROWS][columns] = left right, over 32 columns or any number up to PAIR_VECTORS * LANES: some after them
 * are written too, up to a full vector. */
static inline void multiply_pair_columns(int64_t steps, const struct left_pairs *left,
                                         const struct right_pairs *right, int64_t columns, float *c,
                                         int64_t c_row)
{
    if (columns > 2 * LANES)
        multiply_pairs(steps, left, right, c, c_row, false, 3);
    else if (columns > LANES)
        multiply_pairs(steps, left, right, c, c_row, false, 2);
    else
        multiply_pairs(steps, left, right, c, c_row, false, 1);
}

static inline void store_words(void *to, vint words)
{
    memcpy(to, &words, sizeof words);
}

/* to, [rows / 2, width]: rows 2r and 2r + 1 as pairs. */
static inline void pair_rows(uint32_t *to, const float *rows, int64_t count, int64_t width)
{
    for (int64_t row = 0; row < count; row += 2, to += width)
        for (int64_t channel = 0; channel < width; channel += LANES)
            store_words(to + channel, v_interleave_bf16(v_load(rows + row * width + channel),
                                                        v_load(rows + (row + 1) * width + channel)));
}

static inline float sum_of(const float *from, int64_t count)
{
    vfloat sum = {0};
    for (int64_t at = 0; at < count; at += LANES)
        sum += load_columns(from + at, count - at);
    return v_sum(sum);
}

static inline float sum_of_halves(const uint16_t *from, int64_t count)
{
    vfloat sum = {0};
    for (int64_t at = 0; at < count; at += 2 * LANES) {
        vint words;
        if (count - at >= 2 * LANES)
            memcpy(&words, from + at, sizeof words);
        else
            words = v_load_part_words(from + at, count - at);
        sum = v_add_pairs(words, 0x3f803f80 - (vint){0}, sum); /* times 1 */
    }
    return v_sum(sum);
}

/* The sum of a row's numbers of keys begin ... begin + count - 1. */
static inline float sum_of_keys(const struct numbers *numbers, int64_t row, int64_t begin, int64_t count)
{
    int64_t at = row * numbers->query + begin;
    return numbers->halves ? sum_of_halves(numbers->halves + at, count) : sum_of(numbers->from + at, count);
}

/* Numbers in bf16, two by two. The two of query i and key j, or of pair i of queries, are at from + i * query +
 * j * key; those of other keys, up to MARGIN before the first and after the last, are zero. */
struct paired_numbers {
    const uint16_t *from;
    int64_t query, key;
};

/* The number of LANES queries that lie side by side. */
static inline vfloat number_lanes(const struct numbers *numbers, int64_t query, int64_t key)
{
    return key < 0 || key >= numbers->keys ? (vfloat){0} : v_load(numbers->from + query + key * numbers->key);
}

/* The numbers of each key and the next one, of each query, which are padded to `rows`. */
static inline struct paired_numbers pair_keys(const struct numbers *numbers, int64_t rows, uint32_t *words)
{
    int64_t keys = numbers->keys, row = round_up(keys, LANES) + 2 * MARGIN, lanes = round_up(rows, LANES);
    if (numbers->key == 1) { /* neighbours of a row overlap */
        uint16_t *to = (uint16_t *)(void *)words;
        memset(to, 0, (size_t)(rows * row) * sizeof *to);
        for (int64_t query = 0; query < numbers->queries && numbers->halves; query++)
            memcpy(to + query * row + MARGIN, numbers->halves + query * numbers->query,
                   (size_t)keys * sizeof *to);
        for (int64_t query = 0; query < numbers->queries && !numbers->halves; query++)
            for (int64_t key = 0; key < keys; key += LANES)
                v_store_bf16(to + query * row + MARGIN + key,
                             load_columns(numbers->from + query * numbers->query + key, keys - key));
        return (struct paired_numbers){to + MARGIN, row, 1};
    }
    for (int64_t key = -MARGIN; key < keys + MARGIN; key++)
        for (int64_t query = 0; query < lanes; query += LANES)
            store_words(
                words + (key + MARGIN) * lanes + query,
                v_interleave_bf16(number_lanes(numbers, query, key), number_lanes(numbers, query, key + 1)));
    return (struct paired_numbers){(uint16_t *)(void *)(words + MARGIN * lanes), 2, 2 * lanes};
}

/* The numbers of queries 2i and 2i + 1: of the second, that of the next key. */
static inline struct paired_numbers pair_queries(const struct numbers *numbers, int64_t rows, uint32_t *words)
{
    int64_t keys = numbers->keys, row = round_up(keys, LANES) + 2 * MARGIN, lanes = round_up(rows, LANES);
    if (numbers->key == 1) {
        for (int64_t query = 0; query < numbers->queries; query += 2)
            for (int64_t key = -MARGIN; key < keys + ROWS; key += LANES) {
                const float *from = numbers->from + query * numbers->query + key;
                store_words(words + query / 2 * row + MARGIN + key,
                            v_interleave_bf16(v_load(from), v_load(from + numbers->query + 1)));
            }
        return (struct paired_numbers){(uint16_t *)(void *)(words + MARGIN), 2 * row, 2};
    }
    uint16_t *to = (uint16_t *)(void *)words;
    const vint even = -(~v_lanes() & 1);
    for (int64_t key = -MARGIN; key < keys + MARGIN; key++)
        for (int64_t query = 0; query < lanes; query += LANES)
            v_store_bf16(to + (key + MARGIN) * lanes + query,
                         (vfloat)v_blend(even, (vint)number_lanes(numbers, query, key),
                                         (vint)number_lanes(numbers, query, key + 1)));
    return (struct paired_numbers){to + MARGIN * lanes, 2, lanes};
}

#endif
