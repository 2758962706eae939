/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of tensors of any type, as the tests read and judge them.
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

/* Checks an element that should be `value`, known to within `error`, rounded to `dtype`: half a unit of a
 * type of 24, 11 or 8 bits, or of its smallest number more. f16 ends at 65520, where infinity begins; bf16
 * instructions flush what is below 2^-126. */
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
