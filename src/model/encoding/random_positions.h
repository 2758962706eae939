/* SPDX-License-Identifier: Apache-2.0
 *
 * Randomised positions (Ruoss et al. 2023): tokens have an ordered random subset of more positions than a
 * sequence has tokens, so that training meets the positions of longer sequences.
 */
#ifndef ROTARY_MODEL_ENCODING_RANDOM_POSITIONS_H
#define ROTARY_MODEL_ENCODING_RANDOM_POSITIONS_H

#include <stdint.h>

/* Which subset: a pure function of these members. */
struct random_positions {
    int64_t positions; /* they are 0 ... positions - 1, at most 2^31 */
    int64_t longest; /* the size of the subset, of which a shorter sequence has the first: 1 ... positions */
    uint64_t seed;
    uint32_t step;
    uint64_t sequence; /* below 2^32 */
};

/* The first `count` positions of the subset, at most `longest`, ascending. All subsets are equally probable,
 * up to the 32 bits of the random numbers. */
void random_positions_draw(const struct random_positions *draw, int64_t count, int32_t *drawn);

#endif
