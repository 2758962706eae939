/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation of the example in the cpu backend: rows are split over the threads.
 */
#include "backend/cpu.h"
#include "scale_columns.h"

#include "base/element.h"
#include "base/threads.h"

static void scale_row(void *argument, int64_t row, int worker)
{
    (void)worker;
    const struct backend_scale_columns *call = argument;
    struct matrix out = matrix_rows(call->out, row, 1), in = matrix_rows(call->in, row, 1);
    for (int64_t i = 0; i < out.columns; i++)
        rotary_set_element(out.data, i, out.dtype, call->scale[i] * rotary_element(in.data, i, in.dtype));
}

rotary_status cpu_scale_columns(const struct backend *backend, const struct backend_scale_columns *call,
                                rotary_error *error)
{
    (void)error;
    struct backend_scale_columns work = *call;
    rotary_parallel_for(backend->threads, work.out.rows, scale_row, &work);
    return ROTARY_OK;
}
