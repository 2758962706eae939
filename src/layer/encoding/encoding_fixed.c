/* SPDX-License-Identifier: Apache-2.0
 *
 * Biases by distance without parameters: ALiBi and Sandwich.
 */
#include "layer/encoding/encoding.h"

#include "base/fail.h"

#include <math.h>

/* ---- ALiBi (Press, Smith and Lewis 2022) ---- */

/* The score of query m and key n is lowered by slope_h |n - m|. Head h of H, a power of two, has the slope
 * 2^(-8 (h + 1) / H). For other H the first heads have the slopes of the power of two below H, and the rest
 * every second one of twice that power. */
static double slope_of(int64_t head, int64_t heads)
{
    int64_t power = 1;
    while (2 * power <= heads)
        power *= 2;
    if (head < power)
        return exp2(-8.0 * (double)(head + 1) / (double)power);
    return exp2(-4.0 * (double)(2 * (head - power) + 1) / (double)power);
}

static void fill_alibi(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    (void)parameters;
    for (int64_t head = 0; head < shape->heads; head++)
        for (int64_t i = 0; i < shape->distances; i++)
            bias[head * shape->distances + i] =
                (float)(-slope_of(head, shape->heads) * fabs((double)(shape->first + i)));
}

static const struct distance_bias_function alibi = {.fill = fill_alibi};
const struct position_encoding encoding_alibi = {.distance_bias = &alibi};

/* ---- Sandwich (Chi, Fan, Rudnicky and Ramadge 2023) ---- */

struct sandwich_options {
    int64_t channels; /* an even number */
};

static const struct setting sandwich_table[] = {
    {"sandwich_channels", SETTING_INTEGER, offsetof(struct sandwich_options, channels), 2,
     ENCODING_MAX_CHANNELS, NULL, .help = "channels of the sinusoids of sandwich, an even number"},
};
static const struct sandwich_options sandwich_defaults = {.channels = 128};

static rotary_status check_sandwich(const union encoding_options *options, rotary_error *error)
{
    const int64_t channels = ((const struct sandwich_options *)options)->channels;
    return channels % 2 == 0
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "sandwich_channels is %lld: wanted an even number", (long long)channels);
}

static const struct encoding_keys sandwich_keys = {.settings = sandwich_table,
                                                   .count = sizeof sandwich_table / sizeof sandwich_table[0],
                                                   .options_bytes = sizeof sandwich_defaults,
                                                   .defaults = &sandwich_defaults,
                                                   .check = check_sandwich,
                                                   .channels = "sandwich_channels"};

/* The product of the sinusoids of two positions is sum_i cos((n - m) / 10000^(2 i / c)) of c channels, and is
 * divided by 8 (h + 1) / H in head h of H. This is the sum less its value at distance 0, which changes no
 * softmax and leaves no bias above 0. */
static double product(const double *frequencies, int64_t count, int64_t distance)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += cos((double)distance * frequencies[i]) - 1.0;
    return sum;
}

static void fill_sandwich(const struct distance_bias_shape *shape, const float *const *parameters,
                          float *bias)
{
    double frequencies[ENCODING_MAX_CHANNELS / 2];
    const int64_t channels = ((const struct sandwich_options *)&shape->settings.options)->channels;
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

static const struct distance_bias_function sandwich = {.fill = fill_sandwich};
const struct position_encoding encoding_sandwich = {.keys = &sandwich_keys, .distance_bias = &sandwich};
