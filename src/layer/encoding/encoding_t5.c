/* SPDX-License-Identifier: Apache-2.0
 *
 * T5's relative attention bias (Raffel et al. 2020): a trained number for each head and bucket of distances,
 * shared by the layers of a stack. Buckets are single distances up to half of their number, and then grow
 * with the logarithm of the distance up to max_distance. Where queries see both directions, each has half of
 * the buckets.
 */
#include "layer/encoding/encoding.h"

#include "base/fail.h"
#include "base/integer.h"

#include <math.h>
#include <stdio.h>

struct t5_options {
    int64_t buckets;      /* in all directions */
    int64_t max_distance; /* from which on all distances share one */
};

#define MEMBER(member) offsetof(struct t5_options, member)
static const struct setting table[] = {
    {"relative_attention_num_buckets", SETTING_INTEGER, MEMBER(buckets), 4, 1 << 16, NULL,
     .help = "buckets of distances (t5), an even number"},
    {"relative_attention_max_distance", SETTING_INTEGER, MEMBER(max_distance), 2, 1 << 24, NULL,
     .help = "distance from which on all share a bucket (t5)"},
};
static const struct t5_options defaults = {.buckets = 32, .max_distance = 128};

/* Half of the buckets are single distances, and the others lie between these and the last. */
static rotary_status check(const union encoding_options *options, rotary_error *error)
{
    const struct t5_options *t5 = (const struct t5_options *)options;
    if (t5->buckets % 2 != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "relative_attention_num_buckets is %lld: wanted an even number",
                           (long long)t5->buckets);
    if (t5->max_distance <= t5->buckets / 2)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "relative_attention_max_distance is %lld with relative_attention_num_buckets "
                           "%lld: wanted more than half of the buckets, which are single distances",
                           (long long)t5->max_distance, (long long)t5->buckets);
    return ROTARY_OK;
}

static const struct encoding_keys keys = {.settings = table,
                                          .count = sizeof table / sizeof table[0],
                                          .options_bytes = sizeof defaults,
                                          .defaults = &defaults,
                                          .check = check};

static const struct t5_options *options_of(const struct distance_bias_shape *shape)
{
    return (const struct t5_options *)&shape->settings.options;
}

/* A distance at the lower edge of a bucket is in it, whatever the rounding of logarithms. */
static const double rounding = 1e-9;

static int64_t bucket_of(const struct distance_bias_shape *shape, int64_t distance)
{
    int64_t buckets = options_of(shape)->buckets, first = 0, away = distance < 0 ? -distance : distance;
    if (!shape->causal) {
        buckets /= 2;
        first = distance > 0 ? buckets : 0;
    }
    int64_t exact = buckets / 2;
    if (away < exact)
        return first + away;
    double octaves = log((double)away / (double)exact),
           most = log((double)options_of(shape)->max_distance / (double)exact),
           beyond = octaves / most * (double)(buckets - exact);
    return first + min_i64(exact + (int64_t)(beyond + rounding), buckets - 1);
}

static int list(const struct distance_bias_shape *shape, struct parameter rows[DISTANCE_BIAS_PARAMETERS])
{
    rows[0] = (struct parameter){.rows = options_of(shape)->buckets,
                                 .columns = shape->heads,
                                 .initial = INITIAL_NORMAL,
                                 .scale = (float)(1.0 / sqrt((double)shape->settings.width))};
    snprintf(rows[0].name, sizeof rows[0].name, "relative_attention_bias.weight");
    return 1;
}

static void fill(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    for (int64_t i = 0; i < shape->distances; i++) {
        const float *row = parameters[0] + bucket_of(shape, shape->first + i) * shape->heads;
        for (int64_t head = 0; head < shape->heads; head++)
            bias[head * shape->distances + i] = row[head];
    }
}

static void gradient(const struct distance_bias_shape *shape, const float *const *parameters,
                     const float *d_bias, double *const *d_parameters)
{
    (void)parameters;
    for (int64_t i = 0; i < shape->distances; i++) {
        double *row = d_parameters[0] + bucket_of(shape, shape->first + i) * shape->heads;
        for (int64_t head = 0; head < shape->heads; head++)
            row[head] += (double)d_bias[head * shape->distances + i];
    }
}

static const struct distance_bias_function function = {.fill = fill, .list = list, .gradient = gradient};
const struct position_encoding encoding_t5 = {.keys = &keys, .distance_bias = &function};
