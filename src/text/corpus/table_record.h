/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a table in a file, one after the other, inside src/text.
 */
#ifndef ROTARY_TEXT_CORPUS_TABLE_RECORD_H
#define ROTARY_TEXT_CORPUS_TABLE_RECORD_H

#include "text/text_lines.h"

/* Reads tsv and csv. */
struct record_reader {
    struct text_reader lines;
    char separator;
    bool quoted;
    /* The record read last. */
    int64_t line;            /* on which it begins */
    struct text_buffer text; /* its fields, without quotes, each with a zero byte behind it */
    int64_t *ends;           /* [count] in `text`: of the zero bytes */
    int64_t count, end_capacity;
};

/* Opens a file, or the standard input if `path` is NULL. */
ROTARY_CHECKED rotary_status record_reader_open(struct record_reader *reader, const char *path,
                                                char separator, bool quoted, rotary_error *error);
/* Reads the next record that is not an empty line. *more is false at the end. A record of more than
 * TEXT_LINE_BYTES bytes, as one has whose quotes are not closed, is ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status record_next(struct record_reader *reader, bool *more, rotary_error *error);
/* Field 0 ... count - 1 of the record; valid until the next one is read. */
struct text_line record_field(const struct record_reader *reader, int64_t field);
void record_reader_close(struct record_reader *reader); /* also of one that could not be opened */

#endif
