/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that grows at its end while it is used up at its begin.
 */
#ifndef ROTARY_TEXT_TEXT_BYTES_H
#define ROTARY_TEXT_TEXT_BYTES_H

#include <rotary/status.h>

#include <stdint.h>

/* Bytes first ... count - 1 are to be used. */
struct text_bytes {
    char *bytes;
    int64_t first, count, capacity;
};
void text_bytes_free(struct text_bytes *bytes); /* zeroed ones too */

/* Room for `wanted` bytes behind those that are there, which move to the front. `path` is the file that is
 * read, for messages. */
ROTARY_CHECKED rotary_status text_bytes_reserve(struct text_bytes *text, int64_t wanted, const char *path,
                                                rotary_error *error);
ROTARY_CHECKED rotary_status text_bytes_append(struct text_bytes *text, const char *bytes, int64_t count,
                                               const char *path, rotary_error *error);

#endif
