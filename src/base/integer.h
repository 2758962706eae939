/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on sizes and counts.
 */
#ifndef ROTARY_BASE_INTEGER_H
#define ROTARY_BASE_INTEGER_H

#include <stdint.h>

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* value / divisor, rounded up; value >= 0, divisor >= 1. */
static inline int64_t divide_up(int64_t value, int64_t divisor)
{
    return (value + divisor - 1) / divisor;
}

/* The smallest multiple of `multiple` that is at least `value`. */
static inline int64_t round_up(int64_t value, int64_t multiple)
{
    return divide_up(value, multiple) * multiple;
}

#endif
