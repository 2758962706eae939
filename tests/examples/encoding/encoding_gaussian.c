/* SPDX-License-Identifier: Apache-2.0
 *
 * A Gaussian window (Guo, Zhang and Liu 2019, with fixed widths): the score of query m and key n is lowered
 * by (n - m)^2 / (2 w_h^2). Head h has the width w_h = 2^h.
 */
#include "layer/encoding/encoding.h"

#include <math.h>

static void fill(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    (void)parameters;
    for (int64_t head = 0; head < shape->heads; head++)
        for (int64_t i = 0; i < shape->distances; i++) {
            double widths = (double)(shape->first + i) / exp2((double)head);
            bias[head * shape->distances + i] = (float)(-0.5 * widths * widths);
        }
}

static const struct distance_bias_function function = {.fill = fill};
const struct position_encoding encoding_gaussian = {.embedding = EMBEDDING_POSITION_NONE,
                                                    .distance_bias = &function};
