/* SPDX-License-Identifier: Apache-2.0
 *
 * Sandwich (Chi, Fan, Rudnicky and Ramadge 2023): the product of the sinusoids of two positions,
 * sum_i cos((n - m) / 10000^(2 i / c)) of c channels, divided by 8 (h + 1) / H in head h of H.
 */
#include "layer/encoding/encoding.h"

#include <math.h>

/* The sum less its value at distance 0, which changes no softmax and leaves no bias above 0. */
static double product(const double *frequencies, int64_t count, int64_t distance)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += cos((double)distance * frequencies[i]) - 1.0;
    return sum;
}

static void fill(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    double frequencies[SANDWICH_MAX_CHANNELS / 2];
    int64_t channels = shape->settings.sandwich_channels;
    (void)parameters;
    for (int64_t i = 0; i < channels / 2; i++)
        frequencies[i] = pow(10000.0, -2.0 * (double)i / (double)channels);
    for (int64_t i = 0; i < shape->distances; i++) {
        double sum = product(frequencies, channels / 2, shape->first + i);
        for (int64_t head = 0; head < shape->heads; head++)
            bias[head * shape->distances + i] =
                (float)(sum * (double)shape->heads / (8.0 * (double)(head + 1)));
    }
}

static const struct distance_bias_function function = {.fill = fill};
const struct position_encoding encoding_sandwich = {.embedding = EMBEDDING_POSITION_NONE,
                                                    .distance_bias = &function};
