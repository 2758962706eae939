/* SPDX-License-Identifier: Apache-2.0
 *
 * The position of a token, from a caller's rotary_rope_positions.
 */
#ifndef ROTARY_ROPE_POSITIONS_H
#define ROTARY_ROPE_POSITIONS_H

#include <rotary/rope.h>

/* The starts of packed sequences (cu_seqlens), [sequences + 1]: the last entry is the number of tokens.
 * Messages name them owner.name. */
struct rotary_starts {
    const char *owner, *name;
    const int32_t *starts;
    int64_t sequences;
};
ROTARY_CHECKED rotary_status rotary_rope_check_starts(const struct rotary_starts *given, int64_t batch,
                                                      int64_t tokens, rotary_error *error);

/* Checks positions of `axes` axes. If rows >= 0, every position must be one of 0 ... rows - 1. */
ROTARY_CHECKED rotary_status rotary_rope_check_positions(const rotary_rope_positions *positions,
                                                         int64_t batch, int64_t time, int axes, int64_t rows,
                                                         rotary_error *error);

/* The position of a token on each axis. The positions must have been checked. */
void rotary_rope_position(const rotary_rope_positions *positions, int64_t batch, int64_t time, int axes,
                          double position[ROTARY_MAX_AXES]);

#endif
