/* SPDX-License-Identifier: Apache-2.0
 *
 * What attention needs to know of a plan.
 */
#ifndef ROTARY_ROPE_ROPE_H
#define ROTARY_ROPE_ROPE_H

#include <rotary/rope.h>

/* Where a plan turns: channels start ... start + dim - 1 of a head, in pairs. */
struct rotary_span {
    int64_t head_dim, start, dim;
    rotary_pairing pairing;
};
struct rotary_span rotary_rope_span(const rotary_rope *rope);

/* cosine and sine, each [count, dim / 2] contiguous, for positions first ... first + count - 1 (any sign).
 * With `unit` the attention factor and every other magnitude is left out, as value rotation needs: it is
 * undone by the transpose, which is the inverse only of a pure rotation. */
void rotary_rope_rows(const rotary_rope *rope, int64_t first, int64_t count, bool unit, float *cosine,
                      float *sine);

#endif
