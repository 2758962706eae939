/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions between the f32 residual stream and matrices of the storage type.
 */
#ifndef ROTARY_LAYER_RESIDUAL_H
#define ROTARY_LAYER_RESIDUAL_H

#include "tensor/compute.h"
#include "tensor/matrix.h"

/* out = from, converted to the type of out. from is [out.rows, out.columns]. */
void residual_cast(const struct compute *compute, struct matrix out, const float *from);

/* to += from. to is [from.rows, from.columns]. */
void residual_add(const struct compute *compute, float *to, struct matrix from);

#endif
