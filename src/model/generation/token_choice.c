/* SPDX-License-Identifier: Apache-2.0 */
#include "model/generation/token_choice.h"

#include "base/fail.h"

#include <math.h>

rotary_status token_check_logits(const float *logits, int64_t count, rotary_error *error)
{
    int wrong = 0, finite = 0; /* without a branch, so that a large vocabulary takes little time */
    for (int64_t i = 0; i < count; i++) {
        wrong |= !(logits[i] < INFINITY);
        finite |= logits[i] > -INFINITY;
    }
    if (!wrong && finite)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the model's logits are not numbers");
}

int32_t token_argmax(const float *logits, int64_t count)
{
    int64_t index = 0;
    for (int64_t i = 1; i < count; i++)
        if (logits[i] > logits[index])
            index = i;
    return (int32_t)index;
}

int32_t token_sample(const float *logits, int64_t count, double temperature, double uniform)
{
    double max = (double)logits[token_argmax(logits, count)], total = 0.0;
    for (int64_t i = 0; i < count; i++)
        total += exp(((double)logits[i] - max) / temperature);
    double remaining = uniform * total;
    for (int64_t i = 0; i < count; i++) {
        remaining -= exp(((double)logits[i] - max) / temperature);
        if (remaining < 0.0)
            return (int32_t)i;
    }
    return token_argmax(logits, count);
}

double token_log_sum_exp(const float *logits, int64_t count)
{
    double max = (double)logits[token_argmax(logits, count)], total = 0.0;
    for (int64_t i = 0; i < count; i++)
        total += exp((double)logits[i] - max);
    return max + log(total);
}
