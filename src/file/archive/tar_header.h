/* SPDX-License-Identifier: Apache-2.0
 *
 * The block before each file of a tar archive (POSIX.1-1988, "ustar"). Numbers are octal digits.
 */
#ifndef ROTARY_FILE_ARCHIVE_TAR_HEADER_H
#define ROTARY_FILE_ARCHIVE_TAR_HEADER_H

#include "file/archive/tar.h"

struct tar_header {
    char name[100], mode[8], owner[8], group[8], size[12], time[12], checksum[8], type, link[100], magic[6],
        version[2], owner_name[32], group_name[32], major[8], minor[8], prefix[155], unused[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is one block");

enum { TAR_FILE = '0', TAR_OLD_FILE = 0, TAR_FOLDER = '5', TAR_EXTENDED = 'x', TAR_GLOBAL = 'g' };

/* The sum of the bytes of a header, in which the digits of the sum itself count as spaces. */
static inline unsigned tar_checksum(const struct tar_header *header)
{
    const unsigned char *bytes = (const unsigned char *)header;
    const size_t begin = offsetof(struct tar_header, checksum), end = begin + sizeof header->checksum;
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof *header; i++)
        sum += i >= begin && i < end ? ' ' : bytes[i];
    return sum;
}

#endif
