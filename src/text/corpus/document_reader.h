/* SPDX-License-Identifier: Apache-2.0
 *
 * Where documents begin and end in a text. A line ends with "\n" or "\r\n"; a blank line has nothing but
 * white space of ASCII: spaces, tabs, vertical tabs, form feeds and carriage returns. A text is read in
 * sections, so that any number of threads may read it: a section ends where a document does, or, of a long
 * document, before the end of a line, before a space or behind a character.
 */
#ifndef ROTARY_TEXT_CORPUS_DOCUMENT_READER_H
#define ROTARY_TEXT_CORPUS_DOCUMENT_READER_H

#include <stdbool.h>
#include <stdint.h>

enum document_boundary {
    DOCUMENT_BLANK_LINE, /* documents are separated by blank lines */
    DOCUMENT_LINE,       /* each line is a document, and blank lines are none */
    DOCUMENT_FILE,       /* each file is a document, with all that it has */
    DOCUMENT_BOUNDARIES,
    /* A file has records: there is a zero byte behind each, and each is a document unless it is empty. */
    DOCUMENT_RECORD = DOCUMENT_BOUNDARIES
};
extern const char *const document_boundary_names[]; /* NULL-terminated: "blank_line", "line", "file" */

/* A stretch of a text. */
struct text_section {
    const char *bytes;
    int64_t count;
    bool continues; /* it begins inside a document, or inside a line */
    enum document_boundary boundary;
};

/* A document without the line end behind it, or a part of one. */
struct document_part {
    const char *bytes;
    int64_t count;
    bool continues; /* what the section before ended with */
    bool open;      /* it reaches the end of the section: the next one may continue it */
};

struct document_reader {
    const struct text_section *section;
    int64_t at;
};

/* Reads the next part; false at the end of the section. Begin with `at` 0. The first part of a section that
 * continues may have no bytes. */
bool document_reader_next(struct document_reader *reader, struct document_part *part);

/* The end of the section that begins at `begin` of a text of `count` bytes, and whether the next one
 * continues it. It has `size` to 2 * size bytes, unless the text ends before; `size` is at least 8. */
int64_t document_section_end(const char *text, int64_t count, int64_t begin, int64_t size,
                             enum document_boundary boundary, bool *continues);

#endif
