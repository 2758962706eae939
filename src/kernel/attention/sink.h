/* SPDX-License-Identifier: Apache-2.0
 *
 * Sinks: a logit of each head whose exponential is in the denominator of its softmax, and whose value is 0.
 * A sink is added to a row when its sums over keys are complete, so loops over keys know nothing of it, and
 * whether scores are bounded does not depend on it: however large the sink, the row's output is multiplied by
 * the share of its keys.
 */
#ifndef ROTARY_KERNEL_ATTENTION_SINK_H
#define ROTARY_KERNEL_ATTENTION_SINK_H

#include <math.h>

struct sink_row {
    float keys;        /* the share of the keys in the softmax */
    float log_sum_exp; /* of keys and sink */
};

/* The row of a sink whose exponentials of scores sum to exp(offset) * sum. */
static inline struct sink_row add_sink(float sink, double offset, double sum)
{
    double of_keys = offset + log(sum), of_sink = (double)sink, max = fmax(of_keys, of_sink);
    if (max == (double)-INFINITY)
        return (struct sink_row){1.0f, -INFINITY};
    double keys = exp(of_keys - max), total = keys + exp(of_sink - max);
    return (struct sink_row){(float)(keys / total), (float)(max + log(total))};
}

#endif
