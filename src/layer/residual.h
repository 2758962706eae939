/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions between the f32 residual stream and matrices of the storage type.
 */
#ifndef ROTARY_LAYER_RESIDUAL_H
#define ROTARY_LAYER_RESIDUAL_H

#include "backend/backend.h"
#include "backend/matrix.h"

/* out = from, converted to the type of out. from is [out.rows, out.columns]. */
void residual_cast(const struct backend *backend, struct matrix out, const float *from);

/* to += from. to is [from.rows, from.columns]. */
void residual_add(const struct backend *backend, float *to, struct matrix from);

#endif
