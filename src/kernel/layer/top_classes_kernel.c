/* SPDX-License-Identifier: Apache-2.0
 *
 * The most probable classes of rows of logits. Blocks of logits are compared with the smallest of the largest
 * so far by their maximum, so that hardly any logit is looked at by itself.
 */
#include "kernel/layer/layer_variant.h"

enum { BLOCK = 8 * LANES };

/* The largest so far, in order. */
struct largest {
    const struct layer_top_classes *work;
    float *values;
    int32_t *classes;
    int64_t count;
};

static bool is_excluded(const struct layer_top_classes *work, int64_t index)
{
    for (int64_t i = 0; i < work->excluded_count; i++)
        if (work->excluded[i] == index)
            return true;
    return false;
}

/* Takes the place of the smallest if it is larger. NaN is smaller than all. */
static void offer(struct largest *largest, float value, int64_t index)
{
    int64_t place = largest->count;
    value = value > -INFINITY ? value : -INFINITY;
    bool full = place == largest->work->count;
    if ((full && !(value > largest->values[place - 1])) || is_excluded(largest->work, index))
        return;
    if (full)
        place--;
    else
        largest->count++;
    for (; place > 0 && largest->values[place - 1] < value; place--) {
        largest->values[place] = largest->values[place - 1];
        largest->classes[place] = largest->classes[place - 1];
    }
    largest->values[place] = value;
    largest->classes[place] = (int32_t)index;
}

static void offer_all(struct largest *largest, const float *logits, int64_t begin, int64_t end)
{
    for (int64_t index = begin; index < end; index++)
        if (logits[index] > largest->values[largest->count - 1])
            offer(largest, logits[index], index);
}

static void find_largest(struct largest *largest, const float *logits, int64_t classes)
{
    int64_t i = 0;
    for (; i < classes && largest->count < largest->work->count; i++)
        offer(largest, logits[i], i);
    for (; i + BLOCK <= classes; i += BLOCK) {
        if (!(row_max(logits + i, BLOCK) > largest->values[largest->count - 1]))
            continue;
        for (int64_t begin = i; begin < i + BLOCK; begin += LANES)
            if (row_max(logits + begin, LANES) > largest->values[largest->count - 1])
                offer_all(largest, logits, begin, begin + LANES);
    }
    offer_all(largest, logits, i, classes);
}

static float log_sum_exp(const float *x, int64_t count)
{
    float max = row_max(x, count);
    vfloat total = {0};
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t lanes = remaining_lanes(i, count);
        vfloat e = v_exp(load_f32(x, i, lanes) - v_set(max));
        total += (vfloat)(first_lanes(lanes) & (vint)e);
    }
    return max + logf(v_sum(total));
}

void ROTARY_KERNEL(layer_top_classes)(const struct layer_top_classes *work)
{
    for (int64_t row = 0; row < work->rows; row++) {
        const float *logits = work->logits + row * work->logits_stride;
        struct largest largest = {.work = work,
                                  .values = work->log_probabilities + row * work->count,
                                  .classes = work->chosen + row * work->count};
        find_largest(&largest, logits, work->classes);
        float sum = log_sum_exp(logits, work->classes);
        for (int64_t i = 0; i < largest.count; i++)
            largest.values[i] -= sum;
    }
}
