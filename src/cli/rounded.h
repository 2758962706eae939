/* SPDX-License-Identifier: Apache-2.0
 *
 * Turning as programs do that compute in 16 bits: the rounding that librotary does not have, so that a person
 * can see whether another program's numbers are these.
 */
#ifndef ROTARY_CLI_ROUNDED_H
#define ROTARY_CLI_ROUNDED_H

#include "cli/rotation.h"

/* What is rounded to what, where PyTorch would: every operation is done in f32 and its result rounded. */
struct rounded_arithmetic {
    /* Cosines and sines, with their magnitude, then each product, then their sum: as a model of this type
     * turns. */
    rotary_dtype products;
    /* Positions, inverse frequencies, their product, its cosine and sine, and these times the magnitude: as a
     * rotation that was itself cast to this type (model.to(bfloat16)). ROTARY_F32: the plan's own cosines and
     * sines. */
    rotary_dtype angles;
};

/* Does what rotary_rope_apply would do with this call, which turns the one tensor of `role`, in place; angles
 * in 16 bits want the plan's tables. Errors as rotary_rope_apply. */
ROTARY_CHECKED rotary_status rounded_apply(const rotary_rope *rope, const rotary_rope_apply_call *call,
                                           enum rotary_rope_role role,
                                           const struct rounded_arithmetic *arithmetic, rotary_error *error);

#endif
