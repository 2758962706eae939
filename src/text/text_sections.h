/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of text, section by section. The sections depend on the text and the boundary of its documents alone.
 */
#ifndef ROTARY_TEXT_TEXT_SECTIONS_H
#define ROTARY_TEXT_TEXT_SECTIONS_H

#include "file/mapped_file.h"
#include "text/document_reader.h"
#include "text/text_files.h"

/* Documents of fewer bytes stand in one section. */
enum { TEXT_SECTION_BYTES = 1 << 18 };

struct text_sections {
    const struct text_files *files; /* borrowed */
    enum document_boundary boundary;
    int64_t file; /* of the next section */
    int64_t at;   /* in it; -1: it is not open */
    bool continues;
    struct mapped_file *maps; /* of the sections that are in use; the last one is that of `file` */
    int64_t map_count, map_capacity;
};

void text_sections_start(struct text_sections *sections, const struct text_files *files,
                         enum document_boundary boundary);
/* The next section, and the index of its file, whose first one does not continue; `bytes` NULL: there is
 * none. A byte-order mark at the begin of a file is left out. */
ROTARY_CHECKED rotary_status text_sections_next(struct text_sections *sections, struct text_section *section,
                                                int64_t *file, rotary_error *error);
/* The sections so far are no longer used. */
void text_sections_release(struct text_sections *sections);
void text_sections_close(struct text_sections *sections); /* zeroed ones too */

#endif
