/* SPDX-License-Identifier: Apache-2.0
 *
 * A file as memory that may be read. Its pages are read when they are needed, and given back when memory is
 * short, so that a file may be larger than memory. A process that reads behind the end of a file which became
 * shorter is killed by SIGBUS.
 */
#ifndef ROTARY_FILE_MAPPED_FILE_H
#define ROTARY_FILE_MAPPED_FILE_H

#include <rotary/status.h>

struct mapped_file {
    const unsigned char *bytes; /* not NULL, also of an empty file */
    size_t size;
};

/* Anything but a regular file is ROTARY_IO_ERROR. Never waits. */
ROTARY_CHECKED rotary_status mapped_file_open(struct mapped_file *file, const char *path,
                                              rotary_error *error);
void mapped_file_close(struct mapped_file *file); /* zeroed ones too */

#endif
