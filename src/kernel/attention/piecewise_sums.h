/* SPDX-License-Identifier: Apache-2.0
 *
 * The sums of the gradient of a piecewise-linear bias over a work item, which its term shares with the
 * backward pass. They are, with x(m, n) = input(n - m) scale(m) and `slope` that of the segment of x,
 *
 *     for each head of the group and segment   sum of ds, and sum of ds x, over the scores in the segment
 *     for each distance                        sum of ds slope scale(m), over heads and scores at the distance
 *     for each query                           sum of ds slope input(n - m), over heads and keys
 *
 * Those of segments are left in lanes, to be added up at the end.
 */
#ifndef ROTARY_KERNEL_ATTENTION_PIECEWISE_SUMS_H
#define ROTARY_KERNEL_ATTENTION_PIECEWISE_SUMS_H

#include "kernel/attention/attention_kernels.h"

enum { ROTARY_ATTENTION_SUM_LANES = 16 }; /* at least the LANES of every instruction set */

/* Where the sums of a work item of so many queries and keys are. */
struct rotary_attention_piecewise_sums {
    int64_t head;      /* floats of a head: [segments][2][SUM_LANES] */
    int64_t distances; /* where they begin: that of distance k - q is element k - q + queries - 1, with q and
                          k counted from the first of the work item */
    int64_t queries;   /* where they begin */
    int64_t floats;    /* of all */
};

static inline struct rotary_attention_piecewise_sums
rotary_attention_piecewise_sums_of(int64_t group, int64_t segments, int64_t queries, int64_t keys)
{
    struct rotary_attention_piecewise_sums sums = {.head = segments * 2 * ROTARY_ATTENTION_SUM_LANES};
    sums.distances = group * sums.head;
    sums.queries = sums.distances + rotary_attention_distance_sums(queries, keys);
    sums.floats = sums.queries + round_up(queries, ROTARY_ATTENTION_SUM_LANES);
    return sums;
}

/* Floats of scratch that the term needs for a tile: the inputs of its distances, the tile transposed, and the
 * gradients of its inputs with margins. */
static inline int64_t rotary_attention_piecewise_scratch(int64_t rows, int64_t columns)
{
    int64_t padded_rows = round_up(rows, ROTARY_ATTENTION_SUM_LANES),
            padded_columns = round_up(columns, ROTARY_ATTENTION_SUM_LANES),
            margin = 2 * ROTARY_ATTENTION_SUM_LANES;
    return padded_rows + padded_columns + margin + (padded_rows + margin) * (padded_columns + margin) * 2;
}

#endif
