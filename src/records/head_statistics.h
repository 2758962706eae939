/* SPDX-License-Identifier: Apache-2.0
 *
 * What a head of attention does, in a few numbers.
 */
#ifndef ROTARY_RECORDS_HEAD_STATISTICS_H
#define ROTARY_RECORDS_HEAD_STATISTICS_H

#include "base/attention_maps.h"

#include <rotary/status.h>

/* Means over the queries of one sequence. Of query m, with weight w(n) at key n:
 *
 *     entropy      -sum_n w(n) ln w(n), in nats: 0 where it looks at one key, ln k where it looks at k alike
 *     normalised   entropy / ln(keys it sees), 0 ... 1. Queries that see one key have none
 *     distance     sum_n w(n) |m - n|, in tokens: places are counted from 0 in each sequence
 */
struct head_numbers {
    double entropy, normalised, distance; /* NaN where no query has such a number */
};
/* The entropy of one query, of its weights at `keys` keys. */
double head_entropy(const float *weights, int64_t keys);
struct head_numbers head_numbers_of(const struct attention_weights *weights, int64_t layer, int64_t head);

/* Where queries look: how many have their largest weight at each offset n - m. Queries that see one key have
 * no choice and are not counted. A head is called positional where nearly all have it at one offset (Voita et
 * al. 2019, "Analyzing Multi-Head Self-Attention"; they ask for 90%). */
enum { HEAD_MAX_OFFSET = 1023 }; /* larger offsets are counted as this one */
struct head_offsets {
    int32_t counts[2 * HEAD_MAX_OFFSET + 1]; /* entry HEAD_MAX_OFFSET is the offset 0 */
    int64_t queries;
};
/* Adds those of one sequence. Of equal weights the first counts. */
void head_offsets_add(struct head_offsets *offsets, const struct attention_weights *weights, int64_t layer,
                      int64_t head);
/* The most frequent offset, of equally frequent ones the least in size, and the share of queries that have
 * it: NaN without queries. */
struct head_position {
    double share;
    int64_t offset;
};
struct head_position head_position_of(const struct head_offsets *offsets);

#endif
