/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropout (Srivastava et al. 2014), inverted: kept elements are divided by 1 - probability.
 */
#ifndef ROTARY_BACKEND_DROPOUT_H
#define ROTARY_BACKEND_DROPOUT_H

#include <stdint.h>

/* The mask is a pure function of this and of an element's row and column: the backward pass draws it again
 * instead of storing it. kernel/layer/layer_kernels.h has the function (struct layer_mask). */
struct dropout {
    float probability; /* of dropping an element; 0 (always in evaluation) or outside (0, 1): no dropout */
    uint64_t seed;
    uint32_t step; /* counts micro-batches */
    uint32_t site; /* where in the model: each site has masks of its own */
};

#endif
