/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a token stands, from the many ways a caller may say it.
 */
#ifndef ROTARY_ROPE_POSITIONS_H
#define ROTARY_ROPE_POSITIONS_H

#include <rotary/rope.h>

ROTARY_CHECKED rotary_status rotary_rope_check_positions(const rotary_rope_positions *positions,
                                                         int64_t batch, int64_t time, rotary_error *error);

/* The position of a token, of positions that have been checked. */
double rotary_rope_position(const rotary_rope_positions *positions, int64_t batch, int64_t time);

#endif
