/* SPDX-License-Identifier: Apache-2.0
 *
 * Archives that every `tar` reads: POSIX's ustar format, a block of 512 bytes before each file that says its
 * name and size. What is read may come from anybody: names lead nowhere but below the folder that they are
 * unpacked in, and links, devices, and files that only an extension of the format describes are refused.
 */
#ifndef ROTARY_FILE_ARCHIVE_TAR_H
#define ROTARY_FILE_ARCHIVE_TAR_H

#include "file/compressed/decompressed.h"

enum { TAR_BLOCK = 512, TAR_NAME_BYTES = 100 + 1 + 155 + 1 }; /* a prefix, a slash, a name, a zero byte */

struct tar_member {
    char name[TAR_NAME_BYTES]; /* relative, without "." or "..", and without a slash at its end */
    uint64_t size;             /* of a file, in bytes */
    bool folder;
};

struct tar_reader {
    const char *path; /* borrowed */
    struct decompressed file;
    uint64_t left; /* bytes of the member that are not yet read */
    unsigned padding;
    bool begun;
};

/* Opens an archive, compressed or not, as the end of its name says. */
ROTARY_CHECKED rotary_status tar_open(struct tar_reader *reader, const char *path, rotary_error *error);
/* Goes to the next member, whether the one before was read or not; *found is false at the end, after which
 * the file holds nothing but zeros. What is damaged, truncated or not as wanted is ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status tar_next(struct tar_reader *reader, struct tar_member *member, bool *found,
                                      rotary_error *error);
/* Reads `count` bytes of the member, or as many as are left; *got is their number. */
ROTARY_CHECKED rotary_status tar_read(struct tar_reader *reader, void *bytes, size_t count, size_t *got,
                                      rotary_error *error);
void tar_close(struct tar_reader *reader); /* also of one that could not be opened */

/* An archive being written to memory. Equal members make equal bytes: it has no owners, and one time. */
struct tar_writer {
    unsigned char *bytes;
    size_t count, capacity;
};

/* Appends a file. A name that the format has no room for is ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status tar_add(struct tar_writer *writer, const char *name, const void *bytes,
                                     size_t count, rotary_error *error);
/* Ends the archive. */
ROTARY_CHECKED rotary_status tar_end(struct tar_writer *writer, rotary_error *error);
void tar_writer_free(struct tar_writer *writer);

#endif
