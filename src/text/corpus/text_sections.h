/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of text, section by section. The sections depend on the text and the boundary of its documents alone.
 */
#ifndef ROTARY_TEXT_CORPUS_TEXT_SECTIONS_H
#define ROTARY_TEXT_CORPUS_TEXT_SECTIONS_H

#include "file/mapped_file.h"
#include "text/corpus/document_reader.h"
#include "text/corpus/text_feed.h"
#include "text/corpus/text_files.h"

/* Documents of fewer bytes stand in one section. */
enum { TEXT_SECTION_BYTES = 1 << 18 };

struct text_sections {
    const struct text_files *files; /* borrowed */
    const char *field;              /* of records of JSON; borrowed */
    enum document_boundary boundary;
    int64_t file; /* of the next section */
    bool begun;   /* a section of it was given */
    bool continues;
    int64_t bytes; /* of the files, read for the sections so far */
    /* A file of plain text: the last one of the maps. */
    int64_t at; /* of the next section; -1: no file is mapped */
    struct mapped_file *maps;
    int64_t map_count, map_capacity;
    /* Any other file. */
    struct text_feed feed;
    bool fed, more;
    struct text_buffer text; /* that is in no section yet */
    int64_t consumed;        /* bytes of the file that were read for it */
    char **copies;           /* the sections */
    int64_t copy_count, copy_capacity;
};

/* `field` has the text of a record of JSON. */
void text_sections_start(struct text_sections *sections, const struct text_files *files,
                         enum document_boundary boundary, const char *field);
/* The next section, and the index of its file, whose first one does not continue; `bytes` NULL: there is
 * none. A byte-order mark at the begin of a file is left out. The sections of a compressed text are those of
 * the text. */
ROTARY_CHECKED rotary_status text_sections_next(struct text_sections *sections, struct text_section *section,
                                                int64_t *file, rotary_error *error);
/* The sections so far are no longer used. */
void text_sections_release(struct text_sections *sections);
void text_sections_close(struct text_sections *sections); /* zeroed ones too */

#endif
