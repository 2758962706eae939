/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of cosines and sines, within this module.
 */
#ifndef ROTARY_ROPE_ROWS_H
#define ROTARY_ROPE_ROWS_H

#include "rope/rope_plan.h"

/* Cosines and sines of pairs first ... first + count - 1: cosine[i] is that of pair first + i. */
struct rotary_row {
    int64_t first, count;
    float *cosine, *sine;
};

/* The angles, in radians, of pairs first ... first + count - 1 at a position (one number per axis). */
void rotary_rope_angles(const rotary_rope *rope, const double *position, int64_t first, int64_t count,
                        double *angles);

/* Cosines and sines of the angles, without magnitudes; from the plan's table where it has them. */
void rotary_rope_unit_row(const rotary_rope *rope, const double *position, struct rotary_row row);

/* Makes the row that rotates a tensor of `role` in `direction` from a unit row: with magnitudes, rounded to
 * the plan's table type. */
void rotary_rope_finish_row(const rotary_rope *rope, const double *position, enum rotary_rope_role role,
                            rotary_direction direction, struct rotary_row row);

/* The magnitude by which a forward rotation multiplies a pair of a tensor of `role`. */
double rotary_rope_magnitude(const rotary_rope *rope, const double *position, enum rotary_rope_role role,
                             int64_t pair);

#endif
