/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropout in kernels: the same masks as on every backend (backend/dropout.h).
 */
#ifndef ROTARY_CUDA_DROPOUT_MASK_H
#define ROTARY_CUDA_DROPOUT_MASK_H

#include "backend/dropout.h"
#include "base/random.h"
#include "cuda/device.h"

/* Without padding: launches with the same arguments have the same bytes (cuda/steps.h). */
struct dropout_mask {
    uint64_t seed;
    int64_t first_row;
    uint32_t stream, step, threshold; /* threshold 0: nothing is dropped */
    float scale;
};

/* On the host. A probability outside (0, 1) drops nothing. */
static inline dropout_mask dropout_mask_of(const struct dropout &dropout)
{
    enum { STREAM_BITS = 8 }; /* of the random stream's number; the site is in the bits above */
    dropout_mask mask = {};
    mask.scale = 1.0f;
    if (!(dropout.probability > 0.0f && dropout.probability < 1.0f))
        return mask;
    mask.seed = dropout.seed;
    mask.stream = ROTARY_STREAM_DROPOUT | dropout.site << STREAM_BITS;
    mask.step = dropout.step;
    mask.threshold = (uint32_t)fmin(rint((double)dropout.probability * 4294967296.0), 4294967295.0);
    mask.first_row = dropout.first_row;
    mask.scale = (float)(1.0 / (1.0 - (double)dropout.probability));
    return mask;
}

typedef uint32_t philox_word;
#define PHILOX_FUNCTION __device__ inline

__device__ inline void philox_multiply(uint32_t *high, uint32_t *low, uint32_t a, uint32_t factor)
{
    *high = __umulhi(a, factor);
    *low = a * factor;
}

#include "base/philox.inc"

/* What an element is multiplied by. */
__device__ inline float dropout_factor(const dropout_mask &mask, int64_t row, int64_t column)
{
    if (mask.threshold == 0)
        return 1.0f;
    const uint64_t block =
        (uint64_t)(mask.first_row + row) << 32 | (uint64_t)(column / 64 * 16 + column % 16);
    uint32_t words[4] = {(uint32_t)block, (uint32_t)(block >> 32), mask.stream, mask.step};
    philox_rounds(words, mask.seed);
    const int which = (int)(column / 16 % 4);
    const uint32_t word = which == 0 ? words[0] : which == 1 ? words[1] : which == 2 ? words[2] : words[3];
    return word < mask.threshold ? 0.0f : mask.scale;
}

#endif
