/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels do with score terms: the sum of all terms of a tile, and the bound of scores with them.
 */
#ifndef ROTARY_KERNEL_ATTENTION_TERM_TILE_H
#define ROTARY_KERNEL_ATTENTION_TERM_TILE_H

#include "kernel/attention/attention_terms.h"
#include "kernel/attention/distance_vectors.h"
#include "kernel/attention/piecewise_sums.h"
#include "kernel/attention/tile.h"

#include <math.h>

/* Floats of scratch that one term needs for a tile: most for vectors by distance and piecewise-linear biases.
 */
static inline int64_t one_term_scratch(int64_t rows, int64_t columns, int64_t head_dim)
{
    return max_i64(rotary_attention_vector_scratch(rows, columns, head_dim),
                   rotary_attention_piecewise_scratch(rows, columns));
}

/* Says so for term_scores and add_term_gradients: the sum of the terms, and what one needs. */
static inline int64_t term_scratch(int64_t rows, int64_t columns, int64_t head_dim)
{
    return rows * columns + one_term_scratch(rows, columns, head_dim);
}

/* Says so for term_starts. */
static inline int64_t start_scratch(int64_t rows, int64_t columns, int64_t head_dim)
{
    return max_i64(term_scratch(rows, columns, head_dim),
                   MAX_STARTS * one_term_scratch(rows, columns, head_dim));
}

/* to (+)= the term's tile. A masked entry is -infinity, so that no sum unmasks it. */
static inline void add_term(const struct rotary_attention_tile *tile, float *to, const float *from,
                            int64_t from_row, bool add)
{
    for (int64_t row = 0; row < tile->rows; row++)
        for (int64_t column = 0; column < tile->columns; column += LANES) {
            float *at = to + row * tile->columns + column;
            vfloat term = v_add_bias((vfloat){0}, v_load(from + row * from_row + column), 1.0f);
            v_store(at, add ? v_load(at) + term : term);
        }
}

/* The sum of the problem's score terms, of which there is one at least, with all columns: a multiple of
 * LANES. */
static inline struct rotary_attention_term_tile
term_scores(const rotary_attention_problem *problem, const struct rotary_attention_tile *tile, float *scratch)
{
    const struct rotary_attention_score_term *const *term = problem->score_terms;
    if (!term[1])
        return term[0]->scores(problem, tile, scratch);
    float *one = scratch + tile->rows * tile->columns;
    for (bool add = false; *term; term++, add = true) {
        const struct rotary_attention_term_tile scores = (*term)->scores(problem, tile, one);
        add_term(tile, scratch, scores.from, scores.row_stride, add);
    }
    return rotary_attention_whole_tile(scratch, tile->columns);
}

/* Tiles whose sum the products of a tile start with (struct tile_start). */
struct starts {
    int64_t count;
    struct rotary_attention_term_tile tile[MAX_STARTS];
};

/* The score terms of a tile, of which none masks. */
static inline struct starts term_starts(const rotary_attention_problem *problem,
                                        const struct rotary_attention_tile *tile, float *scratch)
{
    struct starts starts = {0};
    int64_t one = one_term_scratch(tile->rows, tile->columns, problem->head_dim);
    while (starts.count <= MAX_STARTS && problem->score_terms[starts.count])
        starts.count++;
    if (starts.count > MAX_STARTS)
        return (struct starts){1, {term_scores(problem, tile, scratch)}};
    struct rotary_attention_tile with_ends = *tile;
    with_ends.ends = true;
    for (int64_t i = 0; i < starts.count; i++)
        starts.tile[i] = problem->score_terms[i]->scores(problem, &with_ends, scratch + i * one);
    return starts;
}

/* What the products of a group start with: those of rows from `row` on, COLUMNS columns from `column` on. */
static inline struct tile_start start_of(const struct starts *starts, int64_t row, int64_t column)
{
    struct tile_start start = {.count = starts->count};
    for (int64_t i = 0; i < starts->count; i++) {
        const struct rotary_attention_term_tile *tile = &starts->tile[i];
        start.row[i] = ROTARY_ATTENTION_TERM_WIDE;
        if (column < tile->near_begin) {
            start.from[i] = tile->before + row * ROTARY_ATTENTION_TERM_WIDE;
        } else if (column >= tile->near_end) {
            start.from[i] = tile->after + row * ROTARY_ATTENTION_TERM_WIDE;
        } else {
            start.row[i] = tile->row_stride;
            start.from[i] = tile->from + row * tile->row_stride + column;
        }
    }
    return start;
}

/* Adds the gradients of the problem's score terms for a tile. */
static inline void add_term_gradients(const rotary_attention_problem *problem,
                                      const rotary_attention_work *work,
                                      const struct rotary_attention_tile *tile,
                                      const struct rotary_attention_term_gradient *gradient)
{
    for (const struct rotary_attention_score_term *const *term = problem->score_terms; *term; term++)
        if ((*term)->add_gradient)
            (*term)->add_gradient(problem, work, tile, gradient);
}

/* scores += term, in ROWS x COLUMNS bounded scores, which no term masks. */
static inline void add_term_tile(float *scores, int64_t scores_row, const float *term, int64_t term_row,
                                 int64_t rows, int64_t columns, float units)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column += LANES) {
            float *at = scores + row * scores_row + column;
            v_store(at, v_fma(v_load(term + row * term_row + column), v_set(units), v_load(at)));
        }
}

/* What is left of `max` for the size of the scores of a head without its terms, and how the terms grow. A
 * score, and a query's scaled vector, are `units` times their natural value. constant < 0: nothing bounds the
 * scores. */
static inline struct rotary_attention_term_bound bound_left(const rotary_attention_problem *problem,
                                                            int64_t head, float max, float units)
{
    struct rotary_attention_term_bound left = {.constant = problem->softcap > 0 ? -1 : max};
    for (int i = 0; problem->score_terms[i]; i++) {
        struct rotary_attention_term_bound of_term = problem->score_terms[i]->bound(problem, head);
        left.constant -= units * of_term.constant;
        left.by_query += of_term.by_query;
        left.by_key += units * of_term.by_key;
    }
    return left;
}

enum { SCORE_BOUND = 40 /* e^40 summed over the longest row does not overflow, e^-40 does not vanish */ };

/* Whether products of scores start with the score terms: where these are bounded by |q| and |k|, as the
 * products are. What is added to a large bias is rounded as coarsely as the bias. Forward and backward do the
 * same, so that scores are rounded alike and p of a row adds up to 1. */
static inline bool scores_start(const struct rotary_attention_term_bound *left)
{
    return left->constant == SCORE_BOUND;
}

/* The scores of a query are small where |k|^2 is at most `limit` / `norm`: |q| |k| + by_query |q| + by_key
 * |k| is at most `constant` then. limit < 0: nothing bounds them. */
struct row_bound {
    float norm, limit;
};

static inline struct row_bound bound_row(const struct rotary_attention_term_bound *left, float squares)
{
    float max = left->constant;
    if (left->by_query > 0)
        max -= left->by_query * sqrtf(squares);
    if (left->by_key > 0) {
        float sum = sqrtf(squares) + left->by_key;
        squares = sum * sum;
    }
    return (struct row_bound){squares, max >= 0 ? max * max : -1};
}

#endif
