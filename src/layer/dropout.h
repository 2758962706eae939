/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropout (Srivastava et al. 2014), inverted: kept elements are divided by 1 - probability.
 */
#ifndef ROTARY_LAYER_DROPOUT_H
#define ROTARY_LAYER_DROPOUT_H

#include "kernel/layer/layer_kernels.h"

/* The mask is a pure function of this and of an element's row and column: the backward pass draws it again
 * instead of storing it. */
struct dropout {
    float probability; /* of dropping an element; 0 (always in evaluation): no dropout */
    uint64_t seed;
    uint32_t step; /* counts micro-batches */
    uint32_t site; /* where in the model: each site has masks of its own */
};

/* The mask for the kernels. A probability outside (0, 1) drops nothing. */
struct layer_mask dropout_mask(struct dropout dropout);

#endif
