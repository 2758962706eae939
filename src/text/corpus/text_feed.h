/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are not plain text as they are: compressed ones, and records of JSON, one a line (.jsonl). Their
 * text comes in parts, with a zero byte behind each record.
 */
#ifndef ROTARY_TEXT_CORPUS_TEXT_FEED_H
#define ROTARY_TEXT_CORPUS_TEXT_FEED_H

#include "file/compressed/decompressed.h"
#include "text/text_buffer.h"

enum text_format {
    TEXT_PLAIN,
    TEXT_JSONL, /* the text is a field of the object on each line; a blank line, and it alone, is an empty
                   record, so that records count lines */
    TEXT_XML,   /* refused: mark-up is not text */
};
/* By the end of the file's name, after that of a compression: .jsonl and .ndjson, .xml, in any case of
 * letters. */
enum text_format text_format_of(const char *path, enum compression *compression);

enum { TEXT_RECORD_BYTES = 1 << 28 }; /* of a record's line, at most */

struct text_feed {
    const char *path, *field; /* borrowed */
    enum text_format format;
    struct decompressed file;
    struct text_buffer read; /* of the file, not yet taken */
    int64_t lines;           /* taken */
    bool ended;              /* the file is read */
};

/* The name of the text in an object: "text" in the place of NULL. */
const char *text_feed_field(const char *field);
/* `field` is the name of the text in an object, or NULL. */
ROTARY_CHECKED rotary_status text_feed_open(struct text_feed *feed, const char *path, enum text_format format,
                                            enum compression compression, const char *field,
                                            rotary_error *error);
/* Adds some of the text, a record at most; *more is false at the end. ROTARY_BAD_FILE, with file and line,
 * for what is no object or has no such field, and for an empty one, of which no tokenizer makes a token. */
ROTARY_CHECKED rotary_status text_feed_add(struct text_feed *feed, struct text_buffer *text, bool *more,
                                           rotary_error *error);
void text_feed_close(struct text_feed *feed); /* also of one that could not be opened */

#endif
