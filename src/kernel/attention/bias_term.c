/* SPDX-License-Identifier: Apache-2.0
 *
 * The score term of a bias for every query and key (rotary/attention.h). It is read where it lies. A tile
 * that ends past the queries or keys, or is transposed, is copied.
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/tile.h"

enum { SQUARE = 32 }; /* rows and columns of a transposed tile are multiples of it */
_Static_assert(SQUARE % LANES == 0, "a square is full vectors");

static bool is_present(const rotary_attention_problem *problem)
{
    return problem->bias.data != NULL;
}

static struct rotary_attention_term_bound bound(const rotary_attention_problem *problem, int64_t head)
{
    (void)problem;
    (void)head;
    return (struct rotary_attention_term_bound){.constant = INFINITY};
}

/* Copies rows first ... first + rows - 1 of the tile, as if it were not transposed; zero past the keys. */
static void copy_rows(const float *bias, const rotary_attention_problem *problem,
                      const struct rotary_attention_tile *tile, int64_t columns, float *to)
{
    int64_t readable = max_i64(0, min_i64(columns, problem->keys - tile->key));
    for (int64_t row = 0; row < tile->queries; row++) {
        memcpy(to + row * columns, bias + row * problem->bias.query_stride, (size_t)readable * sizeof *to);
        memset(to + row * columns + readable, 0, (size_t)(columns - readable) * sizeof *to);
    }
}

/* A square of 32 queries and keys, transposed. */
static void transpose_bias(const float *bias, const rotary_attention_problem *problem,
                           const struct rotary_attention_tile *tile, float *to)
{
    float edge[SQUARE * SQUARE];
    int64_t stride = problem->bias.query_stride;
    if (tile->queries < SQUARE || tile->key + SQUARE > problem->keys) {
        memset(edge, 0, sizeof edge);
        copy_rows(bias, problem, tile, SQUARE, edge);
        bias = edge;
        stride = SQUARE;
    }
    for (int64_t query = 0; query < SQUARE; query += LANES)
        for (int64_t key = 0; key < SQUARE; key += LANES)
            transpose_square(to + key * tile->columns + query, tile->columns, bias + query * stride + key,
                             stride);
}

static struct rotary_attention_term_tile scores(const rotary_attention_problem *problem,
                                                const struct rotary_attention_tile *tile, float *scratch)
{
    const float *bias =
        bias_of(problem, tile->sequence, tile->head) + tile->query * problem->bias.query_stride + tile->key;
    if (!tile->transposed) {
        if (tile->rows == tile->queries && tile->key + tile->columns <= problem->keys)
            return rotary_attention_whole_tile(bias, problem->bias.query_stride);
        copy_rows(bias, problem, tile, tile->columns, scratch);
        memset(scratch + tile->queries * tile->columns, 0,
               (size_t)((tile->rows - tile->queries) * tile->columns) * sizeof *scratch);
        return rotary_attention_whole_tile(scratch, tile->columns);
    }
    for (int64_t key = 0; key < tile->rows; key += SQUARE)
        for (int64_t query = 0; query < tile->columns; query += SQUARE) {
            struct rotary_attention_tile square = *tile;
            square.key += key;
            square.query += query;
            square.queries = max_i64(0, min_i64(SQUARE, tile->queries - query));
            transpose_bias(bias + query * problem->bias.query_stride + key, problem, &square,
                           scratch + key * tile->columns + query);
        }
    return rotary_attention_whole_tile(scratch, tile->columns);
}

const struct rotary_attention_score_term ROTARY_KERNEL(rotary_attention_bias_term) = {
    .is_present = is_present, .bound = bound, .scores = scores};
