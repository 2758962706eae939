/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over tensors that every operation shares: what differs between turning forward, backward, by a
 * caller's table or by a shift is only where the cosines and sines come from.
 */
#ifndef ROTARY_ROPE_TURN_H
#define ROTARY_ROPE_TURN_H

#include "rope/plan.h"

enum rotary_rope_role { ROTARY_ROLE_QUERY, ROTARY_ROLE_KEY, ROTARY_ROLE_VALUE, ROTARY_ROLES };

/* Writes cosine and sine for pairs first ... first + count - 1 of the tensor that plays `role`, at one token.
 */
typedef void rotary_rope_row_source(const void *context, enum rotary_rope_role role, int64_t batch,
                                    int64_t time, int64_t first, int64_t count, float *cosine, float *sine);

struct rotary_rope_turning {
    const rotary_rope *rope; /* says which channels are pairs */
    int64_t batch, time;
    const rotary_rope_tensor *tensors[ROTARY_ROLES]; /* NULL: absent */
    rotary_rope_row_source *source;
    const void *context;
    bool same_rows; /* source does not look at the role */
};

/* Checks shapes, strides and types. */
ROTARY_CHECKED rotary_status rotary_rope_check_tensor(const rotary_rope *rope, const char *name,
                                                      int64_t batch, int64_t time,
                                                      const rotary_rope_tensor *tensor, rotary_error *error);
/* Turns tensors that have been checked. */
void rotary_rope_turn_tensors(const struct rotary_rope_turning *turning);

#endif
