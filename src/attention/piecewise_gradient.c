/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/piecewise_gradient.h"

#include "kernel/attention/piecewise_sums.h"

bool rotary_attention_wants_piecewise_gradient(const rotary_attention_piecewise_bias *bias)
{
    return bias->intercepts &&
           (bias->intercept_gradient || bias->slope_gradient || bias->input_gradient || bias->scale_gradient);
}

void rotary_attention_carve_piecewise_gradient(const rotary_attention *attention,
                                               struct piecewise_gradient *gradient, int64_t items,
                                               int64_t queries, int64_t keys, struct rotary_arena *arena)
{
    const struct rotary_attention_piecewise_sums of = rotary_attention_piecewise_sums_of(
        rotary_attention_group(attention), gradient->bias->segments, queries, keys);
    rotary_attention_carve_items(&gradient->items, items, of.floats, arena);
}

int64_t rotary_attention_piecewise_parts(const rotary_attention *attention)
{
    return attention->heads + 2;
}

struct piecewise_part rotary_attention_piecewise_part(const rotary_attention *attention, int64_t index)
{
    int64_t heads = attention->heads;
    if (index < heads)
        return (struct piecewise_part){PIECEWISE_SEGMENTS, index, index + 1, 1};
    /* They are of one head of each group: the sums are of all that share keys. */
    return (struct piecewise_part){index == heads ? PIECEWISE_DISTANCES : PIECEWISE_QUERIES, 0, heads,
                                   rotary_attention_group(attention)};
}

static float sum_of_lanes(const float *lanes)
{
    double sum = 0;
    for (int lane = 0; lane < ROTARY_ATTENTION_SUM_LANES; lane++)
        sum += (double)lanes[lane];
    return (float)sum;
}

static void add_segments(const rotary_attention_piecewise_bias *bias, int64_t head, const float *sums)
{
    for (int64_t i = 0; i < bias->segments; i++, sums += 2 * ROTARY_ATTENTION_SUM_LANES) {
        if (bias->intercept_gradient)
            bias->intercept_gradient[head * bias->segments + i] += sum_of_lanes(sums);
        if (bias->slope_gradient)
            bias->slope_gradient[head * bias->segments + i] +=
                sum_of_lanes(sums + ROTARY_ATTENTION_SUM_LANES);
    }
}

void rotary_attention_add_item_piecewise(const rotary_attention *attention,
                                         const struct piecewise_gradient *gradient, int64_t item,
                                         const rotary_attention_work *work, const struct piecewise_part *part)
{
    const rotary_attention_piecewise_bias *bias = gradient->bias;
    int64_t group = rotary_attention_group(attention), queries = work->query_end - work->query_begin,
            keys = work->key_end - work->key_begin;
    const struct rotary_attention_piecewise_sums at =
        rotary_attention_piecewise_sums_of(group, bias->segments, queries, keys);
    const float *sums = rotary_attention_item(&gradient->items, item);
    int64_t query = gradient->query + work->query_begin, key = gradient->key + work->key_begin;
    if (part->kind == PIECEWISE_SEGMENTS)
        add_segments(bias, part->head, sums + part->head % group * at.head);
    if (part->kind == PIECEWISE_DISTANCES && bias->input_gradient)
        rotary_attention_add_clipped(bias->input_gradient, bias->distances,
                                     key - (query + queries - 1) - bias->first, sums + at.distances,
                                     queries + keys - 1);
    if (part->kind == PIECEWISE_QUERIES && bias->scale_gradient)
        rotary_attention_add_clipped(bias->scale_gradient, bias->positions, query, sums + at.queries,
                                     queries);
}
