/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that may be compressed, as the bytes that they have once decompressed, in pieces. Several compressed
 * parts one after another are one file, as they are for gzip, zstd and bzip2.
 */
#ifndef ROTARY_FILE_COMPRESSED_DECOMPRESSED_H
#define ROTARY_FILE_COMPRESSED_DECOMPRESSED_H

#include "file/compressed/decoder.h"
#include "file/input.h"

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD, COMPRESSION_BZIP2, COMPRESSIONS };

/* By the end of a name: .gz, .zst, .bz2; *length is that of the name without it. */
enum compression compression_of(const char *path, size_t *length);
/* Whether this program was built with the library for it. */
bool compression_is_supported(enum compression compression);
/* What that library is called, and its version, NULL if it is missing. Not of COMPRESSION_NONE. */
const char *compression_library(enum compression compression);
const char *compression_version(enum compression compression);

struct decompressed {
    struct input input;
    const struct decoder *decoder; /* NULL: nothing is compressed */
    void *state;
    unsigned char *block; /* read and not yet taken */
    struct decoder_step step;
    int64_t consumed; /* bytes of the file that were read */
};

/* ROTARY_UNSUPPORTED, with the package that is missing, if the library is. */
ROTARY_CHECKED rotary_status decompressed_open(struct decompressed *file, const char *path,
                                               enum compression compression, rotary_error *error);
/* Reads `count` bytes, or fewer at the end; *got is their number. ROTARY_BAD_FILE if the file is damaged or
 * truncated. */
ROTARY_CHECKED rotary_status decompressed_read(struct decompressed *file, void *bytes, size_t count,
                                               size_t *got, rotary_error *error);
/* Compresses bytes as gzip does, at most COMPRESSED_MAX_BYTES, and replaces `path` by them, atomically. */
enum { COMPRESSED_MAX_BYTES = 1 << 30 };
ROTARY_CHECKED rotary_status compressed_replace(const char *path, const void *bytes, size_t count,
                                                rotary_error *error);
void decompressed_close(struct decompressed *file); /* also of one that could not be opened */

#endif
