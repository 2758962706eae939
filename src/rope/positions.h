/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a token stands, from the many ways a caller may say it.
 */
#ifndef ROTARY_ROPE_POSITIONS_H
#define ROTARY_ROPE_POSITIONS_H

#include <rotary/rope.h>

/* Checks positions of `axes` axes. With `rows` at least 0, every position must be one of 0 ... rows - 1. */
ROTARY_CHECKED rotary_status rotary_rope_check_positions(const rotary_rope_positions *positions,
                                                         int64_t batch, int64_t time, int axes, int64_t rows,
                                                         rotary_error *error);

/* The position of a token, one number an axis, of positions that have been checked. */
void rotary_rope_position(const rotary_rope_positions *positions, int64_t batch, int64_t time, int axes,
                          double position[ROTARY_MOST_AXES]);

#endif
