/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that the attention kernels of every instruction set share: reading, rotating and writing rows; a
 * matmul of small tiles that keeps its result in registers; softmax.
 */
#ifndef ROTARY_KERNEL_ATTENTION_TILE_H
#define ROTARY_KERNEL_ATTENTION_TILE_H

#include "kernel/attention/visibility.h"
#include "kernel/exponential.h"
#include "kernel/simd.h"

#include <math.h>

#define LOG2_E 0x1.715476p+0f

/* multiply_tile() makes ROWS x COLUMNS results at a time; STEP is a multiple of both, BLOCKs are multiples of
 * STEP. */
#if LANES == 16
enum { ROWS = 8, COLUMNS = 2 * LANES, STEP = 32 };
#else
enum { ROWS = 6, COLUMNS = 2 * LANES, STEP = 3 * COLUMNS };
#endif
enum { QUERY_BLOCK = 48, KEY_BLOCK = ROTARY_ATTENTION_KEY_BLOCK };
/* Floats in a row of a tile of scores: after its columns there is a margin (attention_terms.h). */
enum { SCORE_MARGIN = ROTARY_ATTENTION_TERM_MARGIN, TILE_ROW = KEY_BLOCK + SCORE_MARGIN };
_Static_assert(ROTARY_ATTENTION_ROW_MULTIPLE % KEY_BLOCK == 0 && KEY_BLOCK % STEP == 0 &&
                   QUERY_BLOCK % ROWS == 0 && ROTARY_ATTENTION_SUM_ROWS % ROWS == 0 &&
                   QUERY_BLOCK % ROTARY_ATTENTION_SUM_ROWS == 0,
               "blocks are multiples of tiles");

static inline int64_t key_row(const rotary_attention_problem *problem, int64_t key)
{
    int64_t row = problem->ring_first + key;
    return problem->ring_capacity && row >= problem->ring_capacity ? row - problem->ring_capacity : row;
}

/* A head's bias of query 0 and key 0; NULL without a bias. */
static inline const float *bias_of(const rotary_attention_problem *problem, int64_t sequence, int64_t head)
{
    const rotary_attention_bias *bias = &problem->bias;
    return bias->data ? bias->data + sequence * bias->batch_stride + head * bias->head_stride : NULL;
}

/* score + bias, -infinity where the bias masks. A score is `units` times its natural value. */
static inline vfloat v_add_bias(vfloat score, vfloat bias, float units)
{
    vint masked = bias <= v_set(ROTARY_ATTENTION_MASKED);
    return v_select(masked, v_set(-INFINITY), v_fma(bias, v_set(units), score));
}

/* A vector of a row that has `left` more columns; lanes after them are zero. */
static inline vfloat load_columns(const float *from, int64_t left)
{
    return left >= LANES ? v_load(from) : left > 0 ? v_load_part(from, left) : (vfloat){0};
}

/* Adds biases to scores begin ... end - 1 of a row. */
static inline void add_bias_row(float *score, const float *bias, int64_t begin, int64_t end, float units)
{
    for (int64_t column = begin; column < end; column += LANES) {
        vfloat biased = v_add_bias(load_columns(score + column, end - column),
                                   load_columns(bias + column, end - column), units);
        if (end - column >= LANES)
            v_store(score + column, biased);
        else
            v_store_part(score + column, biased, end - column);
    }
}

/* Rows of a head are too far apart for the hardware prefetcher: a loop over rows prefetches the row that it
 * reaches ROWS_AHEAD rows later, but none after `last`. */
enum { ROWS_AHEAD = 16 };

static inline void fetch_ahead(const rotary_attention_problem *problem, rotary_attention_const_view view,
                               int64_t sequence, int64_t row, int64_t last, int64_t head)
{
    const char *vector = vector_at(problem, view, sequence, min_i64(row + ROWS_AHEAD, last), head);
    for (int64_t at = 0; at < problem->head_dim * element_bytes(problem); at += 64)
        __builtin_prefetch(vector + at);
}

/* Gives rows that will be written. */
static inline void fetch_ahead_to_write(const rotary_attention_problem *problem, rotary_attention_view view,
                                        int64_t sequence, int64_t row, int64_t last, int64_t head)
{
    char *vector = mutable_vector_at(problem, view, sequence, min_i64(row + ROWS_AHEAD, last), head);
    for (int64_t at = 0; at < problem->head_dim * element_bytes(problem); at += 64)
        __builtin_prefetch(vector + at, 1);
}

/* A vector of the elements `from`, of 16 bits, and stores one. */
static inline vfloat load_halves(const uint16_t *from, rotary_dtype dtype)
{
    return dtype == ROTARY_F16 ? v_load_f16(from) : v_load_bf16(from);
}

static inline vfloat load_part_halves(const uint16_t *from, rotary_dtype dtype, int64_t count)
{
    return dtype == ROTARY_F16 ? v_load_part_f16(from, count) : v_load_part_bf16(from, count);
}

static inline void store_halves(uint16_t *to, rotary_dtype dtype, vfloat v)
{
    if (dtype == ROTARY_F16)
        v_store_f16(to, v);
    else
        v_store_bf16(to, v);
}

static inline void store_part_halves(uint16_t *to, rotary_dtype dtype, vfloat v, int64_t count)
{
    if (dtype == ROTARY_F16)
        v_store_part_f16(to, v, count);
    else
        v_store_part_bf16(to, v, count);
}

/* It does for halves what load_columns does for f32. */
static inline vfloat load_half_columns(const uint16_t *from, rotary_dtype dtype, int64_t left)
{
    return left >= LANES ? load_halves(from, dtype)
           : left > 0    ? load_part_halves(from, dtype, left)
                         : (vfloat){0};
}

/* to[0 ... count - 1] in f32. */
static inline void load_elements(float *to, const void *from, rotary_dtype dtype, int64_t count)
{
    const uint16_t *half = from;
    int64_t at = 0;
    if (dtype == ROTARY_F32) {
        memcpy(to, from, (size_t)count * sizeof(float));
        return;
    }
    for (; at + LANES <= count; at += LANES)
        v_store(to + at, load_halves(half + at, dtype));
    if (at < count)
        v_store_part(to + at, load_part_halves(half + at, dtype, count - at), count - at);
}

static inline void store_elements(void *to, const float *from, rotary_dtype dtype, int64_t count)
{
    uint16_t *half = to;
    int64_t at = 0;
    if (dtype == ROTARY_F32) {
        memcpy(to, from, (size_t)count * sizeof(float));
        return;
    }
    for (; at + LANES <= count; at += LANES)
        store_halves(half + at, dtype, v_load(from + at));
    if (at < count)
        store_part_halves(half + at, dtype, v_load_part(from + at, count - at), count - at);
}

/* Rotates row `index` of a view in place; `direction` is 1, or -1 for the transposed rotation. */
static inline void rotate_row(float *row, const struct rotary_attention_rotation *rotation, int64_t index,
                              float direction)
{
    if (!rotation->cosine)
        return;
    int64_t pairs = rotation->dim / 2, pair = 0;
    int64_t at = rotation_row(rotation, index) * pairs;
    const float *cosine = rotation->cosine + at, *sine = rotation->sine + at;
    float *first = row + rotation->start;
    if (rotation->interleaved) {
        for (; pair + LANES <= pairs; pair += LANES) {
            vfloat c = v_load(cosine + pair), s = v_set(direction) * v_load(sine + pair);
            vfloat low = v_load(first + 2 * pair), high = v_load(first + 2 * pair + LANES);
            vfloat x = v_even(low, high), y = v_odd(low, high);
            vfloat rotated = x * c - y * s, other = y * c + x * s;
            v_store(first + 2 * pair, v_zip_low(rotated, other));
            v_store(first + 2 * pair + LANES, v_zip_high(rotated, other));
        }
        for (; pair < pairs; pair++) {
            float c = cosine[pair], s = direction * sine[pair], x = first[2 * pair], y = first[2 * pair + 1];
            first[2 * pair] = x * c - y * s;
            first[2 * pair + 1] = y * c + x * s;
        }
        return;
    }
    float *second = first + pairs;
    for (; pair + LANES <= pairs; pair += LANES) {
        vfloat c = v_load(cosine + pair), s = v_set(direction) * v_load(sine + pair);
        vfloat x = v_load(first + pair), y = v_load(second + pair);
        v_store(first + pair, x * c - y * s);
        v_store(second + pair, y * c + x * s);
    }
    for (; pair < pairs; pair++) {
        float c = cosine[pair], s = direction * sine[pair], x = first[pair], y = second[pair];
        first[pair] = x * c - y * s;
        second[pair] = y * c + x * s;
    }
}

/* A row of `width` floats += factor * from. */
static inline void add_scaled_row(float *row, const float *from, float factor, int64_t width)
{
    for (int64_t channel = 0; channel < width; channel += LANES)
        v_store(row + channel, v_fma(v_load(from + channel), v_set(factor), v_load(row + channel)));
}

/* Sets the channels of an output or its gradient that are no values to 0. */
static inline void clear_other_channels(const rotary_attention_problem *problem, float *row)
{
    int64_t end = problem->value_start + problem->value_channels;
    if (problem->value_channels == 0)
        return;
    memset(row, 0, (size_t)problem->value_start * sizeof *row);
    memset(row + end, 0, (size_t)(problem->head_dim - end) * sizeof *row);
}

static inline void scale_row(float *row, float factor, int64_t width)
{
    for (int64_t channel = 0; channel < width; channel += LANES)
        v_store(row + channel, v_load(row + channel) * v_set(factor));
}

/* Rotated rows of keys or values first ... first + count - 1, padded with zero rows to a multiple of STEP. */
static inline void load_key_rows(float *rows, const rotary_attention_problem *problem,
                                 const rotary_attention_work *work, rotary_attention_const_view view,
                                 const struct rotary_attention_rotation *rotation, int64_t first,
                                 int64_t count)
{
    int64_t width = rotary_attention_row(problem->head_dim);
    memset(rows + count * width, 0, (size_t)((round_up(count, STEP) - count) * width) * sizeof *rows);
    for (int64_t at = 0; at < count; at++) {
        float *row = rows + at * width;
        fetch_ahead(problem, view, work->sequence, key_row(problem, first + at),
                    key_row(problem, first + count - 1), work->key_value_head);
        memset(row + problem->head_dim, 0, (size_t)(width - problem->head_dim) * sizeof *row);
        load_elements(
            row, vector_at(problem, view, work->sequence, key_row(problem, first + at), work->key_value_head),
            problem->dtype, problem->head_dim);
        rotate_row(row, rotation, first + at, 1.0f);
    }
}

/* What the sums of a tile's products start with: the sum of `count` tiles, row i of which is at from + i *
 * row. */
enum { MAX_STARTS = 2 };
struct tile_start {
    int64_t count;
    const float *from[MAX_STARTS];
    int64_t row[MAX_STARTS];
};

/* c[ROWS][COLUMNS] = start + a[ROWS][depth] b[depth][COLUMNS]; element (i, k) of a is a[i * a_row + k *
 * a_depth]. */
static inline __attribute__((always_inline)) void
multiply_tile_onto(const struct tile_start *start, int64_t depth, const float *a, int64_t a_row,
                   int64_t a_depth, const float *b, int64_t b_depth, float *c, int64_t c_row)
{
    vfloat left[ROWS], right[ROWS];
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
        left[i] = start->count ? v_load(start->from[0] + i * start->row[0]) : (vfloat){0};
        right[i] = start->count ? v_load(start->from[0] + i * start->row[0] + LANES) : (vfloat){0};
    }
    for (int64_t at = 1; at < start->count; at++)
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) {
            left[i] += v_load(start->from[at] + i * start->row[at]);
            right[i] += v_load(start->from[at] + i * start->row[at] + LANES);
        }
    for (int64_t k = 0; k < depth; k++) {
        vfloat b_left = v_load(b + k * b_depth), b_right = v_load(b + k * b_depth + LANES);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) {
            vfloat factor = v_set(a[i * a_row + k * a_depth]);
            left[i] = v_fma(factor, b_left, left[i]);
            right[i] = v_fma(factor, b_right, right[i]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
        v_store(c + i * c_row, left[i]);
        v_store(c + i * c_row + LANES, right[i]);
    }
}

/* c[ROWS][COLUMNS] (+)= a[ROWS][depth] b[depth][COLUMNS]. */
static inline void multiply_tile(int64_t depth, const float *a, int64_t a_row, int64_t a_depth,
                                 const float *b, int64_t b_depth, float *c, int64_t c_row, bool add)
{
    const struct tile_start start = {.count = add ? 1 : 0, .from = {c}, .row = {c_row}};
    multiply_tile_onto(&start, depth, a, a_row, a_depth, b, b_depth, c, c_row);
}

/* Transposes a LANES x LANES square, rows `from_row` floats apart: each step shuffles the first half of the
 * rows with the second. */
static inline void transpose_square(float *to, int64_t to_row, const float *from, int64_t from_row)
{
    vfloat rows[LANES], shuffled[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        rows[i] = v_load(from + i * from_row);
#pragma GCC unroll 4
    for (int step = 1; step < LANES; step *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < LANES / 2; i++) {
            shuffled[2 * i] = v_zip_low(rows[i], rows[i + LANES / 2]);
            shuffled[2 * i + 1] = v_zip_high(rows[i], rows[i + LANES / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            rows[i] = shuffled[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        v_store(to + i * to_row, rows[i]);
}

/* The transpose of rows[count][width], count a multiple of COLUMNS, as consecutive panels of COLUMNS columns.
 */
static inline void transpose_rows(float *panels, const float *rows, int64_t count, int64_t width)
{
    for (int64_t first = 0; first < count; first += LANES)
        for (int64_t channel = 0; channel < width; channel += LANES)
            transpose_square(panels + first / COLUMNS * COLUMNS * width + channel * COLUMNS + first % COLUMNS,
                             COLUMNS, rows + first * width + channel, width);
}

/* For each group of ROWS of queries query ... query + rows - 1, the columns visible to it in a block of keys
 * first ... first + count - 1. Returns the number of groups. */
static inline int64_t visible_ranges(const rotary_attention_problem *problem, int64_t query, int64_t rows,
                                     int64_t first, int64_t count, struct range visible[QUERY_BLOCK / ROWS])
{
    int64_t groups = 0;
    for (int64_t row = 0; row < rows; row += ROWS, groups++) {
        int64_t last = query + min_i64(rows, row + ROWS) - 1;
        int64_t begin = max_i64(0, first_key(problem, query + row) - first);
        int64_t end = min_i64(count, end_key(problem, last) - first);
        visible[groups] = begin < end ? (struct range){begin, end} : (struct range){0, 0};
    }
    return groups;
}

static inline bool is_visible_tile(struct range visible, int64_t column)
{
    return column < visible.end && column + COLUMNS > visible.begin;
}

/* c[ROWS][COLUMNS] of a group, from `column` on, = start + a[...][depth] b, where b is in panels. */
static inline void multiply_group(const struct tile_start *start, int64_t group, int64_t column,
                                  int64_t depth, const float *a, const float *b, float *c)
{
    multiply_tile_onto(start, depth, a + group * ROWS * depth, depth, 1, b + column * depth, COLUMNS,
                       c + group * ROWS * TILE_ROW + column, TILE_ROW);
}

/* c[groups of ROWS][width] += a[...][TILE_ROW] rows, summed over visible columns. */
static inline void accumulate_visible(int64_t groups, const struct range *visible, int64_t width,
                                      const float *a, const float *rows, float *c)
{
    for (int64_t channel = 0; channel < width; channel += COLUMNS)
        for (int64_t group = 0; group < groups; group++) {
            int64_t begin = visible[group].begin, end = visible[group].end;
            if (begin < end)
                multiply_tile(end - begin, a + group * ROWS * TILE_ROW + begin, TILE_ROW, 1,
                              rows + begin * width + channel, width, c + group * ROWS * width + channel,
                              width, true);
        }
}

static inline void softcap_row(float *score, int64_t columns, float softcap)
{
    for (int64_t column = 0; column < columns; column += LANES)
        v_store(score + column, v_set(softcap) * v_tanh(v_load(score + column) * v_set(1 / softcap)));
}

/* Columns of a row outside begin ... end - 1 become `value`. */
static inline void mask_outside(float *row, int64_t columns, int64_t begin, int64_t end, float value)
{
    if (begin <= 0 && end >= columns)
        return;
    for (int64_t column = 0; column < columns; column += LANES) {
        if (column >= begin && column + LANES <= end)
            continue;
        vint lane_column = v_lanes() + (int32_t)column;
        vint visible = (lane_column >= (int32_t)begin) & (lane_column < (int32_t)end);
        v_store(row + column, (vfloat)v_blend(visible, (vint)v_load(row + column), (vint)v_set(value)));
    }
}

/* A row, of which there is a margin before and after the columns: all outside begin ... end - 1 becomes 0.
 * The margin before it is that of another row. */
static inline void mask_with_margin(float *row, int64_t columns, int64_t begin, int64_t end)
{
    mask_outside(row, columns, begin, end, 0);
    memset(row + columns, 0, SCORE_MARGIN * sizeof *row);
}

/* Applies softcap, if any, to a row of scaled q . k, then adds biases, if any, to columns begin ... end - 1.
 * A score is `units` times its natural value. */
static inline void softcap_and_bias_row(float *score, int64_t columns, int64_t begin, int64_t end,
                                        float softcap, const float *bias, float units)
{
    if (softcap > 0)
        softcap_row(score, columns, softcap * units);
    if (bias)
        add_bias_row(score, bias, begin, end, units);
}

/* Applies softcap, bias and mask to a row of scaled q . k, of which columns begin ... end - 1 are visible.
 * Returns the row's max. */
static inline float finish_scores(float *score, int64_t columns, int64_t begin, int64_t end, float softcap,
                                  const float *bias)
{
    softcap_and_bias_row(score, columns, begin, end, softcap, bias, 1.0f);
    mask_outside(score, columns, begin, end, -INFINITY);
    vfloat row_max = v_load(score);
    for (int64_t column = LANES; column < columns; column += LANES)
        row_max = v_max(v_load(score + column), row_max);
    return v_max_lane(row_max);
}

/* The offset that is subtracted from a row's scores before exp: its max so far, or 0 while it is fully
 * masked. */
static inline float softmax_offset_of(float row_max)
{
    return row_max == -INFINITY ? 0.0f : row_max;
}

/* Updates a row's running max with a block's. Returns the factor by which earlier sums must be scaled. */
static inline float update_row_max(float *row_max, float block_max)
{
    float previous = *row_max;
    *row_max = block_max > previous ? block_max : previous;
    return v_exp2_to_126(v_set(LOG2_E * (previous - softmax_offset_of(*row_max))))[0];
}

/* Replaces a row's scores by p = exp(score - softmax_offset). Returns total + their sum, lane by lane. */
static inline vfloat exp_row(float *score, int64_t columns, float softmax_offset, vfloat total)
{
    for (int64_t column = 0; column < columns; column += LANES) {
        vfloat p = v_exp2_to_126(v_set(LOG2_E) * (v_load(score + column) - v_set(softmax_offset)));
        v_store(score + column, p);
        total += p;
    }
    return total;
}

#endif
