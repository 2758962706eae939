/* SPDX-License-Identifier: Apache-2.0 */
#include "file/checksum/line_checksum.h"

#include "file/checksum/checksum.h"

#include <string.h>

#define KEY "\"checksum\":"
static const char member[] = "," KEY "\"";
enum { MEMBER_BYTES = sizeof member - 1, END_BYTES = 2 }; /* end: }, newline */

static void write_digits(char digits[CHECKSUM_TEXT_BYTES], const char *line, size_t count)
{
    struct checksum checksum;
    checksum_start(&checksum);
    checksum_add(&checksum, line, count);
    checksum_finish_text(&checksum, digits);
}

size_t line_checksum_add(char *line, size_t count)
{
    char digits[CHECKSUM_TEXT_BYTES], *next = line + count - END_BYTES;
    write_digits(digits, line, count - END_BYTES);
    memcpy(next, member, MEMBER_BYTES);
    memcpy(next + MEMBER_BYTES, digits, CHECKSUM_DIGITS);
    memcpy(next + MEMBER_BYTES + CHECKSUM_DIGITS, "\"}\n", END_BYTES + 1);
    return count + LINE_CHECKSUM_BYTES;
}

/* Whether the last member of the line is a checksum, and matches. */
static bool matches(const char *line, size_t count)
{
    const size_t tail = LINE_CHECKSUM_BYTES + END_BYTES;
    char digits[CHECKSUM_TEXT_BYTES];
    if (count <= tail || memcmp(line + count - tail, member, MEMBER_BYTES) != 0)
        return false;
    write_digits(digits, line, count - tail);
    const char *written = line + count - tail + MEMBER_BYTES;
    return memcmp(written, digits, CHECKSUM_DIGITS) == 0 &&
           memcmp(written + CHECKSUM_DIGITS, "\"}\n", END_BYTES + 1) == 0;
}

enum line_checksum line_checksum_check(const char *line, size_t count)
{
    _Static_assert(LINE_CHECKSUM_BYTES == MEMBER_BYTES + CHECKSUM_DIGITS + 1,
                   "the member and the quote behind it");
    if (matches(line, count))
        return LINE_CHECKSUM_GOOD;
    /* In a text of JSON quotes are escaped, so that none looks like the key. */
    return memmem(line, count, KEY, sizeof KEY - 1) ? LINE_CHECKSUM_BAD : LINE_CHECKSUM_ABSENT;
}
