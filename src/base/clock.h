/* SPDX-License-Identifier: Apache-2.0
 *
 * A monotonic clock.
 */
#ifndef ROTARY_BASE_CLOCK_H
#define ROTARY_BASE_CLOCK_H

#include <time.h>

/* Seconds since an arbitrary, fixed moment. Never decreases. */
static inline double rotary_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
