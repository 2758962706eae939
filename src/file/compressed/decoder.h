/* SPDX-License-Identifier: Apache-2.0
 *
 * What libraries decompress, and one of them compresses: one file of this folder includes each, and NAME_missing.c stands for one that a
 * program was built without.
 */
#ifndef ROTARY_FILE_COMPRESSED_DECODER_H
#define ROTARY_FILE_COMPRESSED_DECODER_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes to take and room to fill: whoever decodes moves the pointers and lowers the counts. */
struct decoder_step {
    const unsigned char *in;
    size_t in_count;
    unsigned char *out;
    size_t out_count;
    bool ended;          /* what was taken last ends a part that is complete in itself; another may follow */
    const char *refused; /* what valid bytes ask for and do not get, for a message; NULL: they are damaged */
};

/* Bytes to compress, and what they became, which the caller frees. */
struct encoder_step {
    const void *in;
    size_t in_count;
    unsigned char *out;
    size_t out_count;
};

struct decoder {
    const char *library, *package; /* its name, and that of Debian's package */
    const char *(*version)(void);  /* NULL, like all that follow, if the library is missing */
    void *(*create)(void);         /* NULL without memory */
    bool (*decode)(void *state, struct decoder_step *step); /* false: the bytes are damaged, or refused */
    void (*destroy)(void *state);
    bool (*encode)(struct encoder_step *step); /* false: without memory. NULL: it only decompresses */
};

extern const struct decoder gzip_decoder, zstd_decoder, bzip2_decoder;

#endif
