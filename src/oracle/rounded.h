/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotation as programs that work in 16 bits compute it. librotary does not round that way; this reproduces
 * the numbers of a program that does.
 */
#ifndef ROTARY_ORACLE_ROUNDED_H
#define ROTARY_ORACLE_ROUNDED_H

#include "oracle/rotation.h"

/* What is rounded to which type, as PyTorch would: every operation is computed in f32 and its result rounded.
 */
struct rounded_arithmetic {
    /* Cosines and sines with their magnitude, each product, and each sum: a model of this type. */
    rotary_dtype products;
    /* Positions, inverse frequencies, angles, their cosines and sines, and these times the magnitude: a
     * rotation that was itself cast to this type (model.to(bfloat16)). ROTARY_F32: the plan's own cosines and
     * sines. */
    rotary_dtype angles;
};

/* Does what rotary_rope_apply would do with this call, which rotates only the tensor of `role`, in place.
 * Angles in 16 bits need the plan's own tables, not the call's. Errors as rotary_rope_apply. */
ROTARY_CHECKED rotary_status rounded_apply(const rotary_rope *rope, const rotary_rope_apply_call *call,
                                           enum rotary_rope_role role,
                                           const struct rounded_arithmetic *arithmetic, rotary_error *error);

#endif
