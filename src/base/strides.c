/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strides.h"

#include "base/fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static bool disjoint(int64_t length, const int64_t extents[3], const int64_t strides[3])
{
    /* In double, which no stride overflows; it is exact for tensors that fit into memory. */
    double extent = (double)length;
    bool done[3] = {extents[0] < 2, extents[1] < 2, extents[2] < 2};
    for (int i = 0; i < 3; i++) {
        int min = -1;
        for (int axis = 0; axis < 3; axis++)
            if (!done[axis] && (min < 0 || fabs((double)strides[axis]) < fabs((double)strides[min])))
                min = axis;
        if (min < 0)
            return true;
        done[min] = true;
        double step = fabs((double)strides[min]);
        if (step < extent)
            return false;
        extent += step * (double)(extents[min] - 1);
    }
    return true;
}

rotary_status rotary_check_strides(const struct rotary_vectors *vectors, rotary_error *error)
{
    const int64_t *extents = vectors->extents, *strides = vectors->strides;
    if (disjoint(vectors->length, extents, strides))
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "%s%s has strides %lld, %lld, %lld for [%lld, %lld, %lld] vectors of %lld channels, so vectors "
        "overlap; wanted each stride at least the extent of the axes with smaller strides",
        vectors->tensor, vectors->member, (long long)strides[0], (long long)strides[1], (long long)strides[2],
        (long long)extents[0], (long long)extents[1], (long long)extents[2], (long long)vectors->length);
}

/* ---- sizes that overflow ---- */

/* Whether (extent - 1) * |stride| can be added to *last. */
static bool add_axis(int64_t extent, int64_t stride, int64_t *last)
{
    int64_t span;
    return extent < 2 || (stride != INT64_MIN && !__builtin_mul_overflow(extent - 1, llabs(stride), &span) &&
                          !__builtin_add_overflow(*last, span, last));
}

rotary_status rotary_check_offsets(const struct rotary_vectors *vectors, rotary_error *error)
{
    const int64_t *extents = vectors->extents, *strides = vectors->strides;
    int64_t last = vectors->length, bytes;
    bool fits = true;
    for (int axis = 0; axis < 3; axis++)
        fits = fits && add_axis(extents[axis], strides[axis], &last);
    if (fits && !__builtin_mul_overflow(last, (int64_t)vectors->element_bytes, &bytes))
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "%s%s has strides %lld, %lld, %lld for [%lld, %lld, %lld] vectors of %lld channels, whose "
        "offsets overflow; wanted a tensor that fits into memory",
        vectors->tensor, vectors->member, (long long)strides[0], (long long)strides[1], (long long)strides[2],
        (long long)extents[0], (long long)extents[1], (long long)extents[2], (long long)vectors->length);
}

rotary_status rotary_check_tokens(int64_t batch, int64_t time, rotary_error *error)
{
    if (batch < 0 || time < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "batch is %lld and time is %lld; wanted neither below 0", (long long)batch,
                           (long long)time);
    if (batch > ROTARY_MAX_TOKENS || time > ROTARY_MAX_TOKENS ||
        (batch > 0 && time > ROTARY_MAX_TOKENS / batch))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "batch is %lld and time is %lld; wanted at most %lld tokens", (long long)batch,
                           (long long)time, (long long)ROTARY_MAX_TOKENS);
    return ROTARY_OK;
}
