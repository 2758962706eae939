/* SPDX-License-Identifier: Apache-2.0
 *
 * Selection sampling: of the positions in order, each is chosen with the probability of those still wanted
 * among those still left (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S).
 */
#include "model/encoding/random_positions.h"

#include "base/random.h"

void random_positions_draw(const struct random_positions *draw, int64_t count, int32_t *drawn)
{
    const struct rotary_random_key key = {
        .seed = draw->seed, .stream = ROTARY_STREAM_POSITIONS, .step = draw->step};
    uint64_t first_block = draw->sequence << 30; /* 4 numbers a block, at most 2^31 positions */
    uint32_t words[4];
    int64_t chosen = 0;
    for (int64_t position = 0; chosen < count; position++) {
        if (position % 4 == 0)
            rotary_random_block(key, first_block + (uint64_t)(position / 4), words);
        uint64_t left = (uint64_t)(draw->positions - position), wanted = (uint64_t)(draw->longest - chosen);
        if (words[position % 4] * left >> 32 < wanted)
            drawn[chosen++] = (int32_t)position;
    }
}
