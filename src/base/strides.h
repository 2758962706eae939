/* SPDX-License-Identifier: Apache-2.0
 *
 * Checking the strides of a tensor.
 */
#ifndef ROTARY_BASE_STRIDES_H
#define ROTARY_BASE_STRIDES_H

#include <rotary/types.h>

/* A tensor of extents[0] * extents[1] * extents[2] vectors, each of `length` contiguous elements. Strides
 * count elements, and those of axes of size 1 are ignored. Messages name the tensor and its member, as
 * "query" and ".output". */
struct rotary_vectors {
    const char *tensor, *member;
    int64_t length;
    size_t element_bytes;
    int64_t extents[3], strides[3];
};

/* ROTARY_INVALID_ARGUMENT for strides with which vectors might overlap: each stride, in any order and of any
 * sign, must be at least the extent of all axes with smaller strides. Slices of dense arrays have such
 * strides. */
ROTARY_CHECKED rotary_status rotary_check_strides(const struct rotary_vectors *vectors, rotary_error *error);
/* ROTARY_INVALID_ARGUMENT where the bytes between two elements are more than an int64_t holds, so that their
 * offsets cannot be computed. No extent is below 0. */
ROTARY_CHECKED rotary_status rotary_check_offsets(const struct rotary_vectors *vectors, rotary_error *error);

/* A call has at most so many tokens: no size computed from them overflows. */
#define ROTARY_MAX_TOKENS ((int64_t)1 << 40)
/* ROTARY_INVALID_ARGUMENT for a batch of sequences of `time` tokens with a size below 0, or with more than
 * ROTARY_MAX_TOKENS tokens. */
ROTARY_CHECKED rotary_status rotary_check_tokens(int64_t batch, int64_t time, rotary_error *error);

#endif
