/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strides.h"

#include <math.h>

bool rotary_strides_nest(int64_t length, const int64_t extents[3], const int64_t strides[3])
{
    /* In double, which no stride overflows; it is exact for whatever fits into memory. */
    double reach = (double)length;
    bool done[3] = {extents[0] < 2, extents[1] < 2, extents[2] < 2};
    for (int turn = 0; turn < 3; turn++) {
        int least = -1;
        for (int axis = 0; axis < 3; axis++)
            if (!done[axis] && (least < 0 || fabs((double)strides[axis]) < fabs((double)strides[least])))
                least = axis;
        if (least < 0)
            return true;
        done[least] = true;
        double step = fabs((double)strides[least]);
        if (step < reach)
            return false;
        reach += step * (double)(extents[least] - 1);
    }
    return true;
}
