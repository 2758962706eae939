/* SPDX-License-Identifier: Apache-2.0 */
#include "file/checksum/file_checksum.h"

#include "file/input.h"

enum { BLOCK_BYTES = 1 << 16 };

rotary_status file_checksum(const char *path, char digits[CHECKSUM_TEXT_BYTES], rotary_error *error)
{
    struct input input;
    struct checksum checksum;
    char block[BLOCK_BYTES];
    size_t count = 0;
    rotary_status status = input_open(&input, path, error);
    if (status != ROTARY_OK)
        return status;
    checksum_start(&checksum);
    do {
        status = input_read(&input, block, BLOCK_BYTES, &count, error);
        if (status == ROTARY_OK)
            checksum_add(&checksum, block, count);
    } while (status == ROTARY_OK && count == BLOCK_BYTES);
    input_close(&input);
    if (status == ROTARY_OK)
        checksum_finish_text(&checksum, digits);
    return status;
}
