/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <math.h>

typedef uint32_t philox_word;

static inline void philox_multiply(uint32_t *high, uint32_t *low, uint32_t a, uint32_t factor)
{
    uint64_t product = (uint64_t)a * factor;
    *high = (uint32_t)(product >> 32);
    *low = (uint32_t)product;
}

#include "base/philox.inc"

void rotary_random_block(struct rotary_random_key key, uint64_t block, uint32_t words[4])
{
    words[0] = (uint32_t)block;
    words[1] = (uint32_t)(block >> 32);
    words[2] = key.stream;
    words[3] = key.step;
    philox_rounds(words, key.seed);
}

uint32_t rotary_random_u32(struct rotary_random_key key, uint64_t index)
{
    uint32_t words[4];
    rotary_random_block(key, index / 4, words);
    return words[index % 4];
}

static float uniform(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

float rotary_random_uniform(struct rotary_random_key key, uint64_t index)
{
    return uniform(rotary_random_u32(key, index));
}

void rotary_random_uniforms(struct rotary_random_key key, uint64_t first, int64_t count, float *values)
{
    uint32_t words[4] = {0};
    for (int64_t i = 0; i < count; i++) {
        uint64_t index = first + (uint64_t)i;
        if (i == 0 || index % 4 == 0)
            rotary_random_block(key, index / 4, words);
        values[i] = uniform(words[index % 4]);
    }
}

float rotary_random_normal(struct rotary_random_key key, uint64_t index)
{
    uint32_t words[4];
    rotary_random_block(key, index / 2, words);
    /* 1 - u is in (0, 1], so its logarithm is finite. */
    double radius = sqrt(-2.0 * log(1.0 - (double)words[0] * 0x1p-32));
    double angle = 6.283185307179586 * ((double)words[1] * 0x1p-32);
    return (float)(radius * (index % 2 ? sin(angle) : cos(angle)));
}

uint32_t rotary_random_next(struct rotary_random *random)
{
    return rotary_random_u32(random->key, random->next++);
}

uint32_t rotary_random_below(struct rotary_random *random, uint32_t bound)
{
    uint32_t threshold = (0u - bound) % bound;
    for (;;) {
        uint64_t product = (uint64_t)rotary_random_next(random) * bound;
        if ((uint32_t)product >= threshold)
            return (uint32_t)(product >> 32);
    }
}

uint64_t rotary_hash(const void *bytes, uint64_t count)
{
    const unsigned char *byte = bytes;
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < count; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}
