/* SPDX-License-Identifier: Apache-2.0
 *
 * Text in lines, one sentence a line: read line by line, or whole. A line ends with "\n" or "\r\n", the last
 * one also without. A byte-order mark before the first line is left out; empty lines are lines. What is not
 * UTF-8 text (text/utf8.h) and lines of more than TEXT_LINE_BYTES are ROTARY_BAD_FILE; the message has file
 * and line.
 */
#ifndef ROTARY_TEXT_TEXT_LINES_H
#define ROTARY_TEXT_TEXT_LINES_H

#include "file/input.h"
#include "text/text_buffer.h"

#include <stdbool.h>

enum { TEXT_LINE_BYTES = 1 << 20 };

/* Without its end, and followed by a zero byte. */
struct text_line {
    const char *bytes;
    int64_t count;
};

/* ---- line by line ---- */

struct text_reader {
    struct input input;
    struct text_buffer text; /* what is read and not yet taken */
    int64_t number;          /* of the line taken last, from 1 */
    bool raw;                /* set after opening: a byte-order mark and "\r" are text like any other */
};

/* Opens a file or a pipe; NULL: the standard input. The path is borrowed. */
ROTARY_CHECKED rotary_status text_reader_open(struct text_reader *reader, const char *path,
                                              rotary_error *error);
/* Takes the next line as soon as it is there, whatever is still to come; it is valid until the next call. Its
 * `bytes` are NULL at the end. Memory grows with the longest line alone. */
ROTARY_CHECKED rotary_status text_reader_next(struct text_reader *reader, struct text_line *line,
                                              rotary_error *error);
/* Whether the next line is there as a whole, so that text_reader_next reads nothing for it. */
bool text_reader_has_line(const struct text_reader *reader);
/* Whether more has been read than was taken. If not, the next line may have to be waited for. */
bool text_reader_is_ahead(const struct text_reader *reader);
/* Whether text_reader_next would not wait long: a line, a part of one or the end is there within
 * `milliseconds`. */
bool text_reader_is_ready(const struct text_reader *reader, int milliseconds);
void text_reader_close(struct text_reader *reader); /* also of one that could not be opened */

/* ---- whole files ---- */

struct text_lines {
    const char *path; /* borrowed */
    int64_t count;
    struct text_buffer text; /* the lines, each with a zero byte behind it */
    int64_t *starts;         /* [count + 1] in `text` */
};

/* Reads all lines of a file or a pipe, or of the standard input if `path` is NULL, of at most `max_bytes`
 * bytes; more are ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status text_lines_read(struct text_lines *lines, const char *path, int64_t max_bytes,
                                             rotary_error *error);
/* Line 0 ... count - 1. */
struct text_line text_lines_at(const struct text_lines *lines, int64_t line);
/* ROTARY_BAD_FILE if two files have different numbers of lines, so that line i of one cannot belong to line i
 * of the other. */
ROTARY_CHECKED rotary_status text_lines_check_aligned(const struct text_lines *first,
                                                      const struct text_lines *second, rotary_error *error);
void text_lines_free(struct text_lines *lines); /* zeroed ones too */

#endif
