/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of cosines and sines for the files of this floor.
 */
#ifndef ROTARY_ROPE_ROWS_H
#define ROTARY_ROPE_ROWS_H

#include "rope/rope_plan.h"

/* A stretch of pairs and where their cosines and sines go or are: cosine[i] belongs to pair first + i. */
struct rotary_row {
    int64_t first, count;
    float *cosine, *sine;
};

/* The angles of the row's pairs in radians at a position (one number an axis). */
void rotary_rope_angles(const rotary_rope *rope, const double *position, int64_t first, int64_t count,
                        double *angles);

/* Cosine and sine of the angles, from the table where it has them. */
void rotary_rope_unit_row(const rotary_rope *rope, const double *position, struct rotary_row row);

/* Where the table has the rows of positions first ... first + count - 1 of a tensor of `role`, turned
 * forward; false if it has not, or if they are not all there is to it. */
bool rotary_rope_table_rows(const rotary_rope *rope, double first, int64_t count, enum rotary_rope_role role,
                            const float **cosine, const float **sine);

/* Turns a unit row into what a tensor of `role` is turned by in `direction`: with its magnitudes, rounded to
 * the plan's table type. */
void rotary_rope_finish_row(const rotary_rope *rope, const double *position, enum rotary_rope_role role,
                            rotary_direction direction, struct rotary_row row);

/* The size of the numbers a vector of `role` is multiplied by when it is turned forward. */
double rotary_rope_magnitude(const rotary_rope *rope, const double *position, enum rotary_rope_role role,
                             int64_t pair);

/* Whether finish_row does the same for every role. */
bool rotary_rope_roles_alike(const rotary_rope *rope);

#endif
