/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums that the work items of a round of the backward pass have of their own, and which are added to a
 * gradient after the round.
 */
#ifndef ROTARY_ATTENTION_ITEM_SUMS_H
#define ROTARY_ATTENTION_ITEM_SUMS_H

#include "base/arena.h"

#include <stdint.h>

struct item_sums {
    int64_t floats; /* of a work item */
    float *memory;  /* [work items of a round, floats]; NULL: the gradient is not wanted */
};

/* Carves the sums of `items` work items of `floats` floats. */
void rotary_attention_carve_items(struct item_sums *sums, int64_t items, int64_t floats,
                                  struct rotary_arena *arena);
/* Those of a work item, set to zero; NULL where they are not wanted. */
float *rotary_attention_start_item(const struct item_sums *sums, int64_t item);
/* Those of a work item, where they are wanted. */
static inline const float *rotary_attention_item(const struct item_sums *sums, int64_t item)
{
    return sums->memory + item * sums->floats;
}

/* to[first ... first + count - 1] += sums. What is beyond an end of the `entries` of `to` adds up in the
 * entry at that end, in double. */
void rotary_attention_add_clipped(float *to, int64_t entries, int64_t first, const float *sums,
                                  int64_t count);

#endif
