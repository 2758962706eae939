/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropout (Srivastava et al. 2014), inverted: kept elements are divided by 1 - probability.
 */
#ifndef ROTARY_LAYER_DROPOUT_H
#define ROTARY_LAYER_DROPOUT_H

#include "kernel/layer/layer_kernels.h"

/* Which elements are dropped is a pure function of this and the element's row and column, so the backward
 * pass draws the mask again instead of storing it. */
struct dropout {
    float probability; /* 0 (also while evaluating) leaves everything alone */
    uint64_t seed;
    uint32_t step; /* counts micro-batches */
    uint32_t site; /* tells the places in a model apart */
};

/* The mask as the loops want it. A probability outside [0, 1) drops nothing. */
struct layer_mask dropout_mask(struct dropout dropout);

#endif
