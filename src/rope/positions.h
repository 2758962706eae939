/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a token stands, from the many ways a caller may say it.
 */
#ifndef ROTARY_ROPE_POSITIONS_H
#define ROTARY_ROPE_POSITIONS_H

#include <rotary/rope.h>

/* Where packed sequences start, and after the last the number of tokens: sequences + 1 numbers, which the
 * caller knows as a member of a struct. */
struct rotary_starts {
    const char *owner, *name;
    const int32_t *starts;
    int64_t sequences;
};
ROTARY_CHECKED rotary_status rotary_rope_check_starts(const struct rotary_starts *packed, int64_t batch,
                                                      int64_t tokens, rotary_error *error);

/* Checks positions of `axes` axes. With `rows` at least 0, every position must be one of 0 ... rows - 1. */
ROTARY_CHECKED rotary_status rotary_rope_check_positions(const rotary_rope_positions *positions,
                                                         int64_t batch, int64_t time, int axes, int64_t rows,
                                                         rotary_error *error);

/* The position of a token, one number an axis, of positions that have been checked. */
void rotary_rope_position(const rotary_rope_positions *positions, int64_t batch, int64_t time, int axes,
                          double position[ROTARY_MAX_AXES]);

#endif
