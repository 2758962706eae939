/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotations of the reference backend: in double, pair by pair, from the frequencies of a plan.
 */
#ifndef REFERENCE_ROTATION_H
#define REFERENCE_ROTATION_H

#include "rope/rope_roles.h"

/* A copy of what a plan rotates by. pairs 0: nothing is rotated. */
struct reference_rotation_plan {
    int64_t start, pairs; /* of the rotated channels, of a head */
    rotary_pairing pairing;
    const double *inverse_frequencies;
    const rotary_rope *rope; /* of the magnitudes that multiply cosine and sine */
    enum rotary_rope_role role;
};

/* rope NULL: no rotation. Values are rotated without a magnitude. ROTARY_UNSUPPORTED for positions of several
 * axes. */
ROTARY_CHECKED rotary_status reference_rotation_plan_create(struct reference_rotation_plan *plan,
                                                            const rotary_rope *rope,
                                                            enum rotary_rope_role role, rotary_error *error);

enum reference_direction { REFERENCE_ROTATE = 1, REFERENCE_TRANSPOSED = -1 };

/* Rotates a head at a position, in place; transposed, for gradients and the outputs of attention. */
void reference_rotate(const struct reference_rotation_plan *plan, double *head, int64_t position,
                      enum reference_direction direction);

#endif
