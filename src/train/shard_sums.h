/* SPDX-License-Identifier: Apache-2.0
 *
 * The sums over the shards of a step: of gradients and losses, in one binary tree whose leaves are the shards in
 * their order. Which of them are summed together is decided by their number alone, so that the bits are those of
 * any other division of the shards among processes.
 */
#ifndef ROTARY_TRAIN_SHARD_SUMS_H
#define ROTARY_TRAIN_SHARD_SUMS_H

#include "backend/parameters.h"

enum { SHARD_LEVELS = 10, MAX_SHARDS = 1 << SHARD_LEVELS };

struct shard_sums {
    struct rotary_arena arena; /* of the backend */
    int levels;                /* 2^levels leaves */
    int leaves;                /* that were added to the tree */
    /* Of a level: the sum of the left one of two subtrees of 2^level leaves, while the right one is computed. */
    float *gradients[SHARD_LEVELS];
    struct loss_sums losses[SHARD_LEVELS];
};

/* How many times a number can be halved: 3 of 8. */
int shard_levels(int64_t shards);
/* Allocates what a tree of 2^levels leaves needs, for the gradients of a table. */
ROTARY_CHECKED rotary_status shard_sums_create(struct shard_sums *sums, const struct parameters *parameters,
                                               int levels, rotary_error *error);
void shard_sums_free(struct shard_sums *sums, const struct backend *backend);

/* Adds the next leaf: the gradients of the table, and its losses. After the last one the table has the sums of
 * all, *losses too, and the tree is empty again; before that its gradients are zero. */
ROTARY_CHECKED rotary_status shard_sums_add(struct shard_sums *sums, struct parameters *parameters,
                                            struct loss_sums *losses, rotary_error *error);
/* The same of the last leaf in two parts: its losses, and elements first ... first + count - 1 of its gradients, to which
 * those of the left subtrees are added. The host has the memory; on any thread. */
void shard_sums_add_last(struct shard_sums *sums, struct loss_sums *losses);
void shard_sums_add_left(const struct shard_sums *sums, float *gradients, int64_t first, int64_t count);

/* a + b, as the tree adds losses. */
struct loss_sums loss_sums_add(struct loss_sums a, struct loss_sums b);

#endif
