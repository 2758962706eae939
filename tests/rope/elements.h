/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and checking elements of tensors of any type.
 */
#ifndef TESTS_ROPE_ELEMENTS_H
#define TESTS_ROPE_ELEMENTS_H

#include "base/element.h"
#include "support/check.h"

#include <math.h>
#include <rotary/types.h>

static inline double element_get(const void *data, int64_t at, rotary_dtype dtype)
{
    return (double)rotary_element(data, at, dtype);
}

/* Checks that an element is `value`, which has an error of at most `error`, rounded to `dtype`: half a unit
 * in the last place of 24, 11 or 8 bits, and an underflow. f16 overflows at 65520; bf16
 * instructions flush numbers below 2^-126. */
static inline void element_check(double got, double value, double error, rotary_dtype dtype)
{
    double relative = dtype == ROTARY_F32 ? 0 : dtype == ROTARY_F16 ? 0x1p-11 : 0x1p-8;
    double smallest = dtype == ROTARY_F32 ? 0x1p-149 : dtype == ROTARY_F16 ? 0x1p-25 : 0x1p-126;
    if (dtype == ROTARY_F16 && fabs(value) + error >= 65520 && isinf(got))
        CHECK((got > 0) == (value > 0));
    else
        CHECK_NEAR(got, value, error + relative * (fabs(value) + error) + smallest);
}

#endif
