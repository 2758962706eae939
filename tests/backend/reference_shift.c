/* SPDX-License-Identifier: Apache-2.0
 *
 * Context shift in the reference backend: each token that stays is rotated by the distance it moves, in
 * double.
 */
#include "backend/reference_operations.h"
#include "backend/reference_scores.h"

#include <stdlib.h>

static struct matrix vector_at(const struct attention_plan *plan, rotary_attention_view view, int64_t entry,
                               int64_t row, int64_t head)
{
    int64_t element = entry * view.batch_stride + row * view.time_stride + head * view.head_stride;
    return matrix_of((unsigned char *)view.data + (size_t)element * rotary_dtype_size(plan->config.dtype),
                     plan->config.dtype, 1, plan->config.head_dim);
}

/* Of a magnitude, what position 0 has cancels: it was in the vector before. */
static void rotate(const struct attention_plan *plan, const struct reference_rotation_plan *rotation,
                   double *head, int64_t distance)
{
    double *at_origin = reference_doubles(plan->config.head_dim);
    int64_t channels = rotation->pairs > 0 ? plan->config.head_dim : 0;
    for (int64_t i = 0; i < channels; i++)
        at_origin[i] = 1.0;
    if (channels > 0) {
        reference_rotate(rotation, head, distance, REFERENCE_ROTATE);
        reference_rotate(rotation, at_origin, 0, REFERENCE_ROTATE);
    }
    for (int64_t i = 0; i < channels; i++)
        head[i] /= at_origin[i];
    free(at_origin);
}

static void shift(const struct attention_plan *plan, const rotary_attention_shift_call *call,
                  rotary_attention_view view, const struct reference_rotation_plan *rotation)
{
    int64_t dim = plan->config.head_dim;
    double *head = reference_doubles(dim);
    for (int64_t entry = 0; entry < call->batch; entry++)
        for (int64_t row = call->keep[entry] + call->discard[entry]; row < call->lengths[entry]; row++)
            for (int64_t h = 0; h < plan->config.key_value_heads; h++) {
                struct matrix from = vector_at(plan, view, entry, row, h),
                              to = vector_at(plan, view, entry, row - call->discard[entry], h);
                for (int64_t i = 0; i < dim; i++)
                    head[i] = reference_get(from, 0, i);
                rotate(plan, rotation, head, -call->discard[entry]);
                for (int64_t i = 0; i < dim; i++)
                    reference_set(to, 0, i, head[i]);
            }
    free(head);
}

rotary_status reference_attention_shift(const struct backend *backend,
                                        const struct backend_attention_shift *call, rotary_error *error)
{
    (void)error;
    const rotary_attention_shift_call *of = call->call;
    reference_check_host(backend, of->lengths, "lengths of a shift");
    reference_check_host(backend, of->keep, "kept tokens of a shift");
    reference_check_host(backend, of->discard, "discarded tokens of a shift");
    shift(call->plan, of, of->key_cache, &call->plan->key_rotation);
    if (!call->plan->config.key_is_value)
        shift(call->plan, of, of->value_cache, &call->plan->value_rotation);
    return ROTARY_OK;
}
