/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the vectors of a tensor lie.
 */
#ifndef ROTARY_BASE_STRIDES_H
#define ROTARY_BASE_STRIDES_H

#include <stdbool.h>
#include <stdint.h>

/* Whether vectors of `length` elements lie apart because axes nest: each stride, in whatever order and sign,
 * steps over all that the smaller ones reach. So do those of every slice of a dense array. */
bool rotary_strides_nest(int64_t length, const int64_t extents[3], const int64_t strides[3]);

#endif
