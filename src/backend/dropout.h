/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropout (Srivastava et al. 2014), inverted: kept elements are divided by 1 - probability.
 */
#ifndef ROTARY_BACKEND_DROPOUT_H
#define ROTARY_BACKEND_DROPOUT_H

#include <stdint.h>

/* The mask is a pure function of this and of an element's row and column: the backward pass draws it again
 * instead of storing it. The same on every backend: an element is dropped if word column / 16 % 4 of the
 * Philox block (base/random.h) (first_row + row) * 2^32 + column / 64 * 16 + column % 16, of the stream
 * ROTARY_STREAM_DROPOUT with the site in the bits from the eighth on, is below probability * 2^32. */
struct dropout {
    float probability; /* of dropping an element; 0 (always in evaluation) or outside (0, 1): no dropout */
    uint64_t seed;
    uint32_t step;      /* counts micro-batches */
    uint32_t first_row; /* of a part of a micro-batch: the rows before it; of attention weights the sequences,
                         * or of packed ones the queries */
    uint32_t site;      /* where in the model: each site has masks of its own */
};

/* Sites of activations: those of the sublayers plus this, which is beyond any of them. */
enum { DROPOUT_ACTIVATION_SITES = 1 << 23 };

#endif
