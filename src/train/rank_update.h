/* SPDX-License-Identifier: Apache-2.0
 *
 * A step's update on several ranks. Each sums the gradients of its part of what is trained, updates the values and
 * moments of that, and gives the others its values. So no rank but rank 0 ever touches the moments of another's part,
 * and rank 0 only where a checkpoint wants them. An adaptation, whose gradients are made of those of the whole model,
 * and a backend with memory of its own sum and update everything on every rank.
 *
 * What is trained is cut into buckets, of each of which every rank has a part. A thread sums a bucket, over shards and
 * ranks, as soon as its gradients are complete, while the backward pass goes on.
 */
#ifndef ROTARY_TRAIN_RANK_UPDATE_H
#define ROTARY_TRAIN_RANK_UPDATE_H

#include "backend/parameters.h"
#include "ranks/ranks.h"
#include "train/shard_sums.h"

#include <pthread.h>

struct rank_bucket {
    int64_t first; /* element of the gradients */
    struct ranks_parts parts;
};

enum { RANK_BUCKETS = 16 };
struct rank_update {
    const struct ranks *ranks; /* borrowed; NULL: every rank updates everything */
    struct parameters *parameters;
    int count;                                /* of buckets */
    struct rank_bucket buckets[RANK_BUCKETS]; /* in the order in which they are summed */
    int64_t blocks[PARAMETER_BLOCKS];         /* of this rank */
    struct update_share share;
    /* The sums of a step, between rank_update_start_sums and rank_update_finish_sums: */
    const struct shard_sums *sums; /* borrowed; NULL: none are to be added */
    float *scratch;                /* likewise */
    int64_t stack_end;             /* of the gradients of the stack's sublayers */
    int64_t complete;              /* from here on these are */
    bool all_complete, runs;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    rotary_status status;
    rotary_error error;
};

/* Decides the parts of a table that is about to be trained, after its adapter was set. The table borrows the update's
 * share, which has to stay where it is. sublayers: the rows that a backward pass tells of. */
void rank_update_begin(struct rank_update *update, const struct ranks *ranks, struct parameters *parameters,
                       struct parameter_rows sublayers);
void rank_update_end(struct rank_update *update);

/* The sums over all ranks of the gradients of this rank's parts, in which those of the last of its shards are taken
 * from the table and others from `sums`. Begins with them; scratch: [RANKS_PIECE]. */
void rank_update_start_sums(struct rank_update *update, const struct shard_sums *sums, float *scratch);
/* Told by the backward pass of the last shard (struct gradient_watch). */
void rank_update_complete(void *update, int row);
/* After it: ends with them. A rank that did not start takes part with whatever there is, as the others wait for it. */
ROTARY_CHECKED rotary_status rank_update_finish_sums(struct rank_update *update, float *scratch,
                                                     rotary_error *error);
/* After parameters_update: the values of all parts, or if the step diverged their gradients, for who names one. */
ROTARY_CHECKED rotary_status rank_update_gather(struct rank_update *update, bool diverged,
                                                rotary_error *error);
/* Moves the moments of rank 0 to the ranks whose parts they are of, and theirs to rank 0, unless it has them. */
ROTARY_CHECKED rotary_status rank_update_give_moments(struct rank_update *update, rotary_error *error);
ROTARY_CHECKED rotary_status rank_update_collect_moments(struct rank_update *update, rotary_error *error);

#endif
