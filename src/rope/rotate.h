/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over tensors that every operation shares: what differs between turning forward, backward, by a
 * caller's table or by a shift is only where the cosines and sines come from.
 */
#ifndef ROTARY_ROPE_ROTATE_H
#define ROTARY_ROPE_ROTATE_H

#include "rope/rows.h"

/* Writes the cosines and sines by which the tensor that plays `role` is turned at one token. */
typedef void rotary_rope_row_source(const void *context, enum rotary_rope_role role, int64_t batch,
                                    int64_t time, struct rotary_row row);

/* Where the rows of tokens time ... time + times - 1 stand ready, one behind another, all pairs of each;
 * false if they do not. */
typedef bool rotary_rope_ready_rows(const void *context, enum rotary_rope_role role, int64_t batch,
                                    int64_t time, int64_t times, const float **cosine, const float **sine);

struct rotary_rope_rotation {
    const rotary_rope *rope; /* says which channels are pairs */
    int64_t batch, time;
    rotary_rope_tensor tensors[ROTARY_ROLES]; /* absent where input.data is NULL */
    rotary_rope_row_source *source;
    rotary_rope_ready_rows *ready; /* NULL: never */
    const void *context;
    bool same_rows; /* source does not look at the role */
};

/* Checks shapes, strides and types of the tensors that are there. A stride over one entry, which may be
 * anything, becomes 0. */
ROTARY_CHECKED rotary_status rotary_rope_check_tensors(struct rotary_rope_rotation *rotation,
                                                       rotary_error *error);
/* Turns tensors that have been checked. */
void rotary_rope_rotate_tensors(struct rotary_rope_rotation *rotation);

#endif
