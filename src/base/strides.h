/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the vectors of a tensor lie.
 */
#ifndef ROTARY_BASE_STRIDES_H
#define ROTARY_BASE_STRIDES_H

#include <rotary/types.h>

/* Refuses strides by which vectors of `length` elements might overlap: axes must nest, each stride, in
 * whatever order and sign, stepping over all that the smaller ones reach. Those of every slice of a dense
 * array do. The error calls it TENSORMEMBER, as in "query" and ".output". */
ROTARY_CHECKED rotary_status rotary_check_strides(const char *tensor, const char *member, int64_t length,
                                                  const int64_t extents[3], const int64_t strides[3],
                                                  rotary_error *error);

#endif
