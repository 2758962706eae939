/* SPDX-License-Identifier: Apache-2.0
 *
 * A Gaussian window (Guo, Zhang and Liu 2019, with fixed widths): the score of query m and key n is lowered
 * by (n - m)^2 / (2 w_h^2). Head h has the width w_h = w 2^h, where the key gaussian_width says w.
 */
#include "layer/encoding/encoding.h"

#include "base/fail.h"

#include <math.h>

struct gaussian_options {
    int64_t width; /* of the first head, a power of two */
};

static const struct setting table[] = {
    {"gaussian_width", SETTING_INTEGER, offsetof(struct gaussian_options, width), 1, 1 << 20, NULL,
     .help = "width of the first head's window (gaussian), a power of two"},
};
static const struct gaussian_options defaults = {.width = 1};

static int64_t width_of(const union encoding_options *options)
{
    return ((const struct gaussian_options *)options)->width;
}

static rotary_status check(const union encoding_options *options, rotary_error *error)
{
    const int64_t width = width_of(options);
    return (width & (width - 1)) == 0
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_INVALID_ARGUMENT, "gaussian_width is %lld: wanted a power of two",
                             (long long)width);
}

static const struct encoding_keys keys = {.settings = table,
                                          .count = sizeof table / sizeof table[0],
                                          .options_bytes = sizeof defaults,
                                          .defaults = &defaults,
                                          .check = check};

static void fill(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    (void)parameters;
    for (int64_t head = 0; head < shape->heads; head++)
        for (int64_t i = 0; i < shape->distances; i++) {
            double widths = (double)(shape->first + i) /
                            ((double)width_of(&shape->settings.options) * exp2((double)head));
            bias[head * shape->distances + i] = (float)(-0.5 * widths * widths);
        }
}

static const struct distance_bias_function function = {.fill = fill};
const struct position_encoding encoding_gaussian = {.keys = &keys, .distance_bias = &function};
