/* SPDX-License-Identifier: Apache-2.0
 *
 * The gradients of vectors by distance, and of query_bias. A work item of the backward pass has sums for each
 * entry that its distances use; after each round these are added to the caller's gradient. The gradient of
 * query_bias follows from that of the queries, when these are complete. Every sum is in an order that the
 * shape alone decides.
 */
#ifndef ROTARY_ATTENTION_VECTOR_GRADIENT_H
#define ROTARY_ATTENTION_VECTOR_GRADIENT_H

#include "attention/item_sums.h"
#include "attention/packed_sequences.h"
#include "kernel/attention/distance_vectors.h"

struct vector_gradient {
    struct rotary_attention_table table;
    struct item_sums items; /* each head of the group */
    int64_t first, entries; /* the entries of the table that the sequence uses */
    int64_t tables, slices; /* tables: 1 where all heads share one */
    int64_t heads;          /* of a table */
};

/* Carves the sums of `items` work items of at most so many queries and keys, if the gradient is wanted. */
void rotary_attention_carve_vector_gradient(const rotary_attention *attention,
                                            struct vector_gradient *gradient, int64_t items, int64_t queries,
                                            int64_t keys, struct rotary_arena *arena);
/* Starts with a sequence, whose table it is. */
void rotary_attention_start_vector_gradient(const rotary_attention *attention,
                                            struct vector_gradient *gradient, rotary_attention_shape shape);

/* Entries begin ... end - 1 of the table of heads head ... head_end - 1. Slices may be added to in any order,
 * since no two share an entry. */
struct vector_slice {
    int64_t head, head_end, begin, end;
};
struct vector_slice rotary_attention_vector_slice(const struct vector_gradient *gradient, int64_t index);
/* Adds the sums of a work item of slice->head to the slice of the caller's gradient. */
void rotary_attention_add_item_vectors(const rotary_attention *attention,
                                       const struct vector_gradient *gradient, int64_t item,
                                       const rotary_attention_work *work, const struct vector_slice *slice);

/* The gradient of query_bias. */
struct query_bias_gradient {
    int64_t group_floats; /* a row for each head of a group */
    float *sums;          /* [heads of the pass, blocks of queries, group_floats]; NULL: not wanted */
};

void rotary_attention_carve_query_bias(const rotary_attention *attention,
                                       struct query_bias_gradient *gradient, int64_t query_blocks,
                                       struct rotary_arena *arena);
/* Adds up the complete sums of a work item's queries; `index` counts heads of the pass and their blocks of
 * queries. */
void rotary_attention_add_up_queries(const rotary_attention *attention,
                                     const struct query_bias_gradient *gradient, const float *unrotated_query,
                                     const rotary_attention_work *work, int64_t index);
/* Adds those sums to the caller's gradient. */
void rotary_attention_finish_query_bias(const rotary_attention *attention,
                                        const struct query_bias_gradient *gradient, float *to, int64_t batch,
                                        int64_t query_blocks);

#endif
