/* SPDX-License-Identifier: Apache-2.0
 *
 * A 64-bit checksum of whole files, at memory speed. It detects corruption, not manipulation.
 *
 * The bytes are little-endian 64-bit words, distributed round-robin over four lanes. A word updates its lane
 * by lane = (lane xor word) * odd constant;  lane = lane xor (lane >> 32) which is invertible, so a change of
 * one word always changes the result. The last block of 32 bytes is padded with zeros. The number of bytes is
 * mixed in at the end, so that zeros at the end change the result.
 */
#ifndef ROTARY_FILE_CHECKSUM_CHECKSUM_H
#define ROTARY_FILE_CHECKSUM_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum { CHECKSUM_BLOCK = 32 };

struct checksum {
    uint64_t lanes[4];
    uint64_t count;                        /* bytes so far */
    unsigned char pending[CHECKSUM_BLOCK]; /* the first count % CHECKSUM_BLOCK bytes of an unfinished block */
};

void checksum_start(struct checksum *checksum);
/* The result does not depend on how the bytes are split over calls. */
void checksum_add(struct checksum *checksum, const void *bytes, size_t count);
uint64_t checksum_finish(const struct checksum *checksum);

/* Writes it as text: 16 hexadecimal digits and a zero byte. */
enum { CHECKSUM_DIGITS = 16, CHECKSUM_TEXT_BYTES };
void checksum_finish_text(const struct checksum *checksum, char text[CHECKSUM_TEXT_BYTES]);

#endif
