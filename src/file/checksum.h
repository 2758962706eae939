/* SPDX-License-Identifier: Apache-2.0
 *
 * A 64-bit checksum for whole files, at memory speed: it tells corruption, not malice.
 *
 * The bytes are taken as little-endian 64-bit words, dealt in turn to four lanes; a lane takes a word by
 *     lane = (lane xor word) * odd constant;  lane = lane xor (lane >> 32)
 * which is invertible, so that a change within any one word always changes the result. The last block of 32
 * bytes is filled up with zeros; the number of bytes is mixed in at the end, so that zeros at the end count
 * too.
 */
#ifndef ROTARY_FILE_CHECKSUM_H
#define ROTARY_FILE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum { CHECKSUM_BLOCK = 32 };

struct checksum {
    uint64_t lanes[4];
    uint64_t count;                        /* bytes so far */
    unsigned char pending[CHECKSUM_BLOCK]; /* the first count % CHECKSUM_BLOCK bytes of an unfinished block */
};

void checksum_start(struct checksum *checksum);
/* How the bytes are cut into calls makes no difference. */
void checksum_add(struct checksum *checksum, const void *bytes, size_t count);
uint64_t checksum_finish(const struct checksum *checksum);

#endif
