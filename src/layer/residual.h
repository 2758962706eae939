/* SPDX-License-Identifier: Apache-2.0
 *
 * The residual stream is f32; what goes into a sublayer has the storage type.
 */
#ifndef ROTARY_LAYER_RESIDUAL_H
#define ROTARY_LAYER_RESIDUAL_H

#include "tensor/compute.h"
#include "tensor/matrix.h"

/* out = from, in out's type. from is [out.rows, out.columns]. */
void residual_cast(const struct compute *compute, struct matrix out, const float *from);

/* to += from, of any type. to is [from.rows, from.columns]. */
void residual_add(const struct compute *compute, float *to, struct matrix from);

#endif
