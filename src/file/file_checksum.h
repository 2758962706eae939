/* SPDX-License-Identifier: Apache-2.0
 *
 * The checksum (file/checksum.h) of a file, as text: how other files name what they belong to.
 */
#ifndef ROTARY_FILE_FILE_CHECKSUM_H
#define ROTARY_FILE_FILE_CHECKSUM_H

#include <rotary/status.h>

enum { FILE_CHECKSUM_BYTES = 17 }; /* 16 hexadecimal digits and a zero byte */
ROTARY_CHECKED rotary_status file_checksum(const char *path, char digits[FILE_CHECKSUM_BYTES],
                                           rotary_error *error);

#endif
