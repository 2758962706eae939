/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of JSON that carry a checksum (file/checksum/checksum.h) as their last member, of all bytes before it:
 *
 *     {"step":10,"loss":2.13,"checksum":"0f3a5c7788990a1b"}
 */
#ifndef ROTARY_FILE_CHECKSUM_LINE_CHECKSUM_H
#define ROTARY_FILE_CHECKSUM_LINE_CHECKSUM_H

#include <rotary/status.h>
#include <stddef.h>

enum { LINE_CHECKSUM_BYTES = 30 }; /* that a line grows by */
/* Gives a line of `count` bytes, an object with members and a newline behind it, its checksum. The text must
 * have room for LINE_CHECKSUM_BYTES more. Returns the bytes of the line now. */
size_t line_checksum_add(char *line, size_t count);

enum line_checksum { LINE_CHECKSUM_ABSENT, LINE_CHECKSUM_GOOD, LINE_CHECKSUM_BAD };
/* What the checksum of a line with its newline says. LINE_CHECKSUM_BAD too if it is not the last member. */
enum line_checksum line_checksum_check(const char *line, size_t count);

#endif
