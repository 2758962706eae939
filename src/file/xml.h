/* SPDX-License-Identifier: Apache-2.0
 *
 * XML, read piece by piece by the library expat, which one file includes (xml_expat.c); xml_missing.c stands
 * for it in a program that was built without. A document type declaration is refused, and with it entities
 * that are declared; so are elements that nest deeper than XML_DEPTH, and a tag or a stretch without one that
 * takes more than XML_PENDING_BYTES to read. So memory is bounded whatever the file.
 */
#ifndef ROTARY_FILE_XML_H
#define ROTARY_FILE_XML_H

#include <rotary/status.h>

#include <stdbool.h>
#include <stddef.h>

enum { XML_DEPTH = 64, XML_PENDING_BYTES = 1 << 22 };

/* What is called while a file is read; names and text are UTF-8 and borrowed. What they return other than
 * ROTARY_OK ends the reading with it. */
struct xml_handler {
    void *argument;
    /* An element begins; `depth` is 1 for the outermost one. */
    rotary_status (*begin)(void *argument, const char *name, int depth, rotary_error *error);
    /* It ends. */
    rotary_status (*end)(void *argument, const char *name, int depth, rotary_error *error);
    /* Text within elements, in pieces; not zero-terminated. */
    rotary_status (*text)(void *argument, const char *bytes, size_t count, rotary_error *error);
};

struct xml;

/* The version of the library; NULL: this program was built without it. */
const char *xml_version(void);

/* A reader of one file; `path` is its name in messages. Path and handler are borrowed. ROTARY_UNSUPPORTED
 * without the library; the message has the package that is missing. */
ROTARY_CHECKED rotary_status xml_create(struct xml **xml, const char *path, const struct xml_handler *handler,
                                        rotary_error *error);
/* Reads the next `count` bytes of the file, `last` with the end of it. ROTARY_BAD_FILE, with file and line,
 * for what is no XML, or is refused; the reader can then only be destroyed. */
ROTARY_CHECKED rotary_status xml_feed(struct xml *xml, const char *bytes, size_t count, bool last,
                                      rotary_error *error);
/* The line that is being read, from 1. */
long long xml_line(const struct xml *xml);
void xml_destroy(struct xml *xml); /* NULL is allowed */

#endif
