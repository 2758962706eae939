/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/decay.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

static double mean_of_sums(const rotary_rope *rope, double distance)
{
    const double *frequencies = rotary_rope_inverse_frequencies(rope);
    int64_t pairs = rotary_rope_pairs(rope);
    double real = 0, imaginary = 0, total = 0;
    for (int64_t pair = 0; pair < pairs; pair++) {
        real += cos(distance * frequencies[pair]);
        imaginary += sin(distance * frequencies[pair]);
        total += hypot(real, imaginary);
    }
    return total / (double)pairs;
}

rotary_status decay_make_curve(const rotary_rope *rope, int64_t distance, struct decay_curve *curve,
                               rotary_error *error)
{
    int64_t count = distance + 1;
    double *values = calloc((size_t)count, sizeof *values);
    if (!values)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %lld distances", (long long)count);
    for (int64_t i = 0; i < count; i++)
        values[i] = mean_of_sums(rope, (double)i);
    *curve = (struct decay_curve){.count = count, .values = values};
    return ROTARY_OK;
}
