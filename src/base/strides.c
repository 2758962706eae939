/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strides.h"

#include "base/fail.h"

#include <math.h>
#include <stdbool.h>

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

rotary_status rotary_check_strides(const char *tensor, const char *member, int64_t length,
                                   const int64_t extents[3], const int64_t strides[3], rotary_error *error)
{
    if (disjoint(length, extents, strides))
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "%s%s has strides %lld, %lld, %lld for [%lld, %lld, %lld] vectors of %lld channels, so vectors "
        "overlap; wanted each stride at least the extent of the axes with smaller strides",
        tensor, member, (long long)strides[0], (long long)strides[1], (long long)strides[2],
        (long long)extents[0], (long long)extents[1], (long long)extents[2], (long long)length);
}
