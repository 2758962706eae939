/* SPDX-License-Identifier: Apache-2.0 */
#include "file/checksum/block_checksum.h"

#include "base/threads.h"

void block_checksum_start(struct block_checksum *checksum)
{
    checksum_start(&checksum->blocks);
    checksum_start(&checksum->block);
}

static void add_block(struct checksum *blocks, uint64_t block)
{
    checksum_add(blocks, &block, sizeof block);
}

void block_checksum_add(struct block_checksum *checksum, const void *bytes, size_t count)
{
    const unsigned char *next = bytes;
    while (count > 0) {
        size_t room = BLOCK_CHECKSUM_BYTES - (size_t)checksum->block.count;
        size_t taken = count < room ? count : room;
        checksum_add(&checksum->block, next, taken);
        next += taken;
        count -= taken;
        if (taken == room) {
            add_block(&checksum->blocks, checksum_finish(&checksum->block));
            checksum_start(&checksum->block);
        }
    }
}

uint64_t block_checksum_finish(const struct block_checksum *checksum)
{
    struct checksum blocks = checksum->blocks;
    if (checksum->block.count > 0)
        add_block(&blocks, checksum_finish(&checksum->block));
    return checksum_finish(&blocks);
}

/* ---- in memory ---- */

enum { ROUND_BLOCKS = 512 }; /* whose checksums are kept until all before them are there */

struct round {
    const unsigned char *bytes;
    size_t count;
    block_inspect *inspect;
    void *argument;
    uint64_t checksums[ROUND_BLOCKS];
};

static void compute_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    struct round *round = argument;
    const size_t first = (size_t)index * BLOCK_CHECKSUM_BYTES, rest = round->count - first,
                 count = rest < BLOCK_CHECKSUM_BYTES ? rest : BLOCK_CHECKSUM_BYTES;
    struct checksum checksum;
    checksum_start(&checksum);
    checksum_add(&checksum, round->bytes + first, count);
    round->checksums[index] = checksum_finish(&checksum);
    if (round->inspect)
        round->inspect(round->argument, round->bytes + first, count);
}

uint64_t block_checksum_of(const void *bytes, size_t count, int threads, block_inspect *inspect,
                           void *argument)
{
    const size_t round_bytes = (size_t)ROUND_BLOCKS * BLOCK_CHECKSUM_BYTES;
    struct checksum blocks;
    checksum_start(&blocks);
    for (size_t first = 0; first < count; first += round_bytes) {
        struct round round = {.bytes = (const unsigned char *)bytes + first,
                              .count = count - first < round_bytes ? count - first : round_bytes,
                              .inspect = inspect,
                              .argument = argument};
        const int64_t items = (int64_t)((round.count + BLOCK_CHECKSUM_BYTES - 1) / BLOCK_CHECKSUM_BYTES);
        rotary_parallel_for(threads, items, compute_block, &round);
        for (int64_t i = 0; i < items; i++)
            add_block(&blocks, round.checksums[i]);
    }
    return checksum_finish(&blocks);
}
