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
    for (int64_t i = begin; i < end; i++)
        if (logits[i] > largest->values[largest->count - 1])
            offer(largest, logits[i], largest->work->first + i);
}

static void find_largest(struct largest *largest, const float *logits)
{
    int64_t i = 0, columns = largest->work->columns;
    for (; i < columns && largest->count < largest->work->count; i++)
        offer(largest, logits[i], largest->work->first + i);
    for (; i + BLOCK <= columns; i += BLOCK) {
        if (!(row_max(logits + i, BLOCK) > largest->values[largest->count - 1]))
            continue;
        for (int64_t begin = i; begin < i + BLOCK; begin += LANES)
            if (row_max(logits + begin, LANES) > largest->values[largest->count - 1])
                offer_all(largest, logits, begin, begin + LANES);
    }
    offer_all(largest, logits, i, columns);
}

/* How many classes there are among the largest before the call. */
static int64_t count_before(const struct layer_top_classes *work)
{
    int64_t count = work->first;
    for (int64_t i = 0; i < work->excluded_count; i++)
        count -= work->excluded[i] < work->first;
    return count < work->count ? count : work->count;
}

INLINE vfloat exponentials(const float *x, int64_t i, int64_t lanes, vfloat offset)
{
    vfloat e = v_exp_to_88(load_f32(x, i, lanes) - offset);
    return lanes == LANES ? e : (vfloat)(first_lanes(lanes) & (vint)e);
}

/* Sums exponentials relative to the maximum so far; an earlier sum is scaled when that rises. `max` is that
 * of the logits. */
static void add_exponentials(const float *x, int64_t count, float max, float *maximum, float *sum)
{
    float before = *maximum, after = before > max ? before : max;
    vfloat offset = v_set(after == -INFINITY ? 0.0f : after), even = {0}, odd = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        even += exponentials(x, i, LANES, offset);
        odd += exponentials(x, i + LANES, LANES, offset);
    }
    for (; i < count; i += LANES)
        even += exponentials(x, i, remaining_lanes(i, count), offset);
    *maximum = after;
    *sum = *sum * (before == after ? 1.0f : expf(before - after)) + v_sum(even + odd);
}

static void add_row(const struct layer_top_classes *work, int64_t row, int64_t before)
{
    const float *logits = work->logits + row * work->logits_stride;
    struct largest largest = {.work = work,
                              .values = work->log_probabilities + row * work->count,
                              .classes = work->chosen + row * work->count,
                              .count = before};
    if (work->first == 0) {
        work->maximum[row] = -INFINITY;
        work->sum[row] = 0.0f;
    }
    float max = row_max(logits, work->columns);
    if (before < work->count || max > largest.values[before - 1])
        find_largest(&largest, logits);
    add_exponentials(logits, work->columns, max, &work->maximum[row], &work->sum[row]);
    if (work->first + work->columns < work->classes)
        return;
    float log_sum_exp = work->maximum[row] + logf(work->sum[row]);
    for (int64_t i = 0; i < largest.count; i++)
        largest.values[i] -= log_sum_exp;
}

void ROTARY_KERNEL(layer_top_classes)(const struct layer_top_classes *work)
{
    int64_t before = count_before(work);
    for (int64_t row = 0; row < work->rows; row++)
        add_row(work, row, before);
}
