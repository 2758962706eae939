/* SPDX-License-Identifier: Apache-2.0
 *
 * The gradient of a piecewise-linear bias. A work item of the backward pass has sums of its own
 * (kernel/attention/piecewise_sums.h); after each round of work items these are added to the caller's
 * gradients, in an order that the shape alone decides. They take O(segments + queries + keys) memory.
 */
#ifndef ROTARY_ATTENTION_PIECEWISE_GRADIENT_H
#define ROTARY_ATTENTION_PIECEWISE_GRADIENT_H

#include "attention/item_sums.h"
#include "attention/packed_sequences.h"

struct piecewise_gradient {
    const rotary_attention_piecewise_bias *bias;
    int64_t query, key; /* the positions of the first of the sequence */
    struct item_sums items;
};

bool rotary_attention_wants_piecewise_gradient(const rotary_attention_piecewise_bias *bias);
/* Carves the sums of `items` work items of at most so many queries and keys. */
void rotary_attention_carve_piecewise_gradient(const rotary_attention *attention,
                                               struct piecewise_gradient *gradient, int64_t items,
                                               int64_t queries, int64_t keys, struct rotary_arena *arena);

/* What is added in one go: the segments of a head, the distances, or the queries. Parts may be added in any
 * order, each from the work items of the heads head, head + step, ... below head_end, head after head. */
enum piecewise_kind { PIECEWISE_SEGMENTS, PIECEWISE_DISTANCES, PIECEWISE_QUERIES };
struct piecewise_part {
    enum piecewise_kind kind;
    int64_t head, head_end, step;
};
int64_t rotary_attention_piecewise_parts(const rotary_attention *attention);
struct piecewise_part rotary_attention_piecewise_part(const rotary_attention *attention, int64_t index);
/* Adds the part's sums of a work item of part->head to the caller's gradient. */
void rotary_attention_add_item_piecewise(const rotary_attention *attention,
                                         const struct piecewise_gradient *gradient, int64_t item,
                                         const rotary_attention_work *work,
                                         const struct piecewise_part *part);

#endif
