/* SPDX-License-Identifier: Apache-2.0 */
#include "records/head_statistics.h"

#include <math.h>

double head_entropy(const float *weights, int64_t keys)
{
    double entropy = 0;
    for (int64_t n = 0; n < keys; n++)
        if (weights[n] > 0)
            entropy -= (double)weights[n] * log((double)weights[n]);
    return entropy;
}

/* How far away what a query attends to is on average; it has `keys` weights. */
static double distance_of(const float *weights, int64_t keys, int64_t query)
{
    double distance = 0;
    for (int64_t n = 0; n < keys; n++)
        distance += (double)weights[n] * fabs((double)(query - n));
    return distance;
}

struct head_numbers head_numbers_of(const struct attention_weights *weights, int64_t layer, int64_t head)
{
    const float *of_head = attention_weights_head(weights, layer, head);
    const int32_t *visible = weights->visible + layer * weights->queries;
    struct head_numbers sum = {0};
    int64_t choosing = 0;
    for (int64_t m = 0; m < weights->queries; m++) {
        const float *row = of_head + m * weights->keys;
        double entropy = head_entropy(row, weights->keys);
        sum.entropy += entropy;
        sum.distance += distance_of(row, weights->keys, m);
        if (visible[m] > 1) {
            sum.normalised += entropy / log((double)visible[m]);
            choosing++;
        }
    }
    return (struct head_numbers){.entropy = sum.entropy / (double)weights->queries,
                                 .normalised = choosing ? sum.normalised / (double)choosing : (double)NAN,
                                 .distance = sum.distance / (double)weights->queries};
}

void head_offsets_add(struct head_offsets *offsets, const struct attention_weights *weights, int64_t layer,
                      int64_t head)
{
    const float *of_head = attention_weights_head(weights, layer, head);
    for (int64_t m = 0; m < weights->queries; m++) {
        if (weights->visible[layer * weights->queries + m] < 2)
            continue;
        const float *row = of_head + m * weights->keys;
        int64_t largest = 0;
        for (int64_t n = 1; n < weights->keys; n++)
            if (row[n] > row[largest])
                largest = n;
        int64_t offset = largest - m;
        offset = offset > HEAD_MAX_OFFSET ? HEAD_MAX_OFFSET : offset;
        offset = offset < -HEAD_MAX_OFFSET ? -HEAD_MAX_OFFSET : offset;
        offsets->counts[HEAD_MAX_OFFSET + offset]++;
        offsets->queries++;
    }
}

struct head_position head_position_of(const struct head_offsets *offsets)
{
    int64_t best = 0;
    for (int64_t distance = 1; distance <= HEAD_MAX_OFFSET; distance++) {
        if (offsets->counts[HEAD_MAX_OFFSET - distance] > offsets->counts[HEAD_MAX_OFFSET + best])
            best = -distance;
        if (offsets->counts[HEAD_MAX_OFFSET + distance] > offsets->counts[HEAD_MAX_OFFSET + best])
            best = distance;
    }
    if (offsets->queries == 0)
        return (struct head_position){.share = (double)NAN};
    return (struct head_position){
        .share = (double)offsets->counts[HEAD_MAX_OFFSET + best] / (double)offsets->queries, .offset = best};
}
