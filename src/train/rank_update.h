/* SPDX-License-Identifier: Apache-2.0
 *
 * A step's update on several ranks. Each sums the gradients of its part of what is trained, updates the values and
 * moments of that, and gives the others its values. So no rank but rank 0 ever touches the moments of another's part,
 * and rank 0 only where a checkpoint wants them. An adaptation, whose gradients are made of those of the whole model,
 * and a backend with memory of its own sum and update everything on every rank.
 */
#ifndef ROTARY_TRAIN_RANK_UPDATE_H
#define ROTARY_TRAIN_RANK_UPDATE_H

#include "backend/parameters.h"
#include "ranks/ranks.h"

struct rank_update {
    const struct ranks *ranks; /* borrowed; NULL: every rank updates everything */
    struct parameters *parameters;
    struct ranks_parts parts;
    struct update_share share;
};

/* Decides the parts of a table that is about to be trained, after its adapter was set: it borrows the update's share,
 * which has to stay where it is. */
void rank_update_begin(struct rank_update *update, const struct ranks *ranks, struct parameters *parameters);
/* The sums over all ranks of the gradients of this rank's part; scratch: [RANKS_PIECE]. */
ROTARY_CHECKED rotary_status rank_update_sum(struct rank_update *update, float *scratch, rotary_error *error);
/* After parameters_update: the values of all parts, or if the step diverged their gradients, for who names one. */
ROTARY_CHECKED rotary_status rank_update_finish(struct rank_update *update, bool diverged,
                                                rotary_error *error);
/* Moves the moments of rank 0 to the ranks whose parts they are of, and theirs to rank 0, unless it has them. */
ROTARY_CHECKED rotary_status rank_update_give_moments(struct rank_update *update, rotary_error *error);
ROTARY_CHECKED rotary_status rank_update_collect_moments(struct rank_update *update, rotary_error *error);

#endif
