/* SPDX-License-Identifier: Apache-2.0
 *
 * What attention, and the program, need to know of a plan.
 */
#ifndef ROTARY_ROPE_ROPE_ROLES_H
#define ROTARY_ROPE_ROPE_ROLES_H

#include <rotary/rope.h>

/* Where a plan turns: channels start ... start + dim - 1 of a head, in pairs. */
struct rotary_span {
    int64_t head_dim, start, dim;
    rotary_pairing pairing;
};
struct rotary_span rotary_rope_span(const rotary_rope *rope);

/* Where in the span the first (0) or second (1) channel of a pair stands. */
int64_t rotary_rope_place(rotary_pairing pairing, int64_t pairs, int64_t pair, int member);

/* Queries and keys turn alike but for xPos. Values turn without magnitudes: they are undone by the transpose,
 * which is the inverse only of a pure rotation. */
enum rotary_rope_role { ROTARY_ROLE_QUERY, ROTARY_ROLE_KEY, ROTARY_ROLE_VALUE, ROTARY_ROLES };

/* cosine and sine, each [count, dim / 2] contiguous, for positions first ... first + count - 1 (any sign; all
 * axes have the same). */
void rotary_rope_role_rows(const rotary_rope *rope, int64_t first, int64_t count, enum rotary_rope_role role,
                           float *cosine, float *sine);

/* Whether queries need other rows than keys. */
bool rotary_rope_has_xpos(const rotary_rope *rope);

/* Whether the rows of queries turned by `rope` are those of values turned by `value_rope`. */
bool rotary_rope_values_alike(const rotary_rope *rope, const rotary_rope *value_rope);

#endif
