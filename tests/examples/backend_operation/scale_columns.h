/* SPDX-License-Identifier: Apache-2.0
 *
 * The argument of the example's operation. That of an operation of the project stands in
 * backend/operation_calls.h.
 */
#ifndef EXAMPLE_SCALE_COLUMNS_H
#define EXAMPLE_SCALE_COLUMNS_H

#include "backend/backend.h"

/* out[row, column] = scale[column] * in[row, column], both of the storage type: LayerScale (Touvron et al.
 * 2021). out may be in. */
struct backend_scale_columns {
    struct matrix out, in;
    const float *scale; /* [out.columns] f32 */
};

#endif
