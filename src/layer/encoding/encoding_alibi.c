/* SPDX-License-Identifier: Apache-2.0
 *
 * ALiBi (Press, Smith and Lewis 2022): the score of query m and key n is lowered by slope_h |n - m|. Head h
 * of H, a power of two, has the slope 2^(-8 (h + 1) / H). For other H the first heads have the slopes of the
 * power of two below H, and the rest every second one of twice that power.
 */
#include "layer/encoding/encoding.h"

#include <math.h>

static double slope_of(int64_t head, int64_t heads)
{
    int64_t power = 1;
    while (2 * power <= heads)
        power *= 2;
    if (head < power)
        return exp2(-8.0 * (double)(head + 1) / (double)power);
    return exp2(-4.0 * (double)(2 * (head - power) + 1) / (double)power);
}

static void fill(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    (void)parameters;
    for (int64_t head = 0; head < shape->heads; head++)
        for (int64_t i = 0; i < shape->distances; i++)
            bias[head * shape->distances + i] =
                (float)(-slope_of(head, shape->heads) * fabs((double)(shape->first + i)));
}

static const struct distance_bias_function function = {.fill = fill};
const struct position_encoding encoding_alibi = {.embedding = EMBEDDING_POSITION_NONE,
                                                 .distance_bias = &function};
