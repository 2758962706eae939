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
static inline struct sink_row add_sink(float sink, float offset, float sum)
{
    if (sink == -INFINITY)
        return (struct sink_row){1.0f, offset + logf(sum)};
    if (sum == 0)
        return (struct sink_row){0.0f, sink};
    /* Relative to the larger of sink and offset. */
    const float apart = sink - offset, smaller = expf(-fabsf(apart)), keys = apart > 0 ? sum * smaller : sum,
                total = keys + (apart > 0 ? 1 : smaller);
    return (struct sink_row){keys / total, (apart > 0 ? sink : offset) + logf(total)};
}

#endif
