/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation of the example in the reference backend.
 */
#include "backend/reference_operations.h"
#include "scale_columns.h"

rotary_status reference_scale_columns(const struct backend *backend, const struct backend_scale_columns *call,
                                      rotary_error *error)
{
    (void)error;
    reference_check_matrix(backend, call->out, "scaled matrix");
    reference_check_matrix(backend, call->in, "matrix to scale");
    reference_check_array(backend, call->scale, call->out.columns, sizeof(float), "scale");
    for (int64_t row = 0; row < call->out.rows; row++)
        for (int64_t i = 0; i < call->out.columns; i++)
            reference_set(call->out, row, i, (double)call->scale[i] * reference_get(call->in, row, i));
    return ROTARY_OK;
}
