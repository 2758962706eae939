/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of attention's goldens, and how near their outputs must be.
 */
#ifndef TESTS_ATTENTION_GOLDEN_NUMBERS_H
#define TESTS_ATTENTION_GOLDEN_NUMBERS_H

#include "support/check.h"

#include <math.h>
#include <stdlib.h>

/* As numbers() in the scripts of tests/golden. */
static inline float *golden_numbers(int64_t seed, int64_t count)
{
    float *made = malloc((size_t)count * sizeof *made);
    for (int64_t j = 0; j < count; j++) {
        int64_t i = j + 100003 * seed;
        uint32_t hash = 1103515245u * (uint32_t)i + 12345u;
        made[j] = (float)((int)(hash >> 8 & 0xffff) - 32768) / 32768.0f * ldexpf(1.0f, (int)(i % 4) - 2);
    }
    return made;
}

/* Numbers are below 2, so a score of 32 products, 1 / sqrt(32) of their sum, is at most 23, and off by 32
 * + 8 roundings of that: 5.5e-5. p is off by twice as much of itself. Outputs and gradients are sums
 * of products with p, which cancel to no less than half of the largest sample here: 4 times 5.5e-5 of
 * it. */
static inline void check_samples(const float *got, int64_t count, const double *wanted, int samples)
{
    double largest = 0;
    for (int j = 0; j < samples; j++)
        largest = fmax(largest, fabs(wanted[j]));
    for (int j = 0; j < samples; j++)
        CHECK_NEAR((double)got[j * 613 % count], wanted[j], 2.2e-4 * largest);
}

#endif
