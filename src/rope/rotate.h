/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotating tensors by rows of cosines and sines. The operations (apply, shift, rebase) differ only in the
 * source of the rows.
 */
#ifndef ROTARY_ROPE_ROTATE_H
#define ROTARY_ROPE_ROTATE_H

#include "rope/rows.h"

/* Writes the cosines and sines that rotate one token of the tensor of `role`. */
typedef void rotary_rope_row_source(const void *context, enum rotary_rope_role role, int64_t batch,
                                    int64_t time, struct rotary_row row);

/* Finds stored rows of tokens time ... time + times - 1, contiguous, all pairs of each; false if there are
 * none. */
typedef bool rotary_rope_stored_rows(const void *context, enum rotary_rope_role role, int64_t batch,
                                     int64_t time, int64_t times, struct rotary_rows *rows);

struct rotary_rope_rotation {
    const rotary_rope *rope; /* its span and pairing are used */
    int64_t batch, time;
    rotary_rope_tensor tensors[ROTARY_ROLES]; /* absent if input.data is NULL */
    rotary_rope_row_source *source;
    rotary_rope_stored_rows *stored_rows; /* NULL: there are no stored rows */
    const void *context;                  /* of source and stored_rows */
    bool same_rows;                       /* source gives every role the same rows */
};

/* Checks shapes, strides and types of the tensors that are present. Strides of axes of size 1, which are
 * ignored, are set to 0. */
ROTARY_CHECKED rotary_status rotary_rope_check_tensors(struct rotary_rope_rotation *rotation,
                                                       rotary_error *error);
/* Rotates the tensors, which must have been checked. */
void rotary_rope_rotate_tensors(struct rotary_rope_rotation *rotation);

#endif
