/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropout masks, from LANES blocks of Philox at once, and rows under them.
 */
#include "kernel/layer/layer_variant.h"
#include "kernel/philox_lanes.h"

void ROTARY_KERNEL(layer_mask_factors)(const struct layer_mask *mask, int64_t row, int64_t group,
                                       float factors[MASK_GROUP])
{
    enum { BLOCKS = MASK_GROUP / 4 };
    for (int block = 0; block < BLOCKS; block += LANES) {
        philox_word words[4] = {(philox_word)v_lanes() + (uint32_t)(group * BLOCKS + block),
                                (philox_word){0} + (mask->first_row + (uint32_t)row),
                                (philox_word){0} + mask->key.stream, (philox_word){0} + mask->key.step};
        philox_rounds(words, mask->key.seed);
        for (int word = 0; word < 4; word++) {
            vint kept = (vint)(words[word] >= ((philox_word){0} + mask->threshold));
            v_store(factors + word * BLOCKS + block, (vfloat)(kept & (vint)v_set(mask->scale)));
        }
    }
}

INLINE void drop(rotary_dtype storage, void *out, const void *in, int64_t row, int64_t width,
                 const struct layer_mask *mask)
{
    float factors[MASK_GROUP];
    for (int64_t i = 0; i < width; i += LANES) {
        int64_t lanes = remaining_lanes(i, width);
        store(storage, out, i, load(storage, in, i, lanes) * mask_factor(mask, row, i, factors), lanes);
    }
}

void ROTARY_KERNEL(layer_drop)(rotary_dtype storage, void *out, const void *in, int64_t row, int64_t width,
                               const struct layer_mask *mask)
{
    if (storage == ROTARY_BF16)
        drop(ROTARY_BF16, out, in, row, width, mask);
    else
        drop(ROTARY_F32, out, in, row, width, mask);
}
