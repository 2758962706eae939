/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/dropout_factors.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>

static uint64_t seed_from(struct rotary_random_key key, uint64_t block)
{
    uint32_t words[4];
    rotary_random_block(key, block, words);
    return words[0] | (uint64_t)words[1] << 32;
}

double dropout_factor(const rotary_attention_dropout *dropout, int64_t sequence, int64_t head, int64_t query,
                      int64_t key)
{
    double threshold = round((double)dropout->probability * 65536);
    uint64_t layer =
        seed_from((struct rotary_random_key){dropout->seed, ROTARY_STREAM_ATTENTION_DROPOUT, dropout->step},
                  dropout->site);
    uint64_t seed =
        seed_from((struct rotary_random_key){layer, ROTARY_STREAM_ATTENTION_DROPOUT, (uint32_t)head},
                  (uint64_t)sequence);
    uint32_t words[4];
    rotary_random_block((struct rotary_random_key){seed, ROTARY_STREAM_ATTENTION_DROPOUT, 0},
                        (uint64_t)(key / 32 * 16 + key % 16) | (uint64_t)(query / 4) << 32, words);
    double bits = words[query % 4] >> (key / 16 % 2 * 16) & 0xffff;
    return bits < threshold ? 0 : 65536 / (65536 - threshold);
}

double *dropout_factors(const struct reference_case *c)
{
    double *factors = malloc((size_t)(c->batch * c->heads * c->queries * c->keys) * sizeof *factors),
           *at = factors;
    if (!factors)
        abort();
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t h = 0; h < c->heads; h++)
            for (int64_t m = 0; m < c->queries; m++)
                for (int64_t n = 0; n < c->keys; n++)
                    *at++ = dropout_factor(
                        &c->dropout, c->dropout.first_sequence + (c->packed ? b * c->queries : b), h, m, n);
    return factors;
}
