/* SPDX-License-Identifier: Apache-2.0
 *
 * The gradient of a distance bias. A work item of the backward pass sums ds over each of its distances; after
 * each round of work items these are added to the sums of their sequence, and after the last sequence those
 * to the caller's gradient. Every sum is in an order that depends on the shape alone, and takes O(queries +
 * keys) memory.
 */
#ifndef ROTARY_ATTENTION_DISTANCE_GRADIENT_H
#define ROTARY_ATTENTION_DISTANCE_GRADIENT_H

#include "attention/item_sums.h"
#include "attention/packed_sequences.h"

/* The sums of the work items of a round, and of the sequence. */
struct distance_gradient {
    struct item_sums items; /* each head of the group */
    float *total;           /* [heads, queries + keys]: key - query, counted in the sequence, + queries - 1 */
    int64_t queries, keys;
};

/* Carves the sums of `items` work items of at most so many queries and keys. */
void rotary_attention_carve_distance_gradient(const rotary_attention *attention,
                                              struct distance_gradient *gradient, int64_t items,
                                              int64_t queries, int64_t keys, struct rotary_arena *arena);
/* Uses the sums of a sequence, and sets them to zero. */
void rotary_attention_start_distance_gradient(const rotary_attention *attention,
                                              struct distance_gradient *gradient,
                                              const struct attention_call *call,
                                              const struct attention_sequence *sequence);
/* Adds the sums of a work item to a head's in the total. */
void rotary_attention_add_item_distances(const rotary_attention *attention,
                                         const struct distance_gradient *gradient, int64_t item,
                                         const rotary_attention_work *work, int64_t head);
/* Adds the totals of all sequences to the caller's gradient. */
void rotary_attention_finish_distance_gradient(const rotary_attention *attention,
                                               const struct attention_call *call);

#endif
