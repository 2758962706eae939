/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of cosines and sines for the tokens of a call. Rows that a rotation's plan has in its table are used
 * there; only others are computed, into the workspace.
 */
#ifndef ROTARY_ATTENTION_ATTENTION_TABLES_H
#define ROTARY_ATTENTION_ATTENTION_TABLES_H

#include "attention/attention_plan.h"

/* Tokens at positions first ... first + count - 1, or at positions[0 ... count - 1]. */
struct attention_tokens {
    int64_t first, count;
    const int32_t *positions; /* NULL: consecutive */
};

/* The rows of some tokens, for each role. */
struct attention_tables {
    struct attention_tokens tokens;
    bool in_plan[ROTARY_ROLES];
    const float *cosine[ROTARY_ROLES], *sine[ROTARY_ROLES]; /* of the first token, or, with positions in the
                                                               plan's table, of position 0 */
    /* Memory for rows that the plan lacks, which are in it from `row` on. */
    float *own_cosine[ROTARY_ROLES], *own_sine[ROTARY_ROLES];
    int64_t row;
};

/* Carves memory for `count` rows. */
void rotary_attention_carve_tables(const rotary_attention *attention, struct attention_tables *tables,
                                   int64_t count, struct rotary_arena *arena);
/* Finds the rows of `tokens`: in the plan, or in the carved memory from row `row` on, which
 * rotary_attention_fill_rows must fill. */
void rotary_attention_find_rows(const rotary_attention *attention, struct attention_tables *tables,
                                struct attention_tokens tokens, int64_t row);
/* Computes the rows that are not in the plan, of tokens token ... token + count - 1. */
void rotary_attention_fill_rows(const rotary_attention *attention, const struct attention_tables *tables,
                                int64_t token, int64_t count);
/* The rotation of `part` of the tokens from `token` on; that of outputs is the one that they are rotated back by. */
struct rotary_attention_rotation rotary_attention_rotation_at(const rotary_attention *attention,
                                                              const struct attention_tables *tables,
                                                              rotary_attention_rotate part, int64_t token);

/* Positions of single tokens, [batch, query_stride] and [batch, key_stride]; NULL: those of the shape. Keys
 * that are already rotated need no rows. */
struct attention_positions {
    bool keys_rotated;
    const int32_t *queries, *keys;
    int64_t query_stride, key_stride;
};
/* Tables for the queries and keys of a shape: one if their positions overlap or adjoin, else two. */
struct attention_shape_tables {
    struct attention_tables keys, queries; /* queries is empty where keys serves both */
    struct attention_positions positions;
    bool separate;
};
void rotary_attention_carve_shape_tables(const rotary_attention *attention,
                                         struct attention_shape_tables *tables, rotary_attention_shape shape,
                                         const struct attention_positions *positions,
                                         struct rotary_arena *arena);
/* Computes the rows, and sets the rotations and extents of `problem`. */
void rotary_attention_use_tables(const rotary_attention *attention, struct attention_shape_tables *tables,
                                 rotary_attention_shape shape, rotary_attention_problem *problem);
/* Replaces the rotations of sequence 0 by those of another sequence. */
void rotary_attention_use_sequence(const struct attention_shape_tables *tables, int64_t sequence,
                                   rotary_attention_problem *problem);

#endif
