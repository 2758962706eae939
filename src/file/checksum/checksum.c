/* SPDX-License-Identifier: Apache-2.0 */
#include "file/checksum/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Odd, about half of the bits set, no pattern: 2^64 divided by the golden ratio. */
static const uint64_t multiplier = 0x9E3779B97F4A7C15u;

static uint64_t mix(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * multiplier;
    return lane ^ lane >> 32;
}

static uint64_t load_word(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static void take_blocks(uint64_t lanes[4], const unsigned char *bytes, size_t blocks)
{
    uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
    for (; blocks > 0; blocks--, bytes += CHECKSUM_BLOCK) {
        a = mix(a, load_word(bytes));
        b = mix(b, load_word(bytes + 8));
        c = mix(c, load_word(bytes + 16));
        d = mix(d, load_word(bytes + 24));
    }
    lanes[0] = a;
    lanes[1] = b;
    lanes[2] = c;
    lanes[3] = d;
}

void checksum_start(struct checksum *checksum)
{
    *checksum = (struct checksum){.lanes = {1, 2, 3, 4}};
}

void checksum_add(struct checksum *checksum, const void *bytes, size_t count)
{
    if (count == 0)
        return;
    const unsigned char *next = bytes;
    size_t pending = (size_t)(checksum->count % CHECKSUM_BLOCK);
    checksum->count += count;
    if (pending > 0) {
        size_t taken = CHECKSUM_BLOCK - pending < count ? CHECKSUM_BLOCK - pending : count;
        memcpy(checksum->pending + pending, next, taken);
        next += taken;
        count -= taken;
        if (pending + taken < CHECKSUM_BLOCK)
            return;
        take_blocks(checksum->lanes, checksum->pending, 1);
    }
    take_blocks(checksum->lanes, next, count / CHECKSUM_BLOCK);
    if (count % CHECKSUM_BLOCK > 0)
        memcpy(checksum->pending, next + count - count % CHECKSUM_BLOCK, count % CHECKSUM_BLOCK);
}

uint64_t checksum_finish(const struct checksum *checksum)
{
    uint64_t lanes[4];
    memcpy(lanes, checksum->lanes, sizeof lanes);
    size_t pending = (size_t)(checksum->count % CHECKSUM_BLOCK);
    if (pending > 0) {
        unsigned char block[CHECKSUM_BLOCK] = {0};
        memcpy(block, checksum->pending, pending);
        take_blocks(lanes, block, 1);
    }
    uint64_t result = checksum->count;
    for (int i = 0; i < 4; i++)
        result = mix(result, lanes[i]);
    return mix(result, 0);
}

void checksum_finish_text(const struct checksum *checksum, char text[CHECKSUM_TEXT_BYTES])
{
    snprintf(text, CHECKSUM_TEXT_BYTES, "%016" PRIx64, checksum_finish(checksum));
}
