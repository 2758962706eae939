/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of a plan that attention and the program read.
 */
#ifndef ROTARY_ROPE_ROPE_ROLES_H
#define ROTARY_ROPE_ROPE_ROLES_H

#include <rotary/rope.h>

/* The rotary span: a plan rotates channels start ... start + dim - 1 of a head, in pairs. */
struct rotary_span {
    int64_t head_dim, start, dim;
    rotary_pairing pairing;
};
struct rotary_span rotary_rope_span(const rotary_rope *rope);

/* The channel, counted from the start of the span, of the first (0) or second (1) member of a pair. */
int64_t rotary_rope_pair_channel(rotary_pairing pairing, int64_t pairs, int64_t pair, int member);

/* Queries and keys are rotated alike, except by xPos and by query scales. Values are rotated without magnitudes, because
 * attention applies the transposed rotation to its output, which is the inverse only of a pure rotation. */
enum rotary_rope_role { ROTARY_ROLE_QUERY, ROTARY_ROLE_KEY, ROTARY_ROLE_VALUE, ROTARY_ROLES };

/* Computes cosine and sine, each [count, dim / 2] contiguous, of positions first ... first + count - 1, which
 * may be negative and are those of every axis. */
void rotary_rope_role_rows(const rotary_rope *rope, int64_t first, int64_t count, enum rotary_rope_role role,
                           float *cosine, float *sine);

/* Rows of consecutive tokens, one after another: cosines and sines of pairs first ... first + count - 1. */
struct rotary_rows {
    int64_t first, count;
    const float *cosine, *sine;
};
/* Finds rows in the plan's table that are complete for a forward rotation of a tensor of `role` at positions
 * first ... first + count - 1, those of every axis; false if there are none. */
bool rotary_rope_table_rows(const rotary_rope *rope, double first, int64_t count, enum rotary_rope_role role,
                            struct rotary_rows *rows);

/* How many positions, 0 ... , the plan's table has. */
int64_t rotary_rope_table_positions(const rotary_rope *rope);

/* Whether the rows of queries and keys differ. */
bool rotary_rope_queries_differ(const rotary_rope *rope);

/* Whether keys are multiplied by a magnitude: by xPos's or an attention factor other than 1. */
bool rotary_rope_keys_grow(const rotary_rope *rope);

/* Whether queries rotated by `rope` and values rotated by `value_rope` have the same rows. */
bool rotary_rope_values_alike(const rotary_rope *rope, const rotary_rope *value_rope);

#endif
