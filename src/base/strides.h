/* SPDX-License-Identifier: Apache-2.0
 *
 * Checking the strides of a tensor.
 */
#ifndef ROTARY_BASE_STRIDES_H
#define ROTARY_BASE_STRIDES_H

#include <rotary/types.h>

/* ROTARY_INVALID_ARGUMENT for strides with which vectors of `length` elements might overlap: each stride, in
 * any order and of any sign, must be at least the extent of all axes with smaller strides. Slices of dense
 * arrays have such strides. The message names the tensor and its member, as "query" and ".output". */
ROTARY_CHECKED rotary_status rotary_check_strides(const char *tensor, const char *member, int64_t length,
                                                  const int64_t extents[3], const int64_t strides[3],
                                                  rotary_error *error);

#endif
