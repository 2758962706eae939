/* SPDX-License-Identifier: Apache-2.0
 *
 * A checksum that several threads may compute: of the checksums (file/checksum/checksum.h) of blocks of
 * BLOCK_CHECKSUM_BYTES, in order. The number of threads does not change it.
 */
#ifndef ROTARY_FILE_CHECKSUM_BLOCK_CHECKSUM_H
#define ROTARY_FILE_CHECKSUM_BLOCK_CHECKSUM_H

#include "file/checksum/checksum.h"

enum { BLOCK_CHECKSUM_BYTES = 1 << 20 };

/* Sums up bytes that come one after another. */
struct block_checksum {
    struct checksum blocks; /* of the checksums of full blocks */
    struct checksum block;  /* of the last one, which is not full */
};
void block_checksum_start(struct block_checksum *checksum);
void block_checksum_add(struct block_checksum *checksum, const void *bytes, size_t count);
/* Gives the checksum of all bytes so far; more may be added afterwards. */
uint64_t block_checksum_finish(const struct block_checksum *checksum);

/* Looks at a block while it is in the cache of a processor; calls come from several threads, in any order. */
typedef void block_inspect(void *argument, const void *bytes, size_t count);

/* Sums up bytes in memory. `inspect` may be NULL. */
uint64_t block_checksum_of(const void *bytes, size_t count, int threads, block_inspect *inspect,
                           void *argument);

#endif
