/* SPDX-License-Identifier: Apache-2.0
 *
 * Dropout masks, from LANES blocks of Philox at once.
 */
#include "kernel/layer/layer_variant.h"

typedef vuint philox_word;
typedef uint64_t vwide __attribute__((vector_size(LANES * 4)));

INLINE vwide multiply_even(philox_word a, uint32_t factor)
{
#if defined(__AVX512F__)
    return (vwide)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi32((int)factor));
#elif defined(__AVX2__)
    return (vwide)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi32((int)factor));
#else
    return ((vwide)a & 0xffffffffu) * factor;
#endif
}

INLINE void philox_multiply(philox_word *high, philox_word *low, philox_word a, uint32_t factor)
{
    vwide even = multiply_even(a, factor), odd = multiply_even((philox_word)((vwide)a >> 32), factor);
    *low = (philox_word)((even & 0xffffffffu) | odd << 32);
    *high = (philox_word)(even >> 32 | (odd & ~(uint64_t)0xffffffffu));
}

#include "base/philox.inc"

void ROTARY_KERNEL(layer_mask_factors)(const struct layer_mask *mask, int64_t row, int64_t group,
                                       float factors[MASK_GROUP])
{
    enum { BLOCKS = MASK_GROUP / 4 };
    for (int block = 0; block < BLOCKS; block += LANES) {
        philox_word words[4] = {(philox_word)v_lanes() + (uint32_t)(group * BLOCKS + block),
                                (philox_word){0} + (uint32_t)row, (philox_word){0} + mask->key.stream,
                                (philox_word){0} + mask->key.step};
        philox_rounds(words, mask->key.seed);
        for (int word = 0; word < 4; word++) {
            vint kept = (vint)(words[word] >= ((philox_word){0} + mask->threshold));
            v_store(factors + word * BLOCKS + block, (vfloat)(kept & (vint)v_set(mask->scale)));
        }
    }
}
