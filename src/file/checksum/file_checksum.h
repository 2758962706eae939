/* SPDX-License-Identifier: Apache-2.0
 *
 * The checksum (file/checksum/checksum.h) of a file, as text: how other files name what they belong to.
 */
#ifndef ROTARY_FILE_CHECKSUM_FILE_CHECKSUM_H
#define ROTARY_FILE_CHECKSUM_FILE_CHECKSUM_H

#include "file/checksum/checksum.h"

#include <rotary/status.h>

ROTARY_CHECKED rotary_status file_checksum(const char *path, char digits[CHECKSUM_TEXT_BYTES],
                                           rotary_error *error);

#endif
